import { request } from 'node:http'

import { expect } from 'chai'

import {
  protectedResourcePath,
  protectedResources,
} from '../src/api/discovery/protected-resource.ts'
import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { authorizeUrl } from './support/client.ts'
import { notes, type RunningService, sam, startService } from './support/gatehouse.ts'
import { sharedService } from './support/shared-service.ts'
import { encode } from './support/wire.ts'

type Metadata = Record<string, unknown>

const documents = [paths.openidConfiguration, paths.authorizationServer]

describe('the authorization server metadata', () => {
  const service = sharedService()

  const read = async (path: string): Promise<Metadata> =>
    (await (await fetch(service().url + path)).json()) as Metadata

  // [RFC 8414 §3; RFC 8414 §5; OpenID Connect Discovery §4;
  // MCP Authorization §Authorization Server Metadata Discovery]
  // [Discovery 4]
  it('is the same document at both addresses, byte for byte [design 20]', async () => {
    const [openid, oauth] = await Promise.all(
      documents.map(async (path) => await (await fetch(service().url + path)).text()),
    )
    expect(openid).to.equal(oauth)
  })

  // [RFC 8414 §2; OpenID Connect Discovery §3; RFC 7636 §4.2; RFC 9700 §2.1.1; RFC 9700 §4.7.1;
  // RFC 9207 §3; RP-Initiated Logout §2.1; MCP Authorization §Overview;
  // MCP Authorization §Authorization Code Protection]
  // [Discovery 3.2; Discovery 7; Authentication 7.2]
  it('names every endpoint, grant type and scope, and is authoritative (Discovery)', async () => {
    const { url } = service()
    const metadata = await read(paths.authorizationServer)
    expect(metadata).to.deep.include({
      issuer: url,
      authorization_endpoint: `${url}/oauth/authorize`,
      token_endpoint: `${url}/api/oauth/token`,
      userinfo_endpoint: `${url}/api/oauth/userinfo`,
      revocation_endpoint: `${url}/api/oauth/revoke`,
      introspection_endpoint: `${url}/api/oauth/introspect`,
      end_session_endpoint: `${url}/oauth/logout`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'none'],
      id_token_signing_alg_values_supported: ['ES256'],
      authorization_response_iss_parameter_supported: true,
      service_documentation: `${url}/auth.md`,
    })
    expect(metadata['jwks_uri'])
      .to.be.a('string')
      .and.match(new RegExp(`^${url}/`))
    expect(metadata['client_id_metadata_document_supported'] ?? false).to.be.a('boolean')
  })

  it('lists all 38 scopes of the catalogue [design 20]', async () => {
    const { scopes_supported: listed } = await read(paths.openidConfiguration)
    expect(listed).to.have.members(scopeNames()).and.have.lengthOf(38)
    expect(listed).not.to.include('offline_access')
  })

  it('lists every claim that it releases', async () => {
    const { claims_supported: listed } = await read(paths.openidConfiguration)
    expect(listed).to.include.members(['sub', 'email', 'name', 'picture', 'org_id', 'roles'])
    expect(listed).to.include.members(['iss', 'auth_time'])
  })

  // [RFC 9449 §5.1; RFC 9126 §5; Back-Channel Logout §2.1; What the service does 15]
  it('advertises nothing that it does not do [design 20]', async () => {
    const metadata = await read(paths.openidConfiguration)
    const untrue = Object.keys(metadata).filter((name) =>
      /agent|pushed|dpop|device|backchannel|frontchannel|check_session|ciba|mtls|identity_endpoint/.test(
        name,
      ),
    )
    expect(untrue).to.deep.equal([])
    expect(metadata['request_parameter_supported'] ?? false).to.equal(false)
    expect(metadata['request_uri_parameter_supported'] ?? false).to.equal(false)
    expect(JSON.stringify(metadata)).not.to.match(/register_uri|id-jag|assertion/i)
  })

  // [RFC 8414 §2]
  it('advertises only addresses that answer', async () => {
    const metadata = await read(paths.openidConfiguration)
    const endpoints = Object.entries(metadata).filter(([name]) => /(_endpoint|_uri)$/.test(name))
    expect(endpoints.length).to.be.greaterThan(6)
    for (const [name, address] of endpoints) {
      const answers = await Promise.all(
        ['GET', 'POST'].map(async (method) => await fetch(String(address), { method })),
      )
      expect(
        answers.map(({ status }) => status !== 404),
        name,
      ).to.include(true)
    }
  })

  for (const path of [...documents, paths.jwks]) {
    // [OpenID Connect Discovery §4]
    it(`${path} may be read from any page, kept, and asked for again [design 28]`, async () => {
      const headers = { origin: 'https://elsewhere.example' }
      const answer = await fetch(service().url + path, { headers })
      expect(answer.status).to.equal(200)
      expect(answer.headers.get('access-control-allow-origin')).to.equal('*')
      expect(answer.headers.get('cache-control')).to.equal('public, max-age=300')
      const etag = answer.headers.get('etag') ?? ''
      const again = await fetch(service().url + path, { headers: { 'if-none-match': etag } })
      expect(again.status).to.equal(304)
      const head = await fetch(service().url + path, { method: 'HEAD' })
      expect([head.status, head.headers.get('etag')]).to.deep.equal([200, etag])
    })

    it(`${path} answers the preflight of a browser application [design 28]`, async () => {
      const answer = await fetch(service().url + path, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://elsewhere.example',
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'mcp-protocol-version',
        },
      })
      expect(answer.status).to.be.within(200, 204)
      expect(answer.headers.get('access-control-allow-origin')).to.be.oneOf([
        '*',
        'https://elsewhere.example',
      ])
      expect(answer.headers.get('access-control-allow-headers')).to.match(
        /\*|mcp-protocol-version/i,
      )
    })
  }

  // [OpenID Connect Discovery §3; OpenID Connect Core §10.1; Authentication 7.3]
  it('publishes two ES256 keys with a kid each, and no private part (Authentication 7)', async () => {
    const { keys } = (await read(paths.jwks)) as { keys: Record<string, string>[] }
    expect(keys).to.have.lengthOf(2)
    for (const key of keys) {
      expect(key).to.include({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })
      expect(key).to.have.property('kid').that.is.not.empty
      expect(key).not.to.have.any.keys('d', 'k', 'p', 'q')
    }
    expect(new Set(keys.map(({ kid }) => kid)).size).to.equal(2)
  })

  // [MCP Authorization §Authorization Server Location]
  it('agrees with the protected-resource metadata on who issues tokens (RFC 9728)', async () => {
    for (const resource of protectedResources) {
      const found = await read(protectedResourcePath(resource))
      expect(found['authorization_servers']).to.deep.equal([service().url])
    }
    expect((await read(paths.protectedResource))['resource']).to.equal(service().url)
  })

  for (const [title, headers] of [
    ['Host', { host: 'evil.example' }],
    ['X-Forwarded-Host', { 'x-forwarded-host': 'evil.example' }],
    ['X-Forwarded-Proto', { 'x-forwarded-proto': 'https' }],
    ['Forwarded', { forwarded: 'host=evil.example;proto=https' }],
  ] as const) {
    // [RFC 8414 §6.2]
    it(`is the same whatever ${title} a caller sends [design 1]`, async () => {
      for (const path of [...documents, ...protectedResources.map(protectedResourcePath)]) {
        const { body } = await send(service(), path, { headers })
        expect(body).to.equal(await (await fetch(service().url + path)).text())
      }
    })
  }
})

