import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'
import * as oidc from 'openid-client'
import type { Browser, BrowserContext, Page } from 'playwright-core'

import { startOperator } from '../support/admin-api.ts'
import { openBrowser, overflows, violations } from '../support/browser.ts'
import { sendFile } from '../support/files.ts'
import { amir, notes, type RunningService, sam, startService } from '../support/gatehouse.ts'
import { discover, MEMBER_SCOPE } from '../support/relying-party.ts'
import { requireProgram } from '../support/skipped.ts'

/** The relying party's own page, which a browser really comes back to. */
async function startRelyingParty() {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end('<!doctype html><title>back</title><h1 id="back">Back at the application</h1>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    redirectUri: `http://127.0.0.1:${port}/callback`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

describe('the interaction pages, in a browser', () => {
  let browser: Browser
  let service: RunningService
  let party: Awaited<ReturnType<typeof startRelyingParty>>

  before(async function () {
    requireProgram(this, 'chromium')
    browser = await openBrowser()
    service = await startService()
    party = await startRelyingParty()
  })

  after(async () => {
    await browser?.close()
    await service?.[Symbol.asyncDispose]()
    await party?.[Symbol.asyncDispose]()
  })

  /** A request of a certified relying party, and what it does with the answer. */
  async function ask(clientId: string, parameters: Record<string, string>) {
    const configuration = await discover(service.url, { clientId })
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
    const expectedState = oidc.randomState()
    const start = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: party.redirectUri,
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: expectedState,
      ...parameters,
    })
    const exchange = async (page: Page) =>
      await oidc.authorizationCodeGrant(
        configuration,
        new URL(page.url()),
        { pkceCodeVerifier, expectedState },
        parameters['resource'] ? { resource: parameters['resource'] } : {},
      )
    return { start: start.href, expectedState, exchange, configuration }
  }

  const member = () => ({ scope: `${MEMBER_SCOPE} account:write`, resource: service.url })

  async function newPage(options: Parameters<Browser['newContext']>[0] = {}) {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    return { context, page, complaints }
  }

  async function signInAs(page: Page, { login, password }: typeof sam): Promise<void> {
    await page.fill('#login', login)
    await page.fill('#password', password)
    await page.click('#login-submit')
  }

  async function closed(context: BrowserContext): Promise<void> {
    await context.close()
  }

  // [Authorization 10]
  it('lead from sign-in over consent back to the application, which gets its tokens [Authentication 3]', async () => {
    const { context, page, complaints } = await newPage({ javaScriptEnabled: false })
    const asking = await ask(notes.clientId, member())
    await page.goto(asking.start)
    expect(await page.textContent('h1')).to.equal('Sign in')
    await signInAs(page, sam)

    await page.waitForSelector('#consent-page')
    const text = await page.innerText('#consent-page')
    expect(text).to.include('Course Notes')
    expect(text).to.include('Northlight Academy')
    expect(text).to.include('this computer (127.0.0.1)')
    expect(text).to.include('Sam Student')
    expect(await page.locator('[aria-labelledby=can-see] li').allInnerTexts()).to.include(
      'your courses, other purchases and notifications',
    )
    expect(await page.locator('[aria-labelledby=can-change] li').allInnerTexts()).to.deep.equal([
      'which notifications are read and which you receive',
    ])

    await page.click('#consent-approve')
    await page.waitForSelector('#back')
    const tokens = await asking.exchange(page)
    expect(tokens.scope).to.equal(member().scope)
    expect(tokens.claims()?.sub).to.equal('per_sam')
    // Without script the policy of the pages must have let the form's last redirect through.
    expect(complaints).to.deep.equal([])
    await closed(context)
  })

  it('ask each time where the answer goes to this computer, and for more [design 17]', async () => {
    const { context, page } = await newPage()
    const first = await ask(notes.clientId, { ...member(), scope: MEMBER_SCOPE })
    await page.goto(first.start)
    await signInAs(page, sam)
    await page.click('#consent-approve')
    await page.waitForSelector('#back')

    const again = await ask(notes.clientId, { ...member(), scope: MEMBER_SCOPE })
    await page.goto(again.start)
    await page.waitForSelector('#consent-page')
    const silent = await ask(notes.clientId, { ...member(), scope: MEMBER_SCOPE, prompt: 'none' })
    await page.goto(silent.start)
    expect(new URL(page.url()).searchParams.get('error')).to.equal('consent_required')

    const more = await ask(notes.clientId, member())
    await page.goto(more.start)
    expect(await page.locator('[aria-labelledby=can-change] li').count()).to.equal(1)
    await closed(context)
  })

  it('send access_denied with state and iss when the person refuses [RFC 9207 §2]', async () => {
    const { context, page } = await newPage()
    const asking = await ask(notes.clientId, member())
    await page.goto(asking.start)
    await signInAs(page, sam)
    await page.click('#consent-deny')
    await page.waitForSelector('#back')
    const answer = new URL(page.url()).searchParams
    expect(answer.get('error')).to.equal('access_denied')
    expect(answer.get('state')).to.equal(asking.expectedState)
    expect(answer.get('iss')).to.equal(service.url)
    expect(answer.has('code')).to.equal(false)
    await closed(context)
  })

  it('ask an operator of several sites which one, and bind the grant to it [design 15]', async () => {
    const { context, page } = await newPage()
    const asking = await ask('integration-vscode', { scope: 'openid profile courses:read' })
    const start = new URL(asking.start)
    // The vendor's registered loopback address has no path, so any port may come back to it.
    start.searchParams.set('redirect_uri', `${new URL(party.redirectUri).origin}/`)
    await page.goto(start.href)
    await signInAs(page, amir)
    await page.waitForSelector('#site-page')
    expect(await violations(page)).to.deep.equal([])
    await page.getByText('Open Kitchen School').click()
    await page.click('#site-submit')
    await page.waitForSelector('#consent-page')
    expect(await page.innerText('#consent-page')).to.include('Open Kitchen School')
    await page.click('#consent-approve')
    await page.waitForSelector('#back')
    const tokens = await asking.exchange(page)
    expect(tokens.claims()?.['org_id']).to.equal('sit_open_kitchen')
    await closed(context)
  })

  it('say that the answer was not right without saying why, and keep the login', async () => {
    const { context, page } = await newPage()
    await page.goto((await ask(notes.clientId, member())).start)
    await signInAs(page, { login: sam.login, password: 'not-hers' })
    await page.waitForSelector('#login-problem')
    const known = await page.innerText('#login-problem')
    expect(await page.inputValue('#login')).to.equal(sam.login)
    expect(await violations(page)).to.deep.equal([])
    await signInAs(page, { login: 'nobody@northlight.example', password: 'not-hers' })
    await page.waitForSelector('#login-problem')
    expect(await page.innerText('#login-problem')).to.equal(known)
    await closed(context)
  })

  it('let another account take over when the person is somebody else', async () => {
    const { context, page } = await newPage()
    await page.goto((await ask(notes.clientId, member())).start)
    await signInAs(page, sam)
    await page.click('text=Use another account')
    await page.waitForSelector('#login-page')
    await signInAs(page, amir)
    await page.waitForSelector('#consent-page')
    expect(await page.innerText('#consent-page')).to.include('amir@northlight.example')
    await closed(context)
  })

  it('sign the person out when asked to, and only then [RP-Initiated Logout §2]', async () => {
    const { context, page } = await newPage()
    const asking = await ask(notes.clientId, member())
    await page.goto(asking.start)
    await signInAs(page, sam)
    await page.click('#consent-approve')
    await page.waitForSelector('#back')

    await page.goto(`${service.url}/oauth/logout`)
    await page.waitForSelector('#logout-page')
    expect(await violations(page)).to.deep.equal([])
    await page.click('#logout-cancel')
    await page.goto((await ask(notes.clientId, { ...member(), prompt: 'none' })).start)
    expect(new URL(page.url()).searchParams.get('error'), 'still signed in').to.equal(
      'consent_required',
    )

    await page.goto(`${service.url}/oauth/logout`)
    await page.click('#logout-confirm')
    await page.waitForSelector('#logout-success')
    expect(await page.innerText('#logout-success')).to.include('signed out')
    expect(await violations(page)).to.deep.equal([])
    await page.goto((await ask(notes.clientId, { ...member(), prompt: 'none' })).start)
    expect(new URL(page.url()).searchParams.get('error')).to.equal('login_required')
    await closed(context)
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`look like the site of the application, and are as legible, ${colorScheme}`, async () => {
      const operator = await startOperator(service)
      const logo = await sendFile({ ...operator, name: 'logo.png', bytes: await drawLogo(browser) })
      const input = {
        displayName: 'Northlight Film School',
        logoFileId: logo.body.id,
        accentColor: '#8a1c4a',
        backgroundColor: colorScheme === 'light' ? '#f6e7d8' : '#16263c',
        signInWords: 'Welcome back.\nNew courses start in May.',
        consentWords: 'Only allow what you use.',
      }
      const change =
        'mutation ($input: UpdateAppearanceInput!) { updateAppearance(input: $input) { id } }'
      await operator.run(change, { input })
      for (const width of [360, 1200]) {
        const { context, page, complaints } = await newPage({
          colorScheme,
          viewport: { width, height: 800 },
        })
        const check = async (name: string) => {
          expect(await violations(page), name).to.deep.equal([])
          expect(await overflows(page), name).to.equal(false)
        }
        await page.goto((await ask(notes.clientId, member())).start)
        expect(await page.innerText('.words')).to.include('New courses start in May.')
        const drawn = await page.evaluate('document.querySelector("header img").naturalWidth')
        expect(drawn).to.be.above(0)
        await check('sign-in')
        await signInAs(page, sam)
        await page.waitForSelector('#consent-page')
        await check('consent')
        await page.goto(`${service.url}/account`)
        await page.waitForSelector('#account-page')
        await check('account')
        expect(complaints).to.deep.equal([])
        await closed(context)
      }
      const own = Object.fromEntries(Object.keys(input).map((name) => [name, null]))
      await operator.run(change, { input: own })
    })
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`have no accessibility violation and fit into 360 px, ${colorScheme}`, async () => {
      const { context, page } = await newPage({
        colorScheme,
        viewport: { width: 360, height: 740 },
      })
      const check = async () => {
        expect(await violations(page)).to.deep.equal([])
        expect(await overflows(page)).to.equal(false)
      }
      await page.goto(service.url)
      await check()
      await page.goto((await ask(notes.clientId, member())).start)
      await check()
      await signInAs(page, sam)
      await page.waitForSelector('#consent-page')
      await check()
      await page.goto(`${service.url}/oauth/authorize?client_id=unknown`)
      expect(await page.innerText('#error-code')).to.equal('invalid_client')
      await check()
      await closed(context)
    })
  }
})

/** A picture such as a site would send, as PNG. */
async function drawLogo(browser: Browser): Promise<Uint8Array<ArrayBuffer>> {
  const page = await browser.newPage({ viewport: { width: 96, height: 96 } })
  await page.setContent('<body style="margin:0;background:#8a1c4a;border-radius:48px">')
  const bytes = await page.screenshot({ omitBackground: true })
  await page.close()
  return Uint8Array.from(bytes)
}
