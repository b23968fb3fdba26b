import { request as httpRequest } from 'node:http'

import { registerClient as registerWithSdk2 } from '@modelcontextprotocol/client'
import { registerClient as registerWithSdk1 } from '@modelcontextprotocol/sdk/client/auth.js'
import { OAuthMetadataSchema } from '@modelcontextprotocol/sdk/shared/auth.js'
import { expect } from 'chai'
import fc from 'fast-check'
import * as oidc from 'openid-client'

import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { olivia, sam, startService } from './support/gatehouse.ts'
import { responseValidator } from './support/openapi.ts'
import { getTokens, signIn } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { forEachStorage } from './support/storages.ts'

type Body = Record<string, unknown>

const loopback = 'http://127.0.0.1:49152/callback'

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url + paths.registration, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  })
  return { response, status: response.status, body: (await response.json()) as Body }
}

/** What real clients send. */
const real = {
  claudeCode: {
    client_name: 'Claude Code (gatehouse)',
    redirect_uris: ['http://localhost:54212/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  },
  geminiCli: {
    client_name: 'Gemini CLI MCP Client',
    redirect_uris: ['http://localhost:7777/oauth/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: scopeNames().join(' '),
  },
  mcpRemote: {
    client_name: 'MCP CLI Proxy',
    redirect_uris: ['http://localhost:3335/oauth/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
    client_uri: 'https://github.com/modelcontextprotocol/mcp-cli',
    software_id: '2e6dc280-f3c3-4e01-99a7-8181dbd1d23d',
    software_version: '0.15.1',
    scope: 'account:read offline_access',
  },
  inspector: {
    client_name: 'MCP Inspector',
    redirect_uris: ['http://localhost:6274/oauth/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    client_uri: 'https://github.com/modelcontextprotocol/inspector',
    scope: '',
  },
  codex: {
    client_name: 'Codex',
    redirect_uris: ['http://127.0.0.1:1455/callback/7Hk2'],
    token_endpoint_auth_method: 'none',
  },
  openCode: {
    client_name: 'OpenCode',
    redirect_uris: ['http://127.0.0.1:19876/mcp/oauth/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'client_secret_post',
  },
  claude: {
    client_name: 'Claude',
    redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  vsCode: {
    client_name: 'Visual Studio Code',
    client_uri: 'https://code.visualstudio.com',
    grant_types: [
      'authorization_code',
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:device_code',
    ],
    response_types: ['code'],
    redirect_uris: [
      'https://insiders.vscode.dev/redirect',
      'https://vscode.dev/redirect',
      'http://127.0.0.1/',
      'http://127.0.0.1:33418/',
    ],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  },
  cursor: {
    client_name: 'Cursor',
    redirect_uris: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
} as const

describe('registration of the clients that exist (design 6)', () => {
  const service = sharedService()

  for (const name of [
    'claudeCode',
    'geminiCli',
    'mcpRemote',
    'inspector',
    'codex',
    'openCode',
  ] as const) {
    // [RFC 7591 §3; RFC 7591 §3.1; RFC 7591 §3.2.1; RFC 7591 §2; RFC 6749 §2.1; RFC 6749 §9;
    // RFC 6749 §10.1; RFC 8252 §8.4; MCP Authorization §Dynamic Client Registration]
    // [Client registration record 2; Client registration record 4; Client registration 3.2]
    it(`gives ${real[name].client_name} a new public native client, whatever its name (Client registration 3)`, async () => {
      const body = real[name]
      const first = await post(service().url, body)
      const second = await post(service().url, body)
      expect(first.status).to.equal(201)
      expect(first.response.headers.get('cache-control')).to.equal('no-store')
      expect(first.body).to.include({
        client_name: body.client_name,
        application_type: 'native',
        token_endpoint_auth_method: 'none',
      })
      expect(first.body['redirect_uris']).to.deep.equal(body.redirect_uris)
      expect(first.body['grant_types']).to.deep.equal(['authorization_code', 'refresh_token'])
      expect(first.body['client_id_issued_at']).to.be.closeTo(Date.now() / 1000, 5)
      expect(first.body).not.to.have.any.keys('client_secret', 'registration_access_token')
      expect(first.body['client_id']).not.to.equal(second.body['client_id'])
      expect(String(first.body['scope']).split(' ')).not.to.include.members(['account:read'])
    })
  }

  for (const [name, clientId] of [
    ['claude', 'integration-claude'],
    ['vsCode', 'integration-vscode'],
    ['cursor', 'integration-cursor'],
  ] as const) {
    // [Client registration record 1; Client registration record 5; Client registration 1.1]
    // [Client registration 1.2]
    it(`answers ${real[name].client_name} with the client_id that the platform has (Client registration 1)`, async () => {
      const { status, body } = await post(service().url, real[name])
      expect(status).to.equal(201)
      expect(body['client_id']).to.equal(clientId)
      expect(body['client_name']).to.equal(real[name].client_name)
      expect(body['redirect_uris']).to.include.members([...real[name].redirect_uris])
      expect(body).not.to.have.any.keys('client_secret', 'client_id_issued_at')
    })
  }

  it('answers a known platform that names no redirect address', async () => {
    for (const body of [
      { client_name: 'Claude' },
      { client_name: '  Claude ', redirect_uris: [] },
    ]) {
      expect((await post(service().url, body)).body['client_id']).to.equal('integration-claude')
    }
  })

  for (const [version, register] of [
    ['1', registerWithSdk1],
    ['2', registerWithSdk2],
  ] as const) {
    it(`is understood by version ${version} of the MCP SDK`, async () => {
      const { url } = service()
      const metadata = OAuthMetadataSchema.parse(
        await (await fetch(url + paths.authorizationServer)).json(),
      )
      const information = await register(url, {
        metadata,
        clientMetadata: {
          client_name: 'A program',
          redirect_uris: [loopback],
          scope: 'account:read',
        },
      })
      expect(information.client_id).to.match(/^loopback_/)
      expect(information.client_secret).to.equal(undefined)
    })
  }

  // [Discovery 7]
  it('advertises its address in both discovery documents', async () => {
    for (const path of [paths.authorizationServer, paths.openidConfiguration]) {
      const document = (await (await fetch(service().url + path)).json()) as Body
      expect(document['registration_endpoint']).to.equal(service().url + paths.registration)
    }
  })

  // [Client registration 0.2]
  it('answers as openapi.json says', async () => {
    const { url } = service()
    const document = (await (await fetch(url + paths.openApi)).json()) as object
    const differences = responseValidator(document)
    for (const body of [real.claudeCode, real.vsCode, real.cursor, { client_name: 'Nobody' }]) {
      const { status, body: answer } = await post(url, body)
      expect(differences(paths.registration, 'POST', status, answer)).to.deep.equal([])
    }
  })
})

describe('registration: refusals', () => {
  const service = sharedService()

  /** test/hostile/registration-cases.ts has those of attackers. */
  const refused: [title: string, body: unknown, error: string][] = [
    [
      'an unknown client_name (Client registration 2)',
      { client_name: 'Nobody' },
      'invalid_client_metadata',
    ],
    ['an empty body', {}, 'invalid_client_metadata'],
    ['a number as redirect_uris', { redirect_uris: 7 }, 'invalid_client_metadata'],
    [
      'something else than texts in redirect_uris',
      { redirect_uris: [loopback, null] },
      'invalid_client_metadata',
    ],
    [
      'a client_name that is no text',
      { client_name: {}, redirect_uris: [loopback] },
      'invalid_client_metadata',
    ],
    [
      'a client_name of 101 characters',
      { client_name: 'x'.repeat(101), redirect_uris: [loopback] },
      'invalid_client_metadata',
    ],
    [
      'a zero-width space in client_name',
      { client_name: 'Cla\u200bude', redirect_uris: [loopback] },
      'invalid_client_metadata',
    ],
    [
      'two members of one name in two spellings',
      `{"redirect_uris":["${loopback}"],"redirect\\u005furis":["${loopback}"]}`,
      'invalid_client_metadata',
    ],
    [
      'a member __proto__',
      `{"__proto__":{"client_name":"Claude"},"redirect_uris":["${loopback}"]}`,
      'invalid_client_metadata',
    ],
    [
      'a body nested 5000 deep',
      `{"redirect_uris":["${loopback}"],"jwks":${'['.repeat(5000)}${']'.repeat(5000)}}`,
      'invalid_client_metadata',
    ],
    [
      'a body that is not UTF-8',
      Buffer.from('{"client_name":"\xe9"}', 'latin1'),
      'invalid_client_metadata',
    ],
  ]
  for (const [title, body, error] of refused) {
    // [RFC 7591 §2.1; RFC 7591 §3.2.2; RFC 7591 §5;
    // MCP Authorization §Application Type and Redirect URI Constraints]
    // [Client registration 2; Client registration 3.1; Client registration 4; Errors 2.1; Errors 2.2]
    // [9, 91]
    it(`refuses ${title} with ${error}`, async () => {
      const { status, body: answer, response } = await post(service().url, body)
      expect([status, answer['error']]).to.deep.equal([400, error])
      expect(answer['error_description']).to.be.a('string')
      expect(response.headers.get('cache-control')).to.equal('no-store')
    })
  }

  // [Client registration 1.1; class identifier; threat 23; 93]
  it('matches no name that only looks like that of a platform', async () => {
    for (const client_name of ['claude', 'CLAUDE', 'Сlaude', 'Ｃlaude', 'Claude.', 'ChatGPТ']) {
      const { body } = await post(service().url, { client_name })
      expect(body['error'], client_name).to.equal('invalid_client_metadata')
    }
  })

  it('answers 413 to more than 16 KB, whether the length is told before or not', async () => {
    const { url } = service()
    const large = JSON.stringify({ redirect_uris: [loopback], filler: 'x'.repeat(17_000) })
    const told = await post(url, large)
    expect([told.status, told.body['error']]).to.deep.equal([413, 'invalid_request'])
    expect(await postInChunks(url, large)).to.equal(413)
    expect(await postInChunks(url, 'x'.repeat(1_000_000))).to.equal(413)
  })

  // [Client registration 0.1]
  it('answers 415 to another media type, charset of a body part, or a compressed body', async () => {
    const body = JSON.stringify({ redirect_uris: [loopback] })
    for (const headers of [
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'text/plain' },
      { 'content-encoding': 'gzip' },
    ]) {
      expect((await post(service().url, body, headers)).status).to.equal(415)
    }
    const charset = { 'content-type': 'application/json; charset=utf-8' }
    expect((await post(service().url, body, charset)).status).to.equal(201)
  })

  // [RFC 7591 §3]
  it('answers 405 to another method, and knows one spelling of its address', async () => {
    const response = await fetch(service().url + paths.registration)
    expect(response.status).to.equal(405)
    expect(response.headers.get('allow')).to.equal('POST, OPTIONS')
    const other = await fetch(`${service().url}/API/oauth/register/`, { method: 'POST' })
    expect(other.status).to.equal(404)
  })

  it('can be called by a page of any origin, without credentials (design 28)', async () => {
    const { url } = service()
    const origin = 'http://localhost:6274'
    const preflight = await fetch(url + paths.registration, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,mcp-protocol-version',
      },
    })
    expect(preflight.status).to.equal(204)
    expect(preflight.headers.get('access-control-allow-origin')).to.equal('*')
    expect(preflight.headers.get('access-control-allow-methods')).to.include('POST')
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).to.include(
      'content-type',
    )
    expect(preflight.headers.get('access-control-allow-credentials')).to.equal(null)
    for (const body of [real.inspector, {}]) {
      const { response } = await post(url, body, { origin })
      expect(response.headers.get('access-control-allow-origin')).to.equal('*')
    }
  })
})

describe('registration under load', () => {
  // [RFC 7591 §5; Not shown 12; threat 24]
  it('answers 429 with Retry-After when one network registers too often [95]', async () => {
    await using service = await startService({
      policy: (policy) => ({
        ...policy,
        registration: { ...policy.registration, registrationsPerAddressMax: 3 },
      }),
    })
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post(service.url, real.claudeCode)),
    )
    const refused = answers.filter(({ status }) => status === 429)
    expect(answers.map(({ status }) => status).filter((status) => status === 201)).to.have.length(3)
    expect(refused).to.have.length(5)
    for (const { response, body } of refused) {
      expect(Number(response.headers.get('retry-after'))).to.be.within(1, 600)
      expect(body['error']).to.equal('too_many_requests')
    }
  })

  // [95]
  it('gives no input a 5xx and nothing but the listed forms a client', async () => {
    await using service = await startService({
      policy: (policy) => ({
        ...policy,
        registration: { ...policy.registration, registrationsPerAddressMax: 100_000 },
      }),
    })
    const uri = fc.oneof(
      fc.constantFrom(loopback, 'http://localhost:1/', 'https://claude.ai/api/mcp/auth_callback'),
      fc.webUrl({ withFragments: true }),
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.tuple(fc.ipV4Extended(), fc.nat(70_000)).map(([host, port]) => `http://${host}:${port}/`),
      fc.ipV6().map((host) => `http://[${host}]:8000/cb`),
    )
    const body = fc.oneof(
      fc.record(
        {
          client_name: fc.oneof(
            fc.constantFrom('Claude', 'Cursor'),
            fc.string({ unit: 'binary' }),
            fc.jsonValue(),
          ),
          redirect_uris: fc.oneof(fc.array(uri, { maxLength: 12 }), fc.jsonValue()),
          grant_types: fc.oneof(
            fc.array(fc.constantFrom('authorization_code', 'implicit', '')),
            fc.jsonValue(),
          ),
          scope: fc.oneof(fc.constantFrom('openid account:read', ''), fc.jsonValue()),
        },
        { requiredKeys: [] },
      ),
      fc.jsonValue(),
    )
    const listed =
      /^(cursor:\/\/anysphere\.cursor-mcp\/oauth\/callback|http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d+)?\/[^?#]*|https:\/\/(claude\.ai|claude\.com|www\.cursor\.com|chatgpt\.com)\/.*)$/
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const { status, body: answer } = await post(service.url, JSON.stringify(value))
        if (status === 400) {
          return ['invalid_client_metadata', 'invalid_redirect_uri'].includes(
            String(answer['error']),
          )
        }
        const uris = answer['redirect_uris']
        return status === 201 && Array.isArray(uris) && uris.every((each) => listed.test(each))
      }),
      { numRuns: 400 },
    )
    const raw = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.json())
    await fc.assert(
      fc.asyncProperty(raw, async (text) => (await post(service.url, text)).status === 400),
      { numRuns: 200 },
    )
  })
})

