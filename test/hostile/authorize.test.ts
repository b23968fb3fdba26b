import { createServer } from 'node:http'

import { paths } from '../../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import {
  authorizeUrl,
  codeChallenge,
  errorOf,
  exchange,
  makePkce,
  obtainCode,
  obtainTokens,
  openAuthorization,
} from '../support/client.ts'
import { notes, portal, sam } from '../support/gatehouse.ts'
import { follow } from '../support/identity-provider.ts'
import { listen } from '../support/listen.ts'
import { unsignedJwt } from '../support/proofs.ts'
import { sharedService } from '../support/storages.ts'
import { type Answer, expectAnswer, type Fields, send } from '../support/wire.ts'
import { ask, outcomeOf } from './world.ts'

// Numbers in the brackets of titles are rows of docs/reference/hostile-cases.md.

const service = sharedService()

const asPortal = { client_id: portal.clientId, redirect_uri: portal.redirectUri }
const toInteraction = /^\/interaction\//
const toClient = new RegExp(`^${RegExp.escape(notes.redirectUri)}[?#]`)

const authorize = async (fields: Fields = {}) => await ask(service().url, fields)

/** Returns the error code of a redirect to the client. `outcomeOf` expects one `state`, one `iss` and no code [31]. */
function redirectedError(answer: Answer): string {
  expect(answer.status, answer.text).to.equal(303)
  expect(answer.headers.get('location')).to.match(toClient)
  return outcomeOf(answer, service().url).replace('redirect ', '')
}

/** Defines a test for each request. The test expects a redirect to the client with this error. */
function refuses(error: string, requests: Readonly<Record<string, Fields>>): void {
  for (const [what, fields] of Object.entries(requests)) {
    it(`refuses ${what} with ${error}`, async () => {
      expect(redirectedError(await authorize(fields))).to.equal(error)
    })
  }
}

/** Expects an error page and no redirect. */
function expectPage({ status, headers, text }: Answer): void {
  expect([status, headers.get('location')], text).to.deep.equal([400, null])
  expect(headers.get('content-type')).to.match(/^text\/html/)
  expect(text).to.include('id="error-page"').and.include('id="error-code">invalid_')
  for (const directive of ['default-src', 'script-src', 'frame-ancestors'])
    expect(headers.get('content-security-policy')).to.include(`${directive} 'none'`)
  expect(headers.get('x-frame-options')).to.equal('DENY')
  expect(headers.get('x-content-type-options')).to.equal('nosniff')
}

describe('authorize: redirects to registered addresses only [RFC 6749 §3.1.2.4] [1, 3, 5]', () => {
  // [RFC 6749 §3.1.2.4; RFC 6749 §4.1.2.1; RFC 6749 §10.15; OpenID Connect Core §3.1.2.6;
  // RFC 9700 §4.11.2]
  // [Authorization 2]
  it('shows a page for an unknown client and redirects nowhere [1]', async () => {
    const odd = ['__proto__', 'constructor', 'x'.repeat(5000), "' or 1=1 --"]
    for (const client_id of [undefined, 'nobody', '', ...odd, 'demo-resource-server'])
      expectPage(await authorize({ client_id }))
  })

  // redirect-cases.ts has more spellings.
  for (const redirect_uri of [
    'https://portalXexample/callback',
    'https://evil.example#https://portal.example/callback',
    'https://portal.example/callback/',
    'https://portal.example/x/../callback',
    'https://portal.example:443/callback',
    'http://portal.example/callback',
    'https://portal.example./callback',
    '/callback',
    'data:text/html,<script>alert(1)</script>',
    ' https://portal.example/callback',
    '',
  ]) {
    // [RFC 6749 §3.1.2; RFC 6749 §3.1.2.3; RFC 9700 §2.1; RFC 9700 §4.1.3; RFC 9700 §4.11.2;
    // MCP Authorization §Open Redirection]
    // [threat 1]
    it(`shows a page for the redirect_uri ${JSON.stringify(redirect_uri)} of a web application [3, 5]`, async () => {
      expectPage(await authorize({ ...asPortal, redirect_uri }))
    })
  }

  // redirect-uri.test.ts tests the rejected ports.
  // [RFC 9700 §2.1]
  it('accepts any port of the registered loopback address [RFC 8252 §7.3] [7]', async () => {
    for (const port of ['1', '9', '4711', '65535']) {
      const answer = await authorize({ redirect_uri: `http://127.0.0.1:${port}/callback` })
      expect(answer.headers.get('location'), port).to.match(toInteraction)
    }
  })
})

