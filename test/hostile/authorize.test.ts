import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'
import fc from 'fast-check'
import { decodeJwt } from 'jose'

import { paths } from '../../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { authorizeUrl, makePkce, obtainCode, obtainTokens } from '../support/client.ts'
import { amir, notes, portal, sam } from '../support/gatehouse.ts'
import { sharedService } from '../support/shared-service.ts'
import { type Answer, encode, type Fields, postForm, send } from '../support/wire.ts'

/** Hostile requests at GET /oauth/authorize. The numbers are those of docs/reference/hostile-cases.md. */
const service = sharedService()

const STATE = 'the-state'

async function authorize(fields: Fields = {}): Promise<Answer> {
  const { pathname, search } = authorizeUrl(service().url, fields)
  return await send(service().url, { path: pathname + search, headers: ['Accept', 'text/html'] })
}

/** The error that a redirect carries; every one has the state, and the issuer exactly once [31]. */
function redirectedError(answer: Answer): string {
  expect(answer.status, answer.text).to.equal(303)
  const target = new URL(answer.headers.get('location') ?? '', service().url)
  expect(target.origin + target.pathname).to.equal(notes.redirectUri)
  expect(target.searchParams.getAll('iss')).to.deep.equal([service().url])
  expect(target.searchParams.getAll('state')).to.deep.equal([STATE])
  expect(target.searchParams.has('code')).to.equal(false)
  return target.searchParams.get('error') ?? ''
}

/** An error that goes to the person and nowhere else. */
function expectPage(answer: Answer): void {
  expect(answer.status, answer.text).to.equal(400)
  expect(answer.headers.get('location')).to.equal(null)
  expect(answer.headers.get('content-type')).to.match(/^text\/html/)
  expect(answer.text).to.include('id="error-page"').and.include('id="error-code">invalid_')
  expectGuarded(answer)
}

function expectGuarded({ headers }: Answer): void {
  const policy = String(headers.get('content-security-policy'))
  expect(policy).to.include("default-src 'none'")
  expect(policy).to.include("script-src 'none'")
  expect(policy).to.include("frame-ancestors 'none'")
  expect(headers.get('x-frame-options')).to.equal('DENY')
  expect(headers.get('x-content-type-options')).to.equal('nosniff')
}