forEachStorage('a registered loopback client', (start) => {
  // [RFC 8252 §7.3; Authentication 6.3]
  it('goes through the whole flow on another port, with operator scopes for an operator (Authentication 6)', async () => {
    await using service = await start()
    const { body } = await post(service.url, real.claudeCode)
    const asking = {
      clientId: String(body['client_id']),
      redirectUri: 'http://localhost:61000/callback',
      scope: 'openid profile courses:read courses:write',
      person: olivia,
    }
    const { tokens, configuration } = await getTokens(service.url, asking)
    expect(tokens.scope?.split(' ')).to.have.members(asking.scope.split(' '))
    expect(tokens.claims()?.['org_id']).to.be.a('string')
    const refreshed = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
    expect(refreshed.access_token).to.be.a('string').and.not.equal(tokens.access_token)
  })
})

describe('a registered loopback client', () => {
  const service = sharedService()
  const register = async (body: Body = real.claudeCode) =>
    String((await post(service().url, body)).body['client_id'])

  // [What the service does 7; Errors 3; 19]
  it('that asks for account:read is refused with invalid_scope (Errors 3)', async () => {
    const clientId = await register(real.mcpRemote)
    const redirectUri = 'http://localhost:3335/oauth/callback'
    const error = await rejection(
      signIn(service().url, { clientId, redirectUri, scope: 'openid account:read' }).then(
        ({ exchange }) => exchange(),
      ),
    )
    expect(error).to.include({ error: 'invalid_scope' })
  })

  it('may ask for more than its registration named, up to what its origin may have (design 6)', async () => {
    const clientId = await register({ redirect_uris: [loopback], scope: 'openid account:read' })
    const { tokens } = await getTokens(service().url, {
      clientId,
      redirectUri: loopback,
      scope: 'openid coupons:write',
      person: olivia,
    })
    expect(tokens.scope).to.include('coupons:write')
  })

  it('is told a scope that is narrowed and not refused (design 6)', async () => {
    const scopeOf = async (scope: string) =>
      (await post(service().url, { redirect_uris: [loopback], scope })).body['scope']
    expect(await scopeOf('openid account:read coupons:read offline_access')).to.equal(
      'openid coupons:read',
    )
    expect(String(await scopeOf('account:read')))
      .to.include('openid')
      .and.not.include('account:')
  })

  // [RFC 9700 §4.14.2]
  it('gets a refresh token only when it did not say that it wants none', async () => {
    const clientId = await register({
      redirect_uris: [loopback],
      grant_types: ['authorization_code', 'implicit'],
    })
    const { tokens } = await getTokens(service().url, {
      clientId,
      redirectUri: loopback,
      scope: 'openid',
      resource: false,
    })
    expect(tokens.refresh_token).to.equal(undefined)
  })

  // [RFC 8252 §8.6; RFC 6749 §10.2; RFC 7591 §5; class silent re-consent; threat 6]
  it('is asked for consent each time, because any program could claim to be it (design 17)', async () => {
    const clientId = await register()
    const redirectUri = real.claudeCode.redirect_uris[0]
    const asking = { clientId, redirectUri, scope: 'openid', resource: false, person: sam } as const
    const { person, start } = await signIn(service().url, asking)
    const again = await person.open(start)
    expect(again.status).to.equal(303)
    expect(again.headers.get('location')).to.match(/^\/interaction\/[^/]+\/consent$|\/consent$/)
  })

  // [RFC 8252 §8.4; class open redirect]
  it('cannot be sent to another path or host than it registered', async () => {
    const clientId = await register()
    for (const redirect of [
      'http://localhost:54212/other',
      'http://127.0.0.1:54212/callback',
      'http://localhost.evil.example:54212/callback',
      'http://localhost:54212@evil.example/callback',
      'http://localhost:54212/callback/',
      'http://localhost:54212/callback?x=1',
    ]) {
      const address = new URL(service().url + paths.authorization)
      address.search = new URLSearchParams({
        client_id: clientId,
        redirect_uri: redirect,
        response_type: 'code',
        scope: 'openid',
        code_challenge: 'a'.repeat(43),
        code_challenge_method: 'S256',
      }).toString()
      const response = await fetch(address, { redirect: 'manual' })
      expect([response.status, response.headers.get('location')], redirect).to.deep.equal([
        400,
        null,
      ])
    }
  })
})