describe('behind a proxy that speaks TLS', () => {
  const baseUrl = 'https://campus.example'
  const service = sharedService({
    environment: {
      BASE_URL: baseUrl,
      SECRET: 'only-for-tests-only-for-tests-only-for-tests',
      TRUST_PROXY: 'yes',
      DEMO_DATA: 'on',
    },
  })
  const headers = {
    host: 'campus.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-for': '192.0.2.1',
  }

  // [RFC 8414 §2; RFC 8414 §3.3; RFC 6749 §10.9; RFC 7009 §2; OpenID Connect Discovery §4.3;
  // MCP Authorization §Communication Security]
  it('advertises {base_url} everywhere, although it is reached by plain HTTP [design 1]', async () => {
    for (const path of documents) {
      const metadata = JSON.parse((await send(service(), path, { headers })).body) as Metadata
      expect(metadata['issuer']).to.equal(baseUrl)
      const addresses = Object.entries(metadata).filter(([name]) => /(_endpoint|_uri)$/.test(name))
      expect(addresses.length).to.be.greaterThan(6)
      for (const [name, address] of addresses) {
        expect(new URL(String(address)).origin, name).to.equal(baseUrl)
      }
    }
    const resource = JSON.parse((await send(service(), paths.protectedResource, { headers })).body)
    expect(resource).to.deep.include({ resource: baseUrl, authorization_servers: [baseUrl] })
  })

  // [RFC 6750 §5.2]
  it('sets cookies that are httpOnly, SameSite=Lax and Secure, the session as __Host-', async () => {
    const { pathname, search } = authorizeUrl(baseUrl)
    const started = await send(service(), pathname + search, { headers })
    expect(started.status).to.equal(303)
    const cookies = await signIn(service(), headers, started)
    expect(cookies.length).to.be.greaterThan(2)
    for (const cookie of cookies) {
      expect(cookie)
        .to.match(/; httponly/i)
        .and.match(/; secure/i)
        .and.match(/; samesite=lax/i)
      expect(cookie).not.to.match(/; domain=/i)
    }
    const session = cookies.filter((cookie) => cookie.startsWith('__Host-gatehouse='))
    expect(session).to.have.lengthOf(1)
    expect(session[0]).to.match(/; path=\/;/)
  })

  it('tells browsers to come by TLS only', async () => {
    const { headers: answered } = await send(service(), '/', { headers })
    expect(answered['strict-transport-security']).to.match(/max-age=\d{8}/)
  })

  // [RFC 9207 §2.3]
  it('answers with its own name in iss', async () => {
    const { pathname, search } = authorizeUrl(baseUrl, { prompt: 'none' })
    const { headers: answered } = await send(service(), pathname + search, { headers })
    const { searchParams } = new URL(String(answered['location']))
    expect(searchParams.getAll('iss')).to.deep.equal([baseUrl])
  })

  // [MCP Authorization §Canonical Server URI]
  it('takes resource with scheme and host in any case, and with the default port [design 3]', async () => {
    const errorFor = async (resource: string) => {
      const fields = { prompt: 'none', resource }
      const { pathname, search } = authorizeUrl(baseUrl, fields)
      const { headers: answered } = await send(service(), pathname + search, { headers })
      return new URL(String(answered['location'])).searchParams.get('error')
    }
    for (const spelling of [
      'https://CAMPUS.example',
      'HTTPS://campus.Example:443/',
      'https://campus.example:443/mcp',
      'https://Campus.example/member/graphql',
    ]) {
      expect(await errorFor(spelling), spelling).to.equal('login_required')
    }
    for (const spelling of [
      'http://campus.example',
      'https://campus.example:8443',
      'https://campus.example.',
      'https://www.campus.example',
    ]) {
      expect(await errorFor(spelling), spelling).to.equal('invalid_target')
    }
  })

  // [RFC 9700 §4.13]
  it('knows the caller by the last address that the proxy wrote', async () => {
    const forwarded = { ...headers, 'x-forwarded-for': '198.51.100.7, 192.0.2.44' }
    await send(service(), paths.health, { headers: forwarded })
    expect(service().log.join('')).to.include('"ip":"192.0.2.44"').and.not.include('198.51.100.7')
  })
})