describe('authorize: a person is sent to registered addresses only [RFC 6749 §3.1.2.4] [1, 3, 5]', () => {
  // [RFC 6749 §3.1.2.4; RFC 6749 §4.1.2.1; RFC 6749 §10.15; OpenID Connect Core §3.1.2.6;
  // RFC 9700 §4.11.2]
  // [Authorization 2]
  it('shows a page for an unknown client, and redirects nowhere [1]', async () => {
    const unknown = [
      undefined,
      'nobody',
      '',
      '__proto__',
      'constructor',
      'x'.repeat(5000),
      "' or 1=1 --",
    ]
    for (const clientId of unknown) expectPage(await authorize({ client_id: clientId }))
  })

  it('shows a page for a resource server, which is not an OAuth client', async () => {
    expectPage(await authorize({ client_id: 'demo-resource-server' }))
  })

  const foreign = [
    'https://evil.example/callback',
    'https://portal.example.evil.example/callback',
    'https://portalXexample/callback',
    'https://portal.example@evil.example/callback',
    'https://evil.example#https://portal.example/callback',
    'https://portal.example/callback/',
    'https://portal.example/callback/../evil',
    'https://portal.example/x/../callback',
    'https://portal.example/callbacks',
    'https://portal.example/callback/more',
    'https://portal.example/callback?',
    'https://portal.example/callback#',
    'https://portal.example:443/callback',
    'https://PORTAL.example/callback',
    'https://portal.example%2F@evil.example/callback',
    'https://portal.example/callback?next=https://evil.example',
    'https://portal.example/callback#fragment',
    'https://portal.example/Callback',
    'https://portal.example:8443/callback',
    'http://portal.example/callback',
    'https://portal.example./callback',
    'https://portal.example/callback%0d%0aSet-Cookie:x=1',
    'https://portal.example\\@evil.example/callback',
    '//evil.example/callback',
    '/callback',
    'javascript:alert(1)//https://portal.example/callback',
    'data:text/html,<script>alert(1)</script>',
    ' https://portal.example/callback',
    'http://127.0.0.1:9/callback',
    '',
  ]
  for (const redirectUri of foreign) {
    // [RFC 6749 §3.1.2; RFC 6749 §3.1.2.3; RFC 9700 §2.1; RFC 9700 §4.1.3; RFC 9700 §4.11.2;
    // MCP Authorization §Open Redirection]
    // [threat 1]
    it(`shows a page for the redirect_uri ${JSON.stringify(redirectUri)} of a web application [3, 5]`, async () => {
      expectPage(await authorize({ client_id: portal.clientId, redirect_uri: redirectUri }))
    })
  }

  const loopback = [
    'http://localhost:9/callback',
    'http://127.0.0.2:9/callback',
    'http://[::1]:9/callback',
    'http://[::ffff:127.0.0.1]:9/callback',
    'http://0.0.0.0:9/callback',
    'http://127.1:9/callback',
    'http://0x7f000001:9/callback',
    'http://2130706433:9/callback',
    'https://127.0.0.1:9/callback',
    'http://127.0.0.1:9/callback/',
    'http://127.0.0.1:9/callback/more',
    'http://127.0.0.1:9/',
    'http://user@127.0.0.1:9/callback',
    'http://127.0.0.1:9/callback?x=1',
    'http://127.0.0.1.evil.example:9/callback',
    'http://127.0.0.1:9@evil.example/callback',
  ]
  for (const redirectUri of loopback) {
    // [RFC 8252 §8.4; RFC 9700 §4.1.3]
    it(`shows a page for the redirect_uri ${redirectUri} of a native application [7]`, async () => {
      expectPage(await authorize({ redirect_uri: redirectUri }))
    })
  }

  // [RFC 9700 §2.1]
  it('takes any port of the registered loopback address [RFC 8252 §7.3] [7]', async () => {
    for (const port of ['1', '9', '4711', '65535']) {
      const answer = await authorize({ redirect_uri: `http://127.0.0.1:${port}/callback` })
      expect(answer.headers.get('location'), port).to.match(/^\/interaction\//)
    }
  })
})

// [RFC 7636 §4.3; RFC 7636 §7.2; RFC 8252 §6; RFC 8252 §8.1; RFC 9700 §2.1.1; RFC 9700 §4.8.2;
// MCP Authorization §Authorization Code Protection]
// [What the service does 2; Authorization 6; Authorization 7; Authentication 1; threat 2]
describe('authorize: PKCE with S256 is required of every client [RFC 7636 §4.4.1] [11, 13]', () => {
  const { challenge } = makePkce()
  const wrong: readonly [why: string, fields: Fields][] = [
    ['no challenge', { code_challenge: undefined }],
    [
      'neither challenge nor method',
      { code_challenge: undefined, code_challenge_method: undefined },
    ],
    ['an empty challenge', { code_challenge: '' }],
    ['no method, which would mean plain', { code_challenge_method: undefined }],
    ['the method plain', { code_challenge_method: 'plain' }],
    ['the method s256', { code_challenge_method: 's256' }],
    ['an unknown method', { code_challenge_method: 'S512' }],
    ['42 characters', { code_challenge: challenge.slice(1) }],
    ['129 characters', { code_challenge: 'a'.repeat(129) }],
    ['padding', { code_challenge: `${challenge.slice(1)}=` }],
    ['characters of plain base64', { code_challenge: `${challenge.slice(2)}+/` }],
    ['a line break', { code_challenge: `${challenge}\n` }],
  ]
  for (const [why, fields] of wrong) {
    it(`refuses ${why}`, async () => {
      expect(redirectedError(await authorize(fields))).to.equal('invalid_request')
    })
  }

  it('a confidential client is no exception', async () => {
    const { clientId: client_id, redirectUri: redirect_uri } = portal
    const none = { code_challenge: undefined, code_challenge_method: undefined }
    const answer = await authorize({ client_id, redirect_uri, ...none })
    const target = new URL(answer.headers.get('location') ?? '', service().url)
    expect(target.searchParams.get('error')).to.equal('invalid_request')
  })
})

describe('authorize: no parameter counts twice [RFC 6749 §3.1] [15, 53]', () => {
  for (const name of ['client_id', 'redirect_uri']) {
    it(`a second ${name} sends the person nowhere, in whatever order`, async () => {
      const own = name === 'client_id' ? notes.clientId : notes.redirectUri
      const evil = name === 'client_id' ? portal.clientId : 'https://evil.example/callback'
      for (const pair of [
        [own, evil],
        [evil, own],
        [own, own],
      ]) {
        expectPage(await authorize({ [name]: pair }))
      }
    })
  }

  for (const [name, values] of [
    ['response_type', ['code', 'token']],
    ['scope', ['openid', 'account:read']],
    ['code_challenge', [makePkce().challenge, makePkce().challenge]],
    ['code_challenge_method', ['S256', 'plain']],
    ['nonce', ['one', 'two']],
    ['prompt', ['none', 'login']],
  ] as const) {
    it(`a second ${name} is invalid_request`, async () => {
      expect(redirectedError(await authorize({ [name]: values }))).to.equal('invalid_request')
    })
  }

  it('a second state is refused and none of the two is sent back', async () => {
    const answer = await authorize({ state: ['one', 'two'] })
    expect(`${answer.headers.get('location') ?? ''}`).to.not.match(/state=|code=/)
    expect(answer.headers.get('location') ?? answer.text).to.include('invalid_request')
  })

  it('a second resource is judged as the first is [RFC 8707 §2] [15]', async () => {
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
    expect(same.headers.get('location')).to.match(/^\/interaction\//)
  })

  it('names with brackets are other parameters, not lists', async () => {
    const fields = { redirect_uri: undefined, 'redirect_uri[]': notes.redirectUri }
    expectPage(await authorize(fields))
    const beside = await authorize({ 'redirect_uri[]': 'https://evil.example/' })
    expect(beside.headers.get('location')).to.match(/^\/interaction\//)
  })
})

// [OpenID Connect Core §6.1; OpenID Connect Core §6.2]
describe('authorize: what the service does not support (OpenID Connect Core §6) [23]', () => {
  // [23]
  it('refuses request and request_uri, and fetches nothing', async () => {
    let fetched = 0
    const trap = createServer((_request, response) => {
      fetched += 1
      response.end()
    }).listen(0, '127.0.0.1')
    trap.on('connection', () => {
      fetched += 1
    })
    await once(trap, 'listening')
    const { port } = trap.address() as AddressInfo
    const address = `http://127.0.0.1:${port}/request`
    const unsigned = `${btoa('{"alg":"none"}')}.${btoa('{"scope":"openid"}')}.`
    for (const [fields, error] of [
      [{ request: unsigned }, 'request_not_supported'],
      [{ request_uri: address }, 'request_uri_not_supported'],
      [{ request_uri: 'http://169.254.169.254/latest' }, 'request_uri_not_supported'],
      [{ registration: '{}' }, 'registration_not_supported'],
    ] as const) {
      expect(redirectedError(await authorize(fields)), error).to.equal(error)
    }
    expect(fetched).to.equal(0)
    trap.close()
  })

  for (const responseType of ['token', 'id_token', 'code id_token', 'code token', 'none', 'CODE']) {
    // [RFC 6749 §3.1.1; RFC 9700 §2.1.2; Authorization 1]
    it(`refuses response_type ${responseType}`, async () => {
      const answer = await authorize({ response_type: responseType, nonce: 'n' })
      const target = new URL(answer.headers.get('location') ?? '', service().url)
      const said = new URLSearchParams(target.search || target.hash.slice(1))
      expect(said.get('error')).to.equal('unsupported_response_type')
      expect(said.getAll('iss')).to.deep.equal([service().url])
      expect(said.getAll('state')).to.deep.equal([STATE])
      expect(said.has('code')).to.equal(false)
    })
  }

  for (const responseMode of ['jwt', 'web_message', 'query.jwt', '<script>']) {
    it(`refuses response_mode ${responseMode}`, async () => {
      const answer = await authorize({ response_mode: responseMode })
      expect(answer.text + (answer.headers.get('location') ?? '')).to.match(
        /unsupported_response_mode|invalid_request/,
      )
      expect(answer.text).to.not.include('<script>')
    })
  }

  for (const scope of [undefined, '', ' ', 'nothing', 'admin:everything *']) {
    // [RFC 6749 §3.3; Authorization 4]
    it(`refuses the scope ${JSON.stringify(scope)}, of which it knows nothing`, async () => {
      const error = redirectedError(await authorize({ scope, resource: undefined }))
      expect(error).to.be.oneOf(['invalid_scope', 'invalid_request'])
    })
  }
})

// [RFC 6749 §10.14]
describe('authorize: what a caller sends comes back as text only (CVE-2019-8400, CVE-2026-42849) [25]', () => {
  const script = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`

  it('in the error page', async () => {
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

  it('in the sign-in page, which suggests login_hint', async () => {
    const person = makeHeadlessPerson(sam)
    const start = authorizeUrl(service().url, { login_hint: script })
    const location = (await person.open(start)).headers.get('location') ?? ''
    const answer = await person.open(new URL(location, service().url))
    const page = await answer.text()
    expect(page).to.include('&#60;script&#62;')
    expect(page).to.not.match(/<script|<img/)
    expect(answer.headers.get('content-security-policy')).to.include("script-src 'none'")
  })

  it('in the page that posts an answer (response_mode=form_post), which still posts the very state', async () => {
    const person = makeHeadlessPerson(sam)
    const request = { response_mode: 'form_post', state: script, prompt: 'none' }
    const answer = await person.open(authorizeUrl(service().url, request))
    const page = await answer.text()
    expect(page).to.include('login_required')
    expect(page).to.not.match(/<script>alert|<img/)
    expect(scriptsOf(page), 'the one script that sends the form').to.have.lengthOf(1)
    const [, value = ''] = /name="state" value="([^"]*)"/.exec(page) ?? []
    expect(decodeEntities(value)).to.equal(script)
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).to.match(/script-src ('none' )?'sha256-[^']+';/)
    expect(policy).to.not.include('unsafe')
    expect(policy).to.match(/form-action 'self' https:\/\/notes\.example(;|$)/)
  })

  // [RFC 9207 §2]
  it('form_post brings code, state and iss to the client', async () => {
    const { person, form } = await obtainTokens(service().url)
    const { verifier, challenge } = makePkce()
    const request = { response_mode: 'form_post', code_challenge: challenge }
    const page = await (await person.open(authorizeUrl(service().url, request))).text()
    expect(page).to.include(`action="${notes.redirectUri}"`)
    const fields = new Map(
      [...page.matchAll(/name="([a-z_]+)" value="([^"]*)"/g)].map(([, name, value = '']) => [
        name,
        decodeEntities(value),
      ]),
    )
    expect([fields.get('state'), fields.get('iss')]).to.deep.equal([STATE, service().url])
    const code = fields.get('code')
    const answer = await postForm(service().url + paths.token, {
      ...form,
      ...{ code, code_verifier: verifier },
    })
    expect(answer.status, answer.text).to.equal(200)
  })

  const scriptsOf = (page: string) => [...page.matchAll(/<script/g)]

  function decodeEntities(value: string): string {
    const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' }
    return value
      .replace(/&#(\d+);/g, (_all, number) => String.fromCodePoint(Number(number)))
      .replace(/&([a-z]+);/g, (_all, name) => named[name] ?? '?')
  }
})

describe('authorize: prompt and max_age [OpenID Connect Core §3.1.2.1] [27, 35]', () => {
  const silent = async (person: ReturnType<typeof makeHeadlessPerson>, fields: Fields = {}) => {
    const start = authorizeUrl(service().url, { prompt: 'none', ...fields })
    const answer = await person.open(start)
    const target = new URL(answer.headers.get('location') ?? '', service().url)
    return target.searchParams.get('error') ?? (target.searchParams.has('code') ? 'a code' : '')
  }
  const asPortal = { client_id: portal.clientId, redirect_uri: portal.redirectUri }

  // [OpenID Connect Core §3.1.2.3; OpenID Connect Core §3.1.2.6]
  it('none without a session is login_required', async () => {
    expect(await silent(makeHeadlessPerson(sam))).to.equal('login_required')
  })

  // [OpenID Connect Core §3.1.2.6]
  it('none with a session and without consent is consent_required [27]', async () => {
    const { person } = await obtainCode(service().url)
    expect(await silent(person, asPortal)).to.equal('consent_required')
  })

  it('none with session and consent gives a code, and asks again for a scope that is new', async () => {
    const { person } = await obtainCode(service().url, { scope: 'openid account:read' })
    expect(await silent(person, { scope: 'openid account:read' })).to.equal('a code')
    expect(await silent(person, { scope: 'openid email account:read' })).to.equal(
      'consent_required',
    )
    expect(await silent(person, { scope: 'openid account:read account:write' })).to.equal(
      'consent_required',
    )
  })

  it('none never chooses a site for a person who operates several', async () => {
    const { person } = await obtainCode(service().url, {}, amir)
    const operator = {
      client_id: 'integration-claude',
      redirect_uri: 'https://claude.ai/api/mcp/auth_callback',
      scope: 'openid courses:read',
    }
    expect(await silent(person, operator)).to.be.oneOf([
      'account_selection_required',
      'interaction_required',
    ])
  })

  it('none together with another prompt, and an unknown prompt, are invalid_request', async () => {
    for (const prompt of ['none login', 'none consent', 'nonsense', 'login nonsense', '<b>']) {
      expect(redirectedError(await authorize({ prompt })), prompt).to.equal('invalid_request')
    }
  })

  // [OpenID Connect Core §3.1.2.2; OpenID Connect Core §3.1.2.3]
  it('none with max_age=0, or of another person, is login_required', async () => {
    const { person } = await obtainCode(service().url)
    expect(await silent(person, { max_age: '0' })).to.equal('login_required')
  })

  it('max_age that is no number is invalid_request [35]', async () => {
    for (const max_age of ['-1', 'abc', '99999999999999999999']) {
      expect(redirectedError(await authorize({ max_age })), max_age).to.equal('invalid_request')
    }
  })

  // [OpenID Connect Core §2; OpenID Connect Core §15.1]
  it('an old session has to sign in again for max_age, and auth_time says when [35]', async () => {
    const { person, form } = await obtainCode(service().url)
    const clock = Date.now
    Date.now = () => clock() + 120_000
    try {
      expect(await silent(person, { max_age: '60' })).to.equal('login_required')
      const { verifier, challenge } = makePkce()
      const start = authorizeUrl(service().url, { max_age: '60', code_challenge: challenge })
      const { searchParams } = await person.authorize(start, notes.redirectUri)
      const code = searchParams.get('code') ?? ''
      const repeated = { ...form, code, code_verifier: verifier }
      const answer = (await postForm(service().url + paths.token, repeated)).body
      const { auth_time, iat } = decodeJwt(String(answer['id_token']))
      expect(Number(iat) - Number(auth_time)).to.be.within(0, 30)
    } finally {
      Date.now = clock
    }
  })
})

// [OpenID Connect Core §5.5.1]
describe('authorize: a claims request shows its person what it asks for [OpenID Connect Core §5.5]', () => {
  const claims = JSON.stringify({ id_token: { email: { essential: true } } })

  it('names the e-mail address on the consent page when only a claim asks for it', async () => {
    const person = makeHeadlessPerson(sam)
    const pages: string[] = []
    let url = authorizeUrl(service().url, { scope: 'openid', resource: undefined, claims })
    for (let step = 0; step < 6 && !pages.at(-1)?.includes('consent-page'); step += 1) {
      const answer = await person.open(url)
      const location = answer.headers.get('location')
      if (location) {
        url = new URL(location, url)
        continue
      }
      const page = await answer.text()
      pages.push(page)
      if (page.includes('consent-page')) break
      const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(page) ?? []
      const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(page) ?? []
      const body = encode({ csrf, ...sam })
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const posted = await person.open(new URL(action, url), { method: 'POST', body, headers })
      url = new URL(posted.headers.get('location') ?? '', url)
    }
    expect(pages.at(-1)).to.include('your e-mail address')
  })

  it('a claims parameter that is no claims request is invalid_request', async () => {
    for (const wrong of ['{', '[]', '"x"', '{"id_token":1}', '{"userinfo":{"sub":{"value":1}']) {
      expect(redirectedError(await authorize({ claims: wrong })), wrong).to.equal('invalid_request')
    }
  })

  // [OpenID Connect Core §5.5]
  it('an undefined claim is not released', async () => {
    const all = ['password_hash', '__proto__', 'constructor', 'disabled_at']
    const request = Object.fromEntries(all.map((name) => [name, { essential: true }]))
    const { answer } = await obtainTokens(service().url, {
      claims: JSON.stringify({ id_token: request, userinfo: request }),
    })
    const claimed = Object.keys(decodeJwt(String(answer['id_token'])))
    expect(claimed.filter((name) => all.includes(name))).to.deep.equal([])
  })
})

describe('authorize: nothing that is sent makes it fail', () => {
  it('answers a URL or header beyond 16 KB with 431 and goes on serving [121]', async () => {
    const long = 'x'.repeat(20_000)
    for (const headers of [[], ['X-Long', long], ['Cookie', long]]) {
      const path =
        headers.length === 0 ? `${paths.authorization}?state=${long}` : paths.authorization
      const answer = await send(service().url, { path, headers })
      expect(answer.status).to.equal(431)
    }
    expect((await send(service().url, { path: paths.health })).status).to.equal(200)
  })

  // [RFC 6749 §4.1.2; OpenID Connect Core §3.1.2.5; Authorization 8]
  it('takes a state of 2000 characters and gives it back unchanged', async () => {
    const state = 'ä&=%"<>+ '.repeat(200)
    const { pathname, search } = authorizeUrl(service().url, { state, prompt: 'none' })
    const answer = await send(service().url, { path: pathname + search })
    const target = new URL(answer.headers.get('location') ?? '')
    expect(target.searchParams.get('state')).to.equal(state)
  })

  for (const query of [
    '?',
    '?&&&===',
    '?%',
    '?client_id=%ff%fe',
    '?client_id=%00',
    '?client_id=northlight-notes%00',
    `?${'a=1&'.repeat(2000)}`,
    '?client_id[x]=1&__proto__[admin]=1&constructor=1',
    '?toString=1&hasOwnProperty=2&__proto__=3',
  ]) {
    it(`answers ${query.slice(0, 40)} with a page`, async () => {
      const answer = await send(service().url, {
        path: paths.authorization + query,
        headers: ['Accept', 'text/html'],
      })
      expectPage(answer)
    })
  }

  // [RFC 6749 §3.1]
  it('refuses other methods, and header or parameter overrides of the method change nothing', async () => {
    const { pathname, search } = authorizeUrl(service().url)
    for (const method of ['PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND']) {
      const answer = await send(service().url, { method, path: pathname + search })
      expect(answer.status, method).to.be.oneOf([404, 405, 501])
    }
    for (const headers of [
      ['X-HTTP-Method-Override', 'POST'],
      ['X-Method-Override', 'DELETE'],
      ['X-Original-URL', '/admin'],
      ['X-Rewrite-URL', '/admin'],
    ]) {
      const answer = await send(service().url, {
        path: `${pathname}${search}&_method=POST`,
        headers,
      })
      expect(answer.headers.get('location'), headers[0]).to.match(/^\/interaction\//)
    }
  })

  it('random requests never fail and never lead to an address that is not registered', async () => {
    const name = fc.constantFrom(
      ...['client_id', 'redirect_uri', 'scope', 'state', 'resource', 'prompt', 'max_age', 'claims'],
      ...['response_type', 'response_mode', 'code_challenge', 'code_challenge_method', 'nonce'],
      ...['login_hint', 'ui_locales', 'acr_values', 'id_token_hint', 'display', '__proto__'],
    )
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom('', 'none', '{}', '0', 'https://evil.example/', service().url, 'openid'),
    )
    const change = fc.tuple(name, fc.oneof(value, fc.array(value, { maxLength: 3 })))
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 4 }), async (changes) => {
        const answer = await authorize(Object.fromEntries(changes))
        expect(answer.status).to.be.below(500)
        const location = answer.headers.get('location')
        if (location === null) return
        const target = new URL(location, service().url)
        const own = target.origin === service().url && target.pathname.startsWith('/interaction/')
        if (!own) expect(target.href).to.match(/^https:\/\/notes\.example\/callback[?#]/)
      }),
      { numRuns: 200 },
    )
  })
})