describe('registration: what a body cannot bring about', () => {
  const service = sharedService()

  // [RFC 6749 §10.1; RFC 8252 §8.5; class token handling]
  it('a secret for a public client', async () => {
    const { url } = service()
    const { body } = await post(url, {
      ...real.codex,
      token_endpoint_auth_method: 'client_secret_basic',
      client_secret: 'chosen-by-the-client',
    })
    expect(body).to.include({ token_endpoint_auth_method: 'none' })
    expect(body).not.to.have.any.keys('client_secret', 'client_secret_expires_at')
    const response = await fetch(url + paths.token, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: 'a',
        client_id: String(body['client_id']),
        client_secret: 'chosen-by-the-client',
      }),
    })
    const refused = (await response.json()) as Body
    expect([response.status, refused['error']]).to.deep.equal([401, 'invalid_client'])
  })

  // [RFC 6749 §2.2; RFC 9700 §4.15.1; class client privilege]
  it('the id, origin, site or state of another client', async () => {
    const { url } = service()
    const { body } = await post(url, {
      ...real.codex,
      client_id: 'integration-claude',
      origin: 'site',
      x_origin: 'site',
      x_site_id: 'sit_northlight',
      x_reviewed: true,
      scope: 'openid account:read account:write',
    })
    expect(body['client_id']).to.match(/^loopback_/)
    expect(body['scope']).to.equal('openid')
    const { exchange } = await signIn(url, {
      clientId: String(body['client_id']),
      redirectUri: real.codex.redirect_uris[0],
      scope: 'openid account:read',
    })
    expect(await rejection(exchange())).to.include({ error: 'invalid_scope' })
  })

  // [class XSS]
  it('markup in a page', async () => {
    const { url } = service()
    const name = `<img src=x onerror="alert('1')">&"'`
    const { body } = await post(url, { ...real.codex, client_name: name })
    const redirectUri = real.codex.redirect_uris[0]
    const asking = { clientId: String(body['client_id']), redirectUri, scope: 'openid' } as const
    const { person, start } = await signIn(url, { ...asking, resource: false })
    const location = (await person.open(start)).headers.get('location') ?? ''
    const page = await (await person.open(new URL(location, url))).text()
    expect(page).to.include('id="consent-page"').and.include('&#60;img src=x')
    expect(page).not.to.include('<img')
  })
})