// [RFC 7636 §4.3; RFC 7636 §7.2; RFC 8252 §6; RFC 8252 §8.1; RFC 9700 §2.1.1; RFC 9700 §4.8.2;
// MCP Authorization §Authorization Code Protection]
// [What the service does 2; Authorization 6; Authorization 7; Authentication 1; threat 2]
describe('authorize: PKCE with S256 is required of every client [RFC 7636 §4.4.1] [11, 13]', () => {
  const none = { code_challenge: undefined, code_challenge_method: undefined }
  refuses('invalid_request', {
    'no challenge': { code_challenge: undefined },
    'neither challenge nor method': none,
    'an empty challenge': { code_challenge: '' },
    'no method, which would mean plain,': { code_challenge_method: undefined },
    'the method plain': { code_challenge_method: 'plain' },
    'the method s256': { code_challenge_method: 's256' },
    'an unknown method': { code_challenge_method: 'S512' },
    'a challenge of 42 characters': { code_challenge: codeChallenge.slice(1) },
    'a challenge of 129 characters': { code_challenge: 'a'.repeat(129) },
    'a challenge with padding': { code_challenge: `${codeChallenge.slice(1)}=` },
    'a challenge in plain base64': { code_challenge: `${codeChallenge.slice(2)}+/` },
    'a challenge with a line break': { code_challenge: `${codeChallenge}\n` },
  })

  it('refuses a confidential client without a challenge', async () => {
    expect(errorOf(await authorize({ ...asPortal, ...none }))).to.equal('invalid_request')
  })
})

describe('authorize: parameters that are repeated [RFC 6749 §3.1] [15, 53]', () => {
  for (const [name, own, evil] of [
    ['client_id', notes.clientId, portal.clientId],
    ['redirect_uri', notes.redirectUri, 'https://evil.example/callback'],
  ] as const) {
    it(`shows a page for a second ${name}, in either order`, async () => {
      for (const second of [own, evil]) {
        expectPage(await authorize({ [name]: [own, second] }))
        expectPage(await authorize({ [name]: [second, own] }))
      }
    })
  }

  refuses('invalid_request', {
    'a second response_type': { response_type: ['code', 'token'] },
    'a second scope': { scope: ['openid', 'account:read'] },
    'a second code_challenge': { code_challenge: [codeChallenge, makePkce().challenge] },
    'a second code_challenge_method': { code_challenge_method: ['S256', 'plain'] },
    'a second nonce': { nonce: ['one', 'two'] },
    'a second prompt': { prompt: ['none', 'login'] },
  })

  it('refuses a second state and returns neither', async () => {
    const answer = await authorize({ state: ['one', 'two'] })
    expect(answer.headers.get('location') ?? '').to.not.match(/state=|code=/)
    expect(answer.headers.get('location') ?? answer.text).to.include('invalid_request')
  })

  it('checks a second resource like the first [RFC 8707 §2] [15]', async () => {
    const { url } = service()
    for (const resource of [
      [url, 'https://evil.example'],
      ['https://evil.example', url],
      [url, `${url}/elsewhere`],
      [url, `${url}/mcp#fragment`],
    ]) {
      expect(redirectedError(await authorize({ resource }))).to.equal('invalid_target')
    }
    const same = await authorize({ resource: [url, `${url}/mcp`, `${url}/`] })
    expect(same.headers.get('location')).to.match(toInteraction)
  })

  it('ignores names with brackets', async () => {
    expectPage(await authorize({ redirect_uri: undefined, 'redirect_uri[]': notes.redirectUri }))
    const beside = await authorize({ 'redirect_uri[]': 'https://evil.example/' })
    expect(beside.headers.get('location')).to.match(toInteraction)
  })
})

// [OpenID Connect Core §6.1; OpenID Connect Core §6.2; RFC 6749 §3.1.1; RFC 9700 §2.1.2; Authorization 1]
describe('authorize: unsupported features (OpenID Connect Core §6) [23]', () => {
  it('refuses request and request_uri, and fetches nothing [23]', async () => {
    let connections = 0
    const trap = createServer().on('connection', () => {
      connections += 1
    })
    await using trapped = await listen(trap)
    for (const [fields, error] of [
      [{ request: unsignedJwt({ scope: 'openid' }) }, 'request_not_supported'],
      [{ request_uri: `${trapped.url}/request` }, 'request_uri_not_supported'],
      [{ request_uri: 'http://169.254.169.254/latest' }, 'request_uri_not_supported'],
      [{ registration: '{}' }, 'registration_not_supported'],
    ] as const) {
      const answer = await authorize(fields)
      expect(redirectedError(answer), error).to.equal(error)
      const said = /[?&]error_description=\w+\+[^&]+not\+supported/
      expect(answer.headers.get('location')).to.match(said)
      const { text } = await authorize({ ...fields, response_mode: 'form_post' })
      expect(text).to.match(/name="error_description" value="[^"]+ not supported: /)
    }
    expect(connections).to.equal(0)
  })

  const types = ['token', 'id_token', 'code id_token', 'code token', 'none', 'CODE']
  for (const response_type of types)
    refuses('unsupported_response_type', {
      [`response_type ${response_type}`]: { response_type, nonce: 'n' },
    })
})

