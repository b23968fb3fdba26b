import {
  protectedResourcePath,
  protectedResources,
} from '../src/api/discovery/protected-resource.ts'
import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { askToAuthorize, authorizeUrl, locationOf } from './support/client.ts'
import { sam, startService } from './support/gatehouse.ts'
import { cookiesIn, hiddenField, targetOf } from './support/page-person.ts'
import { SECRET, sharedService } from './support/storages.ts'
import { encode, FORM, get, preflight, send, type WireRequest } from './support/wire.ts'

const documents = [paths.openidConfiguration, paths.authorizationServer]
const resourceDocuments = protectedResources.map((resource) => protectedResourcePath(resource))
const origin = 'https://elsewhere.example'

describe('the authorization server metadata', () => {
  const service = sharedService()

  // [RFC 8414 §2; OpenID Connect Discovery §3; RFC 7636 §4.2; RFC 9700 §2.1.1; RFC 9700 §4.7.1;
  // RFC 9207 §3; RP-Initiated Logout §2.1; MCP Authorization §Overview;
  // MCP Authorization §Authorization Code Protection; OpenID Connect Core §8]
  // [Discovery 3.2; Discovery 7; Authentication 7.2; RFC 9470 §7; RFC 9728 §4]
  // [RFC 8414 §3; RFC 8414 §5; OpenID Connect Discovery §4; MCP Authorization §Authorization Server
  // Metadata Discovery; Discovery 3.1; Discovery 4]
  // [RFC 9449 §5.1; RFC 9126 §5; Back-Channel Logout §2.1; What the service does 15]
  it('is equal at both paths, and names every endpoint, grant type, scope and claim, and nothing unsupported [design 20]', async () => {
    const { url } = service()
    const { text, body: metadata } = await get(url + paths.authorizationServer)
    expect((await get(url + paths.openidConfiguration)).text).to.equal(text)
    expect(metadata).to.deep.include({
      issuer: url,
      authorization_endpoint: `${url}/oauth/authorize`,
      token_endpoint: `${url}/api/oauth/token`,
      userinfo_endpoint: `${url}/api/oauth/userinfo`,
      revocation_endpoint: `${url}/api/oauth/revoke`,
      introspection_endpoint: `${url}/api/oauth/introspect`,
      registration_endpoint: `${url}/api/oauth/register`,
      end_session_endpoint: `${url}/oauth/logout`,
      jwks_uri: `${url}/api/oauth/jwks`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'none', 'client_secret_basic'],
      id_token_signing_alg_values_supported: ['ES256'],
      subject_types_supported: ['public'],
      authorization_response_iss_parameter_supported: true,
      protected_resources: [url],
      service_documentation: `${url}/auth.md`,
    })
    expect(metadata.client_id_metadata_document_supported ?? false).to.be.a('boolean')
    expect(metadata.scopes_supported).to.have.members(scopeNames()).and.have.lengthOf(38)
    expect(metadata.scopes_supported).not.to.include('offline_access')
    const claims = ['sub', 'email', 'name', 'picture', 'org_id', 'roles', 'iss', 'auth_time']
    expect(metadata.claims_supported).to.include.members([...claims, 'acr', 'amr'])
    const acrs = ['password', 'mfa', 'identity-provider'].map((name) => `urn:gatehouse:${name}`)
    expect(metadata.acr_values_supported).to.include.members(acrs)
    expect(Object.keys(metadata).join()).to.not.match(
      /agent|pushed|dpop|device|backchannel|frontchannel|check_session|ciba|mtls|identity_endpoint/,
    )
    expect(metadata.request_parameter_supported ?? false).to.equal(false)
    expect(metadata.request_uri_parameter_supported ?? false).to.equal(false)
    expect(text).not.to.match(/register_uri|id-jag|assertion/i)
  })

  // [RFC 9126 §5; What the service does 16]
  it('has no endpoint for agents, devices or back-channel sign-in [design 25]', async () => {
    const absent = ['/agent/auth', '/agent/identity', '/request', '/device/auth', '/backchannel']
    for (const path of absent) {
      for (const method of ['GET', 'POST'])
        expect((await send(service().url, { method, path })).status, path).to.equal(404)
    }
  })

  const ofEngine: string[] = [...documents, paths.jwks]
  for (const path of [...ofEngine, ...resourceDocuments, paths.authMd, paths.openApi]) {
    // [OpenID Connect Discovery §4; RFC 9728 §3; RFC 9728 §3.1; Discovery 1; MCP Authorization
    // §Protected Resource Metadata Discovery Requirements; RFC 8414 §3.1; RFC 8414 §3.2; RFC 9728
    // §3.2; OpenID Connect Discovery §4.1; OpenID Connect Discovery §4.2]
    it(`${path} is public, cacheable and complete [design 28]`, async () => {
      const { url } = service()
      const { status, headers, text, body } = await get(url + path, { origin })
      expect(status).to.equal(200)
      expect(headers.get('access-control-allow-origin')).to.equal('*')
      expect(headers.get('cache-control')).to.equal('public, max-age=300')
      expect(headers.get('etag')).to.match(/^"[\w-]+"$/)
      expect(Number(headers.get('content-length'))).to.equal(Buffer.byteLength(text))
      const type =
        path === paths.authMd ? /^text\/markdown; charset=utf-8$/ : /^application\/.*json/
      expect(headers.get('content-type')).to.match(type)
      if (path !== paths.authMd) expectNoEmptyMember(body)

      const head = await send(url, { method: 'HEAD', path })
      expect([head.status, head.text]).to.deep.equal([200, ''])
      for (const name of ['etag', 'content-length', 'content-type', 'cache-control'])
        expect(head.headers.get(name), name).to.equal(headers.get(name))

      const again = await get(url + path, ['If-None-Match', headers.get('etag') ?? ''])
      expect([again.status, again.text]).to.deep.equal([304, ''])
      for (const name of ['etag', 'cache-control', 'access-control-allow-origin'])
        expect(again.headers.get(name), name).to.equal(headers.get(name))
      expect((await get(url + path, ['If-None-Match', '"x"'])).status).to.equal(200)
    })

    it(`${path} answers the preflight of a browser [design 28]`, async () => {
      const asked = { origin, names: 'mcp-protocol-version' }
      const answer = await preflight(service().url + path, 'GET', asked)
      const isOurs = !ofEngine.includes(path)
      const allowed = answer.headers.get('access-control-allow-origin')
      expect([answer.status, allowed]).to.deep.equal([204, isOurs ? '*' : origin])
      const names = answer.headers.get('access-control-allow-headers')
      expect(names).to.match(isOurs ? /^\*$/ : /mcp-protocol-version/i)
      if (isOurs) expect(answer.headers.get('access-control-allow-methods')).to.equal('GET, HEAD')
    })
  }
})

