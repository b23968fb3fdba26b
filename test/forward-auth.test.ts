import { forwardAuthFor, paths } from '../src/platform/http/paths.ts'
import { verdictFor } from '../src/resource/resource-server/forward-auth-route.ts'
import { headersOf, identityHeaders } from '../src/resource/resource-server/identity-headers.ts'
import { accessToken } from './support/access-token.ts'
import { asClaude, asResourceServer, introspect, obtain } from './support/client.ts'
import { change } from './support/database.ts'
import { notes, olivia, portal, resourceServer, startService } from './support/gatehouse.ts'
import { registerResourceServer } from './support/resource-servers.ts'
import { sharedService } from './support/storages.ts'
import { type Answer, basic, bearer, FORM, get, refusalOf, send } from './support/wire.ts'

const asCaller = basic(resourceServer.clientId, resourceServer.clientSecret)
const asProxy = ['X-Forward-Auth-Client', asCaller[1] ?? '']
const proxyOf = (id: string, key: string) => ['X-Forward-Auth-Client', basic(id, key)[1] ?? '']

describe('forward auth', () => {
  const service = sharedService()
  const url = () => service().url

  const ask = async (headers: readonly string[], query = '') =>
    await send(url(), { path: paths.forwardAuth + query, headers })

  const expectNoIdentity = ({ headers }: Answer) => {
    expect(headers.get('x-auth-subject')).to.equal(null)
    expect(headers.get('cache-control')).to.equal('no-store')
  }
  const identityIn = ({ headers }: Answer) =>
    Object.fromEntries(Object.keys(identityHeaders).map((name) => [name, headers.get(name)]))

  it('lets a request with a good token pass, and names its person and client', async () => {
    const { access_token } = await obtain(url())
    const answer = await ask([...asProxy, ...bearer(access_token)], '?scope=account:read%20openid')
    expect([answer.status, answer.text]).to.deep.equal([200, ''])
    expect(identityIn(answer)).to.deep.equal({
      'X-Auth-Subject': 'per_sam',
      'X-Auth-Client': notes.clientId,
      'X-Auth-Scope': 'openid profile email account:read',
      'X-Auth-Org': 'sit_northlight',
      'X-Auth-Roles': 'student',
      'X-Auth-Name': 'Sam%20Student',
      'X-Auth-Email': 'sam@northlight.example',
    })
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    expect(answer.headers.get('set-cookie')).to.equal(null)
    expect(answer.headers.get('access-control-allow-origin')).to.equal(null)
  })

  it('releases only the scopes of the token, and empties the other headers', async () => {
    const { access_token } = await obtain(url(), { authorization: { scope: 'account:read' } })
    const forged = ['X-Auth-Email', 'olivia@northlight.example', 'X-Auth-Roles', 'owner']
    expect(identityIn(await ask([...asProxy, ...bearer(access_token), ...forged]))).to.deep.equal({
      'X-Auth-Subject': 'per_sam',
      'X-Auth-Client': notes.clientId,
      'X-Auth-Scope': 'account:read',
      ...{ 'X-Auth-Org': '', 'X-Auth-Roles': '', 'X-Auth-Name': '', 'X-Auth-Email': '' },
    })
  })

  it('serves every method, and every path below its own', async () => {
    const authorization = { scope: 'openid account:read' }
    const { access_token } = await obtain(url(), { authorization })
    const withToken = [...asProxy, ...bearer(access_token), 'X-Forward-Auth-Scope']
    const path = `${forwardAuthFor}orders/../7?scope=account:write&access_token=x`
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await send(url(), { method, path, headers: [...withToken, 'account:read'] })
      expect(answer.status, method).to.equal(200)
      expect(answer.headers.get('x-auth-subject'), method).to.equal('per_sam')
    }
    const demanding = await send(url(), { path, headers: [...withToken, 'account:write'] })
    expect(refusalOf(demanding)).to.equal('403 insufficient_scope')
    expect(refusalOf(await get(url() + forwardAuthFor, asProxy))).to.equal('401 invalid_token')
  })

  it('refuses a caller with the challenge of a protected resource', async () => {
    const tokens = await obtain(url())
    const token = bearer(tokens.access_token)
    const asked = { ...asClaude, scope: 'openid profile', resource: undefined }
    const unbound = await obtain(url(), { authorization: asked, token: asked, person: olivia })
    const lacking = /scope="[^"]*account:read account:write[^"]*"/
    for (const [caller, refusal, scope, query] of [
      [[], '401 invalid_token', /scope="account:read"/, '?scope=account:read'],
      [bearer('nonsense'), '401 invalid_token'],
      [bearer(tokens.refresh_token), '401 invalid_token'],
      [bearer(tokens.id_token ?? ''), '401 invalid_token'],
      [bearer(unbound.access_token), '401 invalid_token'],
      [[...token, ...token], '401 invalid_token'],
      [asCaller, '401 invalid_token'],
      [token, '403 insufficient_scope', lacking, '?scope=account:write'],
    ] as const) {
      const answer = await ask([...asProxy, ...caller], query)
      expect(refusalOf(answer)).to.equal(refusal)
      expect(answer.headers.get('www-authenticate'))
        .to.match(/^Bearer /)
        .and.match(scope ?? /error="invalid_token"/)
        .and.include(`resource_metadata="${url()}${paths.protectedResource}"`)
      expectNoIdentity(answer)
    }
  })

  for (const [why, headers] of [
    ['without credentials', []],
    ["with the caller's header only", asCaller],
    ['with a wrong secret', proxyOf(resourceServer.clientId, 'x')],
    ['that is unknown', proxyOf('nobody', 'x')],
    ['that is an application', proxyOf(portal.clientId, portal.clientSecret)],
    ['that is a public client', proxyOf(notes.clientId, '')],
    ['with a token', ['X-Forward-Auth-Client', 'Bearer x']],
    ['with malformed credentials', ['X-Forward-Auth-Client', '\u00e9']],
    ['with credentials twice', [...asProxy, ...asProxy]],
  ] as const) {
    it(`refuses a proxy ${why} with 400 and no challenge [137]`, async () => {
      const { access_token } = await obtain(url())
      for (const caller of [headers === asCaller ? [] : bearer(access_token), []]) {
        const answer = await ask([...headers, ...caller])
        expect(refusalOf(answer)).to.equal('400 invalid_client')
        expect(answer.headers.get('www-authenticate')).to.equal(null)
        expectNoIdentity(answer)
      }
    })
  }

  it('refuses a proxy that demands an unknown scope', async () => {
    const answer = await ask(asProxy, '?scope=account:reed%22%0d%0aX:y')
    expect(refusalOf(answer)).to.equal('400 invalid_scope')
    expect(answer.text).not.to.match(/reed|commas/)
    expect((await ask(asProxy, '?scope=account:read,profile')).text)
      .to.include('use only scopes listed under scopes_supported')
      .and.include('separate scopes with spaces, not commas')
  })

  // [threat 27]
  it('and introspection tell a resource server only about tokens of its site [139]', async () => {
    const here = await registerResourceServer(service(), 'sit_northlight')
    const elsewhere = await registerResourceServer(service(), 'sit_open_kitchen')
    const member = await obtain(url())
    const authorization = { ...asClaude, scope: 'openid profile' }
    const signedIn = await obtain(url(), { authorization, token: asClaude, person: olivia })
    expect((await introspect(url(), signedIn.access_token)).body)
      .to.include({ active: true })
      .and.not.have.property('org_id')
    for (const [token, { clientId, secret }, active, status] of [
      [member.access_token, here, true, 200],
      [member.access_token, elsewhere, false, 401],
      [member.refresh_token, elsewhere, false, 401],
      [signedIn.access_token, here, false, 401],
    ] as const) {
      const fields = { client_id: clientId, client_secret: secret }
      expect((await introspect(url(), token, fields)).body.active).to.equal(active)
      expect((await ask([...proxyOf(clientId, secret), ...bearer(token)])).status).to.equal(status)
    }
  })

  it('refuses a token that is bound to a key, because a proxy does not present a proof (RFC 9449 §7)', () => {
    const proxy = { clientId: 'rs', origin: 'resource_server', state: 'active' } as const
    const asked = { ...proxy, authMethod: 'client_secret_post' } as const
    const verdictOn = (jkt: string | undefined) =>
      verdictFor(asked, { kind: 'good', token: accessToken({ jkt }) }).kind
    expect([verdictOn('a-key'), verdictOn(undefined)]).to.deep.equal(['invalid', 'granted'])
  })

  it('does not log tokens or credentials, or read the body', async () => {
    const { access_token } = await obtain(url())
    const headers = [...FORM, ...asProxy, ...bearer(access_token)]
    const path = `${paths.forwardAuth}?access_token=${access_token}`
    const answer = await send(url(), { method: 'POST', path, headers, body: 'x'.repeat(100_000) })
    expect(answer.status).to.equal(200)
    await ask([...asProxy, ...bearer(`${access_token}x`)])
    const log = service().log.join('')
    expect(log).to.include('"route":"forward-auth"')
    for (const secret of [access_token, asProxy[1] ?? '', asResourceServer.client_secret])
      expect(log.includes(secret)).to.equal(false)
  })
})

