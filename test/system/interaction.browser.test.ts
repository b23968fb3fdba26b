import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

import { scopeNames } from '../../src/directory/scopes/catalogue.ts'
import { mutationOf, startOperator } from '../support/admin-api.ts'
import { look, sharedBrowser, signInAs, signInAt } from '../support/browser.ts'
import { asClaude, authorizeUrl, exchange, userinfo } from '../support/client.ts'
import { png, sendFile } from '../support/files.ts'
import { amir, olivia, sam } from '../support/gatehouse.ts'
import { linkTo } from '../support/mail-folder.ts'
import { unsignedJwt } from '../support/proofs.ts'
import { MEMBER_SCOPE } from '../support/relying-party.ts'
import { serve, servePage } from '../support/serve.ts'
import { shared } from '../support/shared.ts'
import { sharedService } from '../support/storages.ts'
import type { Fields } from '../support/wire.ts'

describe('the interaction pages in a browser', () => {
  const service = sharedService()
  const open = sharedBrowser(service)

  // [Authorization 10; Authentication 3]
  it('lead from sign-in to tokens without a script, by way of another account', async () => {
    await using application = await servePage()
    const { url } = service()
    const redirect_uri = `${application.url}/callback`
    const scope = `${MEMBER_SCOPE} account:write`
    const at = authorizeUrl(url, { redirect_uri, scope }).href
    const { page, complaints } = await open({ javaScriptEnabled: false, at })
    expect(await page.textContent('h1')).to.equal('Sign in')
    await signInAs(page, { ...amir, password: 'wrong' }, '#login-problem')
    expect(await page.inputValue('#login')).to.equal(amir.login)
    await signInAs(page, amir, '#consent-page')
    expect(await page.innerText('#consent-page')).to.include(amir.login)
    await page.click('text=Use another account')
    await page.waitForSelector('#login-page')
    await signInAs(page, sam)
    // Without scripts, the engine's page that ends the earlier session does not submit itself.
    await page.click('noscript button')
    await page.waitForSelector('#consent-page')
    complaints.length = 0
    expect(await page.innerText('#consent-page'))
      .to.include('Course Notes')
      .and.include('Northlight Academy')
      .and.include('this computer (127.0.0.1)')
      .and.include('Sam Student')
    const said = 'your courses, other purchases and notifications'
    expect(await page.locator('[aria-labelledby=can-see] li').allInnerTexts()).to.include(said)
    expect(await page.locator('[aria-labelledby=can-change] li').allInnerTexts()).to.deep.equal([
      'which notifications are read and which you receive',
    ])
    await page.click('#consent-approve')
    await page.waitForSelector('#back')
    const code = new URL(page.url()).searchParams.get('code') ?? ''
    const { body } = await exchange(url, code, { redirect_uri })
    expect(body.scope).to.equal(scope)
    expect((await userinfo(url, body.access_token)).body.sub).to.equal('per_sam')
    expect(complaints).to.deep.equal([])
  })

  it('show the button Allow without scrolling at 1280 × 800', async () => {
    const { page } = await open({ viewport: { width: 1280, height: 800 } })
    const all = [...scopeNames('identity'), ...scopeNames('operator')].join(' ')
    for (const [person, asked] of [
      [sam, { scope: `${MEMBER_SCOPE} account:write` }],
      [olivia, { ...asClaude, scope: all }],
    ] as const) {
      await page.context().clearCookies()
      await signInAt(page, authorizeUrl(service().url, asked).href, person, '#consent-page')
      expect(await page.locator('.allowed li:visible').count()).to.equal(5)
      const { y = 0, height = 0 } = (await page.locator('#consent-approve').boundingBox()) ?? {}
      expect(y + height).to.be.most(800)
    }
  })

  it('recover a password by mail without a script, and return to the sign-in', async () => {
    const at = authorizeUrl(service().url).href
    const { page, complaints } = await open({ javaScriptEnabled: false, at })
    const password = 'three horses and a tram'
    await page.click('#recover')
    await page.fill('#login', amir.login)
    await page.click('#ask')
    await page.waitForSelector('#code')
    await page.goto(await linkTo(service(), amir.login))
    await page.fill('#password', password)
    await page.fill('#repeated', password)
    await page.click('#save')
    await page.waitForSelector('#password-set-page')
    // The recovery also ends a session that starts in the same second.
    await delay(1000)
    await page.click('#continue')
    await signInAs(page, { ...amir, password }, '#consent-page')
    expect(complaints).to.deep.equal([])
  })

  for (const backgroundColor of ['#f6e7d8', '#16263c']) {
    it(`look like the site and stay legible on ${backgroundColor}`, async () => {
      const operator = await startOperator(service())
      const input = {
        displayName: 'Northlight Film School',
        logoFileId: (await sendFile({ ...operator, name: 'logo.png', bytes: png })).body.id,
        accentColor: '#8a1c4a',
        backgroundColor,
        signInWords: 'Welcome back.\nNew courses start in May.',
        consentWords: 'Only allow what you use.',
      }
      const change = mutationOf('updateAppearance')
      await operator.run(change, { input })
      const { page, complaints } = await open({ at: authorizeUrl(service().url).href })
      expect(await page.innerText('.words')).to.include('New courses start in May.')
      const drawn = 'document.querySelector("header img").naturalWidth'
      expect(await page.evaluate(drawn)).to.be.above(0)
      await look(page, 'sign-in')
      await signInAs(page, sam)
      await look(page, 'consent', '#consent-page')
      await page.goto('/account')
      await look(page, 'account', '#account-page')
      expect(complaints).to.deep.equal([])
      const own = Object.fromEntries(Object.keys(input).map((name) => [name, null]))
      await operator.run(change, { input: own })
    })
  }
})