describe('without a proxy', () => {
  it('sets cookies that are httpOnly and SameSite=Lax on http too', async () => {
    await using service = await startService()
    const { pathname, search } = authorizeUrl(service.url)
    const cookies = await signIn(service, {}, await send(service, pathname + search))
    for (const cookie of cookies) {
      expect(cookie)
        .to.match(/; httponly/i)
        .and.match(/; samesite=lax/i)
        .and.not.match(/; secure/i)
    }
    expect(cookies.some((cookie) => cookie.startsWith('gatehouse='))).to.equal(true)
  })

  // [RFC 9700 §4.13; RFC 8414 §6.2; threat 37]
  it('believes nobody who says that they speak for another address [design 1]', async () => {
    await using service = await startService()
    await send(service, paths.health, { headers: { 'x-forwarded-for': '198.51.100.7' } })
    expect(service.log.join('')).not.to.include('198.51.100.7')
  })

  it(`has no client ${notes.clientId} where no demo data is`, async () => {
    await using service = await startService({ environment: { DEMO_DATA: 'off' } })
    const answer = await fetch(authorizeUrl(service.url), { redirect: 'manual' })
    expect(answer.status).to.equal(400)
  })
})

interface Sent {
  readonly status: number | undefined
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: string
}

interface Sending {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** Like fetch, which would not send a Host header of one's own. */
async function send(
  { config }: RunningService,
  path: string,
  sending: Sending = {},
): Promise<Sent> {
  const { promise, resolve, reject } = Promise.withResolvers<Sent>()
  const { body, ...options } = sending
  const outgoing = request({ host: '127.0.0.1', port: config.port, path, ...options }, (answer) => {
    answer.setEncoding('utf8')
    let text = ''
    answer.on('data', (chunk: string) => {
      text += chunk
    })
    answer.once('end', () => {
      resolve({ status: answer.statusCode, headers: answer.headers, body: text })
    })
  })
  outgoing.once('error', reject)
  outgoing.end(body)
  return await promise
}

/** Goes from the first redirect through the sign-in page, and returns every cookie on the way. */
async function signIn(
  service: RunningService,
  headers: Record<string, string>,
  started: Sent,
): Promise<string[]> {
  const cookies = [...setCookies(started)]
  const cookie = () => cookies.map((line) => line.split(';')[0]).join('; ')
  const step = async (path: string, sending: Sending = {}) => {
    const all = { ...headers, ...sending.headers, cookie: cookie() }
    const answer = await send(service, path, { ...sending, headers: all })
    cookies.push(...setCookies(answer))
    return answer
  }
  const login = pathOf(started)
  const page = await step(login)
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)?.[1]
  const submitted = await step(login, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: encode({ csrf, login: sam.login, password: sam.password }).toString(),
  })
  expect(submitted.status).to.equal(303)
  const resumed = await step(pathOf(submitted))
  expect(resumed.status).to.equal(303)
  return cookies
}

function setCookies({ headers }: Sent): string[] {
  return [headers['set-cookie'] ?? []].flat()
}

function pathOf({ headers }: Sent): string {
  const { pathname, search } = new URL(String(headers['location']), 'http://any')
  return pathname + search
}
