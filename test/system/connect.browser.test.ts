import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { expect } from 'chai'
import * as oidc from 'openid-client'
import type { Browser, Page } from 'playwright-core'

import { openBrowser, overflows, violations } from '../support/browser.ts'
import { olivia, type RunningService, sam, startService } from '../support/gatehouse.ts'
import { answerIn } from '../support/mcp.ts'
import { makePagePerson } from '../support/page-person.ts'
import { discover, MEMBER_SCOPE } from '../support/relying-party.ts'
import { requireProgram } from '../support/skipped.ts'

const assistants = '/admin/northlight/assistants'
const ids = [
  'claude',
  'claude-code',
  'vscode',
  'cursor',
  'gemini-cli',
  'codex',
  'opencode',
] as const
/** Nobody listens there: the browser shows the address to which it was sent, and no answer. */
const callback = 'http://127.0.0.1:9/callback'

describe('connecting an assistant, in a browser', function () {
  this.timeout(90_000)
  let browser: Browser
  let service: RunningService
  before(async function () {
    requireProgram(this, 'chromium')
    browser = await openBrowser()
    service = await startService()
  })
  after(async () => {
    await browser?.close()
    await service?.[Symbol.asyncDispose]()
  })

  async function newPage(javaScriptEnabled = true): Promise<Page> {
    const context = await browser.newContext({ javaScriptEnabled })
    return await context.newPage()
  }

  async function signIn(page: Page, { login, password }: typeof sam): Promise<void> {
    await page.fill('#login', login)
    await page.fill('#password', password)
    await page.click('#login-submit')
  }

  /** Judges a page with axe, in light and dark, at the width of a small phone and of a desk. */
  async function look(page: Page, name: string): Promise<void> {
    await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 800 })
        expect(await overflows(page), `${name} at ${width}`).to.equal(false)
      }
      expect(await violations(page), `${name} in ${colorScheme}`).to.deep.equal([])
    }
  }

  it('an operator presses, a member opens the page, and a client of the SDK signs in with what stands there', async () => {
    // The pages work without a script, from the first press to the consent.
    const operator = await newPage(false)
    await operator.goto(`${service.url}/admin/northlight`)
    await signIn(operator, olivia)
    await operator.getByRole('link', { name: 'Connect assistants' }).click()
    await operator.getByRole('button', { name: 'Add Claude Code' }).click()
    await operator.locator('#done').waitFor()
    const address = (await operator.getAttribute('#member-page', 'href')) ?? ''

    const member = await newPage(false)
    await member.goto(address)
    // The only assistant of the site stands open.
    const command = await member.locator('#claude-code pre').first().innerText()
    const [, clientId = ''] = /--client-id (\S+)/.exec(command) ?? []
    const [, url = ''] = / (http\S+)/.exec(command) ?? []

    const asked: URL[] = []
    const { provider, kept } = keepsake(clientId, asked)
    const open = async () => {
      const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider })
      const client = new Client({ name: 'test client', version: '1.0.0' })
      return {
        transport,
        client,
        refused: await client.connect(transport).catch((e: unknown) => e),
      }
    }
    const first = await open()
    expect(first.refused).to.be.instanceOf(UnauthorizedError)
    const [request] = asked
    expect(request?.searchParams.get('client_id')).to.equal(clientId)
    expect(request?.searchParams.get('scope')).to.equal('account:read account:write')

    await member.goto(request?.href ?? '')
    await signIn(member, sam)
    await member.locator('#consent-page').waitFor()
    expect(await member.innerText('h1')).to.equal('Allow Claude Code to use your account?')
    const [sent] = await Promise.all([
      member.waitForRequest((each) => each.url().startsWith(callback)),
      member.click('#consent-approve'),
    ])
    await first.transport.finishAuth(new URL(sent.url()).searchParams)
    expect(kept.tokens).to.not.equal(undefined)

    const { client, refused } = await open()
    expect(refused).to.equal(undefined)
    const answer = await client.callTool({ name: 'get_viewer', arguments: {} })
    expect(answerIn(answer)).to.include({ id: 'per_sam' })
    await client.close()

    const again = makePagePerson(service.url, sam)
    expect((await again.visit('/account/apps')).text).to.include('Claude Code')
    const trail = await makePagePerson(service.url, olivia).visit('/admin/northlight/audit')
    expect(trail.text).to.include('claude-code')
  })

  it('every page is accessible and fits a screen of 360 pixels, empty and full', async () => {
    const page = await newPage()
    for (const path of ['/connect', '/connect?site=nowhere', '/connect/open-kitchen']) {
      await page.goto(service.url + path)
      await look(page, path)
    }
    await page.goto(service.url + assistants)
    await signIn(page, olivia)
    await page.locator('#assistants-page').waitFor()
    await look(page, 'assistants')
    for (const id of ids) {
      const add = page.locator(`#add-${id}`)
      if ((await add.count()) === 0) continue
      await add.click()
      await page.locator('#done').waitFor()
    }
    await page.fill('#chatgpt-callback', 'https://chatgpt.com/elsewhere')
    await page.click('#add-chatgpt')
    await page.locator('#chatgpt-callback-problem').waitFor()
    await look(page, 'a wrong callback')
    await page.fill('#chatgpt-callback', 'https://chatgpt.com/connector/oauth/OUbdUMlL15Ct')
    await page.click('#add-chatgpt')
    await page.locator('#done').waitFor()
    await look(page, 'all assistants')
    for (const path of [`${assistants}/own`, '/connect/northlight']) {
      await page.goto(service.url + path)
      await look(page, path)
    }
    await page.goto(`${service.url}/admin/northlight/applications/northlight-notes`)
    await look(page, 'an application')
  })

  it('the page of a site looks like the site, and stays as legible', async () => {
    const { kysely } = service.service.stores.database
    const chosen = { display_name: 'Northlight Film School', accent_color: '#8a1c4a' }
    await kysely
      .insertInto('site_appearance')
      .values({ ...nothingChosen, ...chosen, site_id: 'sit_northlight' })
      .onConflict((conflict) => conflict.column('site_id').doUpdateSet(chosen))
      .execute()
    const page = await newPage()
    await page.goto(`${service.url}/connect/northlight`)
    expect(await page.innerText('header')).to.include('Northlight Film School')
    await look(page, 'with a look')
  })

  for (const [scheme, redirectUri] of [
    ['that of a known assistant', 'cursor://anysphere.cursor-mcp/oauth/callback'],
    ['a domain name turned around', 'com.example.app:/cb'],
  ] as const) {
    it(`consent leads to an app by ${scheme}, and to no other scheme (decision 4)`, async () => {
      const clientId = await makeApplication(redirectUri)
      const page = await newPage(false)
      const followed = await followedSchemes(page)
      const blocked: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error') blocked.push(message.text())
      })
      await page.goto((await requestOf(clientId, redirectUri)).href)
      await signIn(page, sam)
      await page.locator('#consent-page').waitFor()
      expect(await page.innerText('#consent-page')).to.include('an app on this device')
      await page.click('#consent-approve')
      await eventually(() => followed.length > 0 || blocked.length > 0)
      expect(blocked).to.deep.equal([])
      const [answer] = followed
      expect(answer?.startsWith(`${redirectUri}?`), answer).to.equal(true)
      expect(new URL(answer ?? '').searchParams.has('code')).to.equal(true)
      // Another app may have claimed the scheme since then (design 17).
      await page.goto((await requestOf(clientId, redirectUri)).href)
      expect(await page.locator('#consent-page').count(), 'asked again').to.equal(1)
    })

    it(`the policy of a page for ${scheme} stops a form that ends at another one`, async () => {
      const clientId = await makeApplication(redirectUri)
      const page = await newPage()
      const followed = await followedSchemes(page)
      const blocked: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error') blocked.push(message.text())
      })
      await page.goto((await requestOf(clientId, redirectUri)).href)
      await signIn(page, sam)
      await page.locator('#consent-page').waitFor()
      for (const other of ['other-app://x/cb', 'com.example.other:/cb', 'https://evil.example/']) {
        // What a form would do that somebody had smuggled into the page.
        await page.evaluate(`(() => {
          const form = document.createElement('form')
          Object.assign(form, { action: '${other}', method: 'post' })
          document.body.append(form)
          form.submit()
        })()`)
        await eventually(() => blocked.length > 0)
        expect(blocked.splice(0).join(' '), other).to.include('form-action')
      }
      expect(followed).to.deep.equal([])
    })
  }

  /** An operator's application with this one redirect address, made by the form. */
  async function makeApplication(redirectUri: string): Promise<string> {
    const list = '/admin/northlight/applications'
    const operator = makePagePerson(service.url, olivia)
    const form = await operator.visit(`${list}/new`)
    expect(form.text).to.include('A word of warning').and.include('cursor://')
    const made = await operator.send(form, list, {
      name: 'Field Notes',
      redirect_uris: redirectUri,
      auth_method: 'none',
      scope: ['account:read'],
    })
    expect(made.status, made.text).to.equal(200)
    return /id="client-id">([^<]+)</.exec(made.text)?.[1] ?? ''
  }

  async function requestOf(clientId: string, redirectUri: string): Promise<URL> {
    const configuration = await discover(service.url, { clientId })
    return oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: MEMBER_SCOPE,
      resource: service.url,
      state: 'the-state',
      code_challenge: await oidc.calculatePKCECodeChallenge(oidc.randomPKCECodeVerifier()),
      code_challenge_method: 'S256',
    })
  }
})