// [RFC 6749 §10.14]
describe('authorize: echoed values are plain text (CVE-2019-8400, CVE-2026-42849) [25]', () => {
  const script = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`

  it('escapes them in the error page', async () => {
    for (const fields of [
      { client_id: script },
      { redirect_uri: `https://evil.example/${script}` },
      { client_id: script, error_description: script, error_hint: script, state: script },
    ]) {
      const answer = await authorize(fields)
      expectPage(answer)
      expect(answer.text).to.not.match(/<script|<img/)
    }
  })

  it('escapes login_hint in the sign-in page', async () => {
    const start = authorizeUrl(service().url, { login_hint: script })
    const { text, headers } = await follow(makeHeadlessPerson(sam), start)
    expect(text)
      .to.include('&#60;script&#62;')
      .and.not.match(/<script>alert|<img/)
    // The page has scripts of its own, which the policy allows by their hashes.
    const policy = headers.get('content-security-policy') ?? ''
    const [, sources = ''] = /script-src ((?:'sha256-[^']+' ?)+);/.exec(policy) ?? []
    expect(text.match(/<script/g)).to.have.length(sources.split(' ').length)
  })

  // [RFC 6749 §4.1.2; OpenID Connect Core §3.1.2.5; Authorization 8]
  it('escapes state in the page of response_mode=form_post and posts it unchanged', async () => {
    const state = `${script}ä &=%+`
    const request = { response_mode: 'form_post', state, prompt: 'none' }
    const { text, headers } = await authorize(request)
    expect(text)
      .to.include('login_required')
      .and.not.match(/<script>alert|<img/)
    expect(text.match(/<script/g), 'the script that sends the form').to.have.lengthOf(1)
    expect(fieldsOf(text)).to.include({ state, iss: service().url })
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).to.match(/script-src ('none' )?'sha256-[^']+';/)
    expect(policy).to.not.include('unsafe').and.not.include('form-action')
  })

  // [RFC 9207 §2]
  it('posts code, state and iss to the client with response_mode=form_post', async () => {
    const { url } = service()
    const { person } = await obtainTokens(url)
    const page = await (await person.open(authorizeUrl(url, { response_mode: 'form_post' }))).text()
    expect(page).to.include(`action="${notes.redirectUri}"`)
    const { code = '', ...fields } = fieldsOf(page)
    expect(fields).to.include({ state: 'the-state', iss: url })
    expectAnswer(await exchange(url, code), 200)
  })

  function fieldsOf(page: string): Record<string, string> {
    const special: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
    const decode = (value: string) =>
      value.replace(/&([#\w]+);/g, (_all, name) => special[name] ?? '?')
    const fields = page.matchAll(/name="([a-z_]+)" value="([^"]*)"/g)
    return Object.fromEntries([...fields].map(([, name, value = '']) => [name, decode(value)]))
  }
})

describe('authorize: prompt and max_age [OpenID Connect Core §3.1.2.1] [27]', () => {
  for (const [what, fields, answer] of [
    ['for a client without consent', asPortal, 'consent_required'],
    ['for the scopes of the consent', { scope: 'openid account:read' }, 'a code'],
    ['for email, too', { scope: 'openid email account:read' }, 'consent_required'],
    ['for writing, too', { scope: 'openid account:read account:write' }, 'consent_required'],
    ['with max_age=0', { max_age: '0', scope: 'openid account:read' }, 'login_required'],
  ] as const) {
    // [OpenID Connect Core §3.1.2.2; OpenID Connect Core §3.1.2.3; OpenID Connect Core §3.1.2.6]
    it(`answers prompt=none ${what} with ${answer} [27]`, async () => {
      const { url } = service()
      const { person } = await obtainCode(url, { scope: 'openid account:read' })
      const back = await openAuthorization(person, url, { prompt: 'none', ...fields })
      const { error, code } = Object.fromEntries(back.searchParams)
      expect(error ?? (code && 'a code')).to.equal(answer)
    })
  }
})

describe('authorize: odd requests', () => {
  it('answers a URL or header beyond 16 KB with 431 and keeps serving [121]', async () => {
    const long = 'x'.repeat(20_000)
    const path = paths.authorization
    for (const request of [
      { path: `${path}?state=${long}` },
      { path, headers: ['X-Long', long] },
      { path, headers: ['Cookie', long] },
    ])
      expect((await send(service().url, request)).status).to.equal(431)
    expect((await send(service().url, { path: paths.health })).status).to.equal(200)
  })

  for (const query of [
    '?',
    '?&&&===',
    '?%',
    '?client_id=%ff%fe',
    '?client_id=%00',
    `?${'a=1&'.repeat(2000)}`,
    '?client_id[x]=1&__proto__[admin]=1&constructor=1',
  ]) {
    it(`answers ${query.slice(0, 40)} with a page`, async () => {
      const headers = ['Accept', 'text/html']
      expectPage(await send(service().url, { path: paths.authorization + query, headers }))
    })
  }
})