describe('identity headers', () => {
  const of = (claims: object) => headersOf({ sub: 's', ...claims })

  // [threat 28; 141]
  it('percent-encode everything that could end a header or begin another', async () => {
    await using changing = await startService()
    const name = 'Sam\r\nX-Auth-Roles: owner\0, "L\u00f8" 100% \u{1F393}\ud800'
    const stored = name.replace('\0', '').toWellFormed()
    await change(changing.kysely, 'person', { id: 'per_sam' }, { name: stored })
    const headers = [...asProxy, ...bearer((await obtain(changing.url)).access_token)]
    const { headers: told } = await get(changing.url + paths.forwardAuth, headers)
    const value = told.get('x-auth-name') ?? ''
    expect(decodeURIComponent(value)).to.equal(stored)
    expect(value).to.match(/^[\x21\x23-\x2b\x2d-\x7e]+$/)
    expect(told.get('x-auth-roles')).to.equal('student')
    expect(of({ name })['X-Auth-Name']).to.match(/^[\x21-\x7e]+$/)
  })

  it('separate the items of a list by one space, and truncate a name between two characters, but never an id', () => {
    expect(of({ roles: ['owner', 'a b'] })['X-Auth-Roles']).to.equal('owner a%20b')
    const long = `${'x'.repeat(509)}\u{1F393}\u{1F393}`
    expect(of({ name: long })['X-Auth-Name']).to.equal('x'.repeat(509))
    const encoded = of({ name: '\u00f8'.repeat(400) })['X-Auth-Name'] ?? ''
    expect(decodeURIComponent(encoded)).to.equal('\u00f8'.repeat(85))
    expect(of({ sub: 'x'.repeat(2000) })['X-Auth-Subject']).to.have.length(2000)
  })
})
