import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'
import * as oidc from 'openid-client'
import type { Browser, BrowserContext, Page } from 'playwright-core'

import { openBrowser } from '../support/browser.ts'
import { june, marco, type RunningService, startService } from '../support/gatehouse.ts'
import { discover } from '../support/relying-party.ts'
import { requireProgram } from '../support/skipped.ts'

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

describe('/admin and /account in a browser', function () {
  this.timeout(90_000)
  let browser: Browser
  let service: RunningService
  before(async function () {
    requireProgram(this, 'chromium')
    browser = await openBrowser()
    service = await startService({
      policy: (policy) => ({
        ...policy,
        storage: { ...policy.storage, usageFlushSeconds: 1 },
        metadataDocuments: { ...policy.metadataDocuments, openRegistration: true },
      }),
    })
    await service.service.stores.database.kysely
      .deleteFrom('site_feature')
      .where('site_id', '=', 'sit_open_kitchen')
      .execute()
  })
  after(async () => {
    await browser?.close()
    await service?.[Symbol.asyncDispose]()
  })

  it('an operator enables the feature and creates a client, a student authorizes it and removes it', async () => {
    await using callback = await listenForCallback()
    const operator = await newPerson()
    await signIn(operator, '/admin', marco)
    await operator.getByRole('link', { name: 'Beta features' }).click()
    await look(operator, 'beta-off')
    await operator.getByRole('button', { name: 'Switch MCP connections on' }).click()
    await look(operator, 'beta-on')
    const clientId = await createClient(operator, callback.uri)

    const student = await newPerson()
    const { tokens, configuration } = await authorize(student, clientId, callback)
    await oidc.fetchUserInfo(configuration, tokens.access_token, 'per_june')

    await operator.getByRole('link', { name: 'Who connected it' }).click()
    await operator.getByRole('heading', { name: 'June Okafor' }).waitFor()
    await look(operator, 'people')

    await student.goto(`${service.url}/account`)
    await look(student, 'account')
    await student.getByRole('link', { name: 'Connected apps' }).first().click()
    await student.getByRole('heading', { name: 'Recipe Box' }).waitFor()
    await look(student, 'apps')
    await student.getByRole('link', { name: 'Remove Recipe Box' }).click()
    await look(student, 'remove-app')
    await student.getByRole('button', { name: 'Remove access' }).click()
    await student.locator('#no-apps').waitFor()
    await look(student, 'apps-none')

    const userinfo = await oidc
      .fetchUserInfo(configuration, tokens.access_token, 'per_june')
      .catch((error) => error)
    expect(userinfo.status).to.equal(401)
    const refresh = await oidc
      .refreshTokenGrant(configuration, tokens.refresh_token ?? '')
      .catch((error) => error)
    expect(refresh.error).to.equal('invalid_grant')
  })

  it('every page of the areas is accessible, and fits a screen of 360 pixels without scrolling sideways', async () => {
    const operator = await newPerson()
    await signIn(operator, '/admin/open-kitchen', marco)
    await operator.goto(`${service.url}/admin/open-kitchen/beta`)
    const off = operator.getByRole('button', { name: 'Switch MCP connections on' })
    if (await off.isVisible()) await off.click()
    const site = `${service.url}/admin/open-kitchen`
    await operator.goto(`${site}/applications/new`)
    await operator.getByLabel('Name').fill('Kitchen Server')
    await operator.getByLabel('Redirect addresses').fill('http://kitchen.example/callback')
    await operator.getByRole('radio', { name: /^Confidential/ }).check()
    await operator.getByRole('button', { name: 'Create application' }).click()
    await operator.locator('#redirect-uris-problem').waitFor()
    await look(operator, 'application-wrong')
    await operator.getByLabel('Redirect addresses').fill('https://kitchen.example/callback')
    await operator.getByRole('button', { name: 'Create application' }).click()
    await operator.locator('#new-secret').waitFor()
    await look(operator, 'application-secret')
    await operator.getByRole('button', { name: 'Make a new secret' }).click()
    await look(operator, 'application-two-secrets')
    const application = new URL(operator.url()).pathname

    await operator.locator('.remove-secret').first().click()
    await look(operator, 'secret-remove')
    for (const path of ['edit', 'disable', 'delete', 'people', 'people/end-all', 'refusals']) {
      await operator.goto(`${service.url}${application}/${path}`)
      await look(operator, `application-${path.replace('/', '-')}`)
    }
    for (const path of [
      '',
      '/resource-servers',
      '/overview',
      '/audit',
      '/audit?action=application.create&person=nobody',
      '/beta',
      '/beta/off',
      '/applications',
      '/self-declared-clients',
    ]) {
      await operator.goto(site + path)
      await look(operator, `site${path.replaceAll(/[/?]/g, '-')}`)
    }
    await operator.goto(`${site}/resource-servers`)
    await operator.getByLabel('Name').fill('Library API')
    await operator.getByRole('button', { name: 'Register' }).click()
    await operator.locator('#new-secret').waitFor()
    await look(operator, 'resource-server')
    const resourceServer = new URL(operator.url()).pathname
    for (const path of ['disable', 'delete', 'refusals']) {
      await operator.goto(`${service.url}${resourceServer}/${path}`)
      await look(operator, `resource-server-${path}`)
    }
    await operator.goto(`${site}/self-declared-clients/approved?client=https%3A%2F%2Fa.example%2Fc`)
    await look(operator, 'review')
    await operator.goto(`${service.url}/admin/northlight`)
    await look(operator, 'forbidden')
    await operator.goto(`${service.url}/account/sign-out-everywhere`)
    await look(operator, 'sign-out-everywhere')
    await operator.getByRole('button', { name: 'Sign out everywhere' }).click()
    await look(operator, 'signed-out-everywhere')
  })

  it('a person who cancels the sign-in is told so, and can begin again', async () => {
    const person = await newPerson()
    await person.goto(`${service.url}/account`)
    await person.locator('#login-cancel').click()
    await person.locator('#not-signed-in-page').waitFor()
    await look(person, 'not-signed-in')
  })

  async function newPerson(): Promise<Page> {
    const context: BrowserContext = await browser.newContext({
      javaScriptEnabled: true,
      viewport: { width: 1100, height: 800 },
    })
    return await context.newPage()
  }

  async function signIn(page: Page, path: string, { login, password }: typeof june) {
    await page.goto(service.url + path)
    await page.getByLabel('E-mail address').fill(login)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('nav.area').waitFor()
  }

  async function createClient(page: Page, redirectUri: string): Promise<string> {
    await page.getByRole('link', { name: 'OAuth applications' }).first().click()
    await look(page, 'applications-none')
    await page.getByRole('link', { name: 'New application' }).click()
    await page.getByLabel('Name').fill('Recipe Box')
    await page.getByLabel('Redirect addresses').fill(redirectUri)
    await page.getByRole('radio', { name: /^Public/ }).check()
    await page.getByRole('checkbox', { name: /account:read/ }).check()
    await look(page, 'application-new')
    await page.getByRole('button', { name: 'Create application' }).click()
    await look(page, 'application')
    return await page.locator('#client-id').innerText()
  }

  async function authorize(page: Page, clientId: string, callback: Callback) {
    const configuration = await discover(service.url, { clientId })
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
    const expectedState = oidc.randomState()
    const start = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: callback.uri,
      scope: 'openid account:read',
      resource: service.url,
      state: expectedState,
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    await page.goto(start.href)
    await page.getByLabel('E-mail address').fill(june.login)
    await page.getByLabel('Password').fill(june.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    const answer = await callback.answer
    const tokens = await oidc.authorizationCodeGrant(
      configuration,
      answer,
      { pkceCodeVerifier, expectedState },
      { resource: service.url },
    )
    return { configuration, tokens }
  }
})

/** Judges a page with axe, in light and dark, and at the width of a small phone. */
async function look(page: Page, name: string): Promise<void> {
  await page.locator('main').waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    // Colours that are still on their way from light to dark have no contrast to judge.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const width of [1100, 360]) {
      await page.setViewportSize({ width, height: 800 })
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      expect(overflow, `${name} at ${width} pixels`).to.equal(0)
    }
    // The page's policy runs no script, and axe comes past it through the debugger.
    await page.evaluate(axeSource)
    const violations = await page.evaluate(
      'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map((node) => node.html)]))',
    )
    expect(violations, `${name} in ${colorScheme}`).to.deep.equal([])
  }
  await page.setViewportSize({ width: 1100, height: 800 })
}

interface Callback extends AsyncDisposable {
  readonly uri: string
  /** The address to which the browser was sent. */
  readonly answer: Promise<URL>
}

/** The callback of a program on this computer. */
async function listenForCallback(): Promise<Callback> {
  const { promise: answer, resolve } = Promise.withResolvers<URL>()
  const server = createServer((request, response) => {
    const address = new URL(request.url ?? '', 'http://127.0.0.1')
    if (address.searchParams.has('code')) resolve(new URL(address.pathname + address.search, uri))
    response.end('You can close this page.')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  return {
    uri,
    answer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