const nothingChosen = {
  display_name: null,
  logo_file_id: null,
  accent_color: null,
  background_color: null,
  sign_in_words: null,
  consent_words: null,
  updated_at: 1,
}

/** The addresses with a scheme of an app to which the browser was willing to go. */
async function followedSchemes(page: Page): Promise<string[]> {
  const followed: string[] = []
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  session.on('Network.requestWillBeSent', ({ request }) => {
    if (!/^(https?|data|about):/.test(request.url)) followed.push(request.url)
  })
  return followed
}

async function eventually(holds: () => boolean): Promise<void> {
  const until = Date.now() + 10_000
  while (!holds() && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** What the client keeps for its user; the person goes where `asked` says. */
function keepsake(clientId: string, asked: URL[]) {
  const kept: { tokens?: unknown; verifier: string; discovery: unknown } = {
    verifier: '',
    discovery: undefined,
  }
  const provider = {
    redirectUrl: callback,
    clientMetadata: { client_name: 'test client', redirect_uris: [callback] },
    clientInformation: () => ({ client_id: clientId }),
    tokens: () => kept.tokens,
    saveTokens(tokens: unknown) {
      kept.tokens = tokens
    },
    redirectToAuthorization(address: URL) {
      asked.push(address)
    },
    saveCodeVerifier(verifier: string) {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier,
    saveDiscoveryState(state: unknown) {
      kept.discovery = state
    },
    discoveryState: () => kept.discovery,
  }
  return { kept, provider: provider as unknown as OAuthClientProvider }
}