describe('behind a proxy that terminates TLS', () => {
  const baseUrl = 'https://campus.example'
  const environment = { BASE_URL: baseUrl, SECRET, TRUST_PROXY: 'yes', DEMO_DATA: 'on' }
  const service = sharedService({ environment })
  const headers = [
    ...['Host', 'campus.example', 'X-Forwarded-Proto', 'https', 'X-Forwarded-For', '192.0.2.1'],
  ]
  const ask = async (request: WireRequest) =>
    await send(`http://127.0.0.1:${service().config.port}`, request)
  const read = async (path: string) => await ask({ path, headers })

  // [RFC 8414 §2; RFC 8414 §3.3; RFC 6749 §10.9; RFC 7009 §2; RFC 9207 §2.3; OpenID Connect Discovery §4.3;
  // MCP Authorization §Communication Security; Endpoints 1]
  it('advertises {base_url}, with Strict-Transport-Security, although requests come over HTTP [design 1]', async () => {
    for (const path of documents) {
      const { body } = await read(path)
      expect(body.issuer).to.equal(baseUrl)
      const urls = Object.entries<string>(body).filter(([name]) => /(_endpoint|_uri)$/.test(name))
      expect(urls).to.have.length.above(6)
      for (const [name, address] of urls) expect(new URL(address).origin, name).to.equal(baseUrl)
    }
    const { body } = await read(paths.protectedResource)
    expect(body).to.deep.include({ resource: baseUrl, authorization_servers: [baseUrl] })
    const { pathname, search } = authorizeUrl(baseUrl, { prompt: 'none' })
    const { searchParams } = locationOf(await read(pathname + search))
    expect(searchParams.getAll('iss')).to.deep.equal([baseUrl])
    expect((await read('/')).headers.get('strict-transport-security')).to.match(/max-age=\d{8}/)
  })

  // [RFC 6750 §5.2; RFC 9700 §4.12]
  it('signs in with redirects by 303, and cookies that are HttpOnly, SameSite=Lax and Secure, the session as __Host-', async () => {
    const cookies: string[] = []
    const statuses: number[] = []
    let next = authorizeUrl(baseUrl)
    const step = async (form?: URLSearchParams) => {
      const answer = await ask({
        path: next.pathname + next.search,
        headers: [...headers, 'Cookie', cookiesIn(cookies), ...(form ? FORM : [])],
        ...(form && { method: 'POST', body: form }),
      })
      cookies.push(...answer.headers.getSetCookie())
      statuses.push(answer.status)
      if (answer.status === 303) next = targetOf(answer, baseUrl)
      return answer.text
    }
    await step()
    const csrf = hiddenField(await step())
    await step(encode({ csrf, ...sam }))
    await step()
    expect(statuses).to.deep.equal([303, 200, 303, 303])
    expect(cookies.length).to.be.greaterThan(2)
    for (const cookie of cookies) {
      expect(cookie)
        .to.match(/; httponly/i)
        .and.match(/; secure/i)
        .and.match(/; samesite=lax/i)
        .and.not.match(/; domain=/i)
    }
    const session = cookies.filter((cookie) => cookie.startsWith('__Host-gatehouse='))
    expect(session).to.have.lengthOf(1)
    expect(session[0]).to.match(/; path=\/;/)
  })
})

it('the service has no demo client without demo data', async () => {
  await using empty = await startService({ environment: { DEMO_DATA: 'off' } })
  expect((await askToAuthorize(empty.url)).status).to.equal(400)
})

function expectNoEmptyMember(document: object): void {
  for (const [name, value] of Object.entries(document)) {
    expect(value, name).to.not.equal(null).and.not.equal('')
    if (Array.isArray(value)) expect(value, name).to.have.length.above(0)
  }
}