const inObject = unsignedJwt({ response_mode: 'form_post', response_type: 'code' })
const onlyInObject = { request: inObject, response_mode: undefined }

/** Most of these requests are rejected before the engine checks the redirect URI. */
const refused: readonly (readonly [what: string, request: Fields, error: string])[] = [
  ['prompt=none without a session', { prompt: 'none' }, 'login_required'],
  ['no response_type', { response_type: undefined }, 'invalid_request'],
  ['another response_type', { response_type: 'token' }, 'unsupported_response_type'],
  ['an unknown prompt', { prompt: 'nonsense' }, 'invalid_request'],
  ['a request object', { request: inObject }, 'request_not_supported'],
  ['response_mode in a request object only', onlyInObject, 'request_not_supported'],
  ['request_uri', { request_uri: 'https://a.example/1' }, 'request_uri_not_supported'],
  ['registration', { registration: '{}' }, 'registration_not_supported'],
  ['no PKCE', { code_challenge: undefined }, 'invalid_request'],
  ['no known scope', { scope: 'nonsense' }, 'invalid_scope'],
]

describe('errors by form_post, in a browser that enforces our Content-Security-Policy', () => {
  const service = sharedService()
  const open = sharedBrowser()
  const posted: URLSearchParams[] = []
  const client = shared(async () => {
    return await serve(async (request, response) => {
      if (request.method === 'POST') posted.push(new URLSearchParams(await text(request)))
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1 id="back">Back</h1>')
    })
  })

  for (const [what, request, error] of refused) {
    it(`${error} reaches the client: ${what}`, async () => {
      const asked = { redirect_uri: `${client().url}/callback`, response_mode: 'form_post' }
      const at = authorizeUrl(service().url, { ...asked, ...request }).href
      const { page, complaints } = await open({ at })
      await page.locator('#back').waitFor({ timeout: 10_000 })
      expect(Object.fromEntries(posted.at(-1) ?? [])).to.include({ error, iss: service().url })
      expect(complaints.filter((text) => /Content.Security.Policy/i.test(text))).to.deep.equal([])
    })
  }

  it('an address that is not the client’s does not receive a form post', async () => {
    const { page } = await open()
    const asked = { redirect_uri: 'https://evil.example/callback', response_mode: 'form_post' }
    const answer = await page.goto(authorizeUrl(service().url, { ...asked, prompt: 'x' }).href)
    expect(answer?.headers()['content-security-policy']).to.not.include('evil.example')
    expect(await page.locator('#error-code').textContent()).to.equal('invalid_redirect_uri')
  })
})