describe('registration where localhost is switched off (design 7)', () => {
  it('refuses localhost, and forgets the clients that have nothing else', async () => {
    await using service = await startService({
      policy: (policy) => ({ ...policy, loopbackHosts: ['127.0.0.1', '[::1]'] }),
    })
    const refused = await post(service.url, real.claudeCode)
    expect([refused.status, refused.body['error']]).to.deep.equal([400, 'invalid_redirect_uri'])
    expect((await post(service.url, real.codex)).status).to.equal(201)
  })
})

describe('registration while the storage is out of reach (design 24)', () => {
  it('answers 503 with Retry-After, and no client', async () => {
    await using service = await startService()
    await service.service.stores.database.kysely.destroy()
    const { status, body, response } = await post(service.url, real.claudeCode)
    expect([status, body['error']]).to.deep.equal([503, 'temporarily_unavailable'])
    expect(response.headers.has('retry-after')).to.equal(true)
  })
})

describe('a platform that an operator switched off', () => {
  it('is not registered', async () => {
    await using service = await startService()
    await service.service.stores.database.kysely
      .insertInto('integration_override')
      .values({ client_id: 'integration-claude', disabled_at: 1, note: null, updated_at: 1 })
      .execute()
    const { status, body } = await post(service.url, real.claude)
    expect([status, body['error']]).to.deep.equal([400, 'invalid_client_metadata'])
  })
})

async function rejection(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => {
      throw new Error('it was not refused')
    },
    (error: unknown) => error,
  )
}

/** Sends a body without saying how long it is, and answers with the status. */
async function postInChunks(url: string, body: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const outgoing = httpRequest(url + paths.registration, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
  })
  outgoing.once('response', (response) => {
    response.resume()
    resolve(response.statusCode)
  })
  outgoing.once('error', reject)
  outgoing.end(body)
  return await promise
}
