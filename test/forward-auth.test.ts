import { expect } from 'chai'

import { forwardAuthFor, paths } from '../src/platform/http/paths.ts'
import { verdictFor } from '../src/resource/resource-server/forward-auth-route.ts'
import { headersOf, identityHeaders } from '../src/resource/resource-server/identity-headers.ts'
import { accessToken } from './support/access-token.ts'
import { asClaude, asResourceServer, introspect, obtain } from './support/client.ts'
import { notes, olivia, portal, resourceServer, sam, startService } from './support/gatehouse.ts'
import { registerResourceServer } from './support/resource-servers.ts'
import { sharedService } from './support/shared-service.ts'
import { type Answer, basic, bearer, FORM, refusalOf, send } from './support/wire.ts'

const [, credentials = ''] = basic(resourceServer.clientId, resourceServer.clientSecret)
const asProxy = ['X-Forward-Auth-Client', credentials]

describe('forward auth', () => {
  const service = sharedService()

  const ask = async (headers: readonly string[], query = '', method = 'GET'): Promise<Answer> =>
    await send(service().url, { method, path: paths.forwardAuth + query, headers })

  it('lets a request with a good token pass, and says who it is from', async () => {
    const { access_token } = await obtain(service().url)
    const answer = await ask([...asProxy, ...bearer(access_token)], '?scope=account:read%20openid')
    expect(answer.status).to.equal(200)
    expect(answer.text).to.equal('')
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

  it('releases no more than the scopes of the token, and empties the other headers', async () => {
    const { url } = service()
    const { access_token } = await obtain(url, { authorization: { scope: 'account:read' } })
    const forged = ['X-Auth-Email', 'olivia@northlight.example', 'X-Auth-Roles', 'owner']
    const answer = await ask([...asProxy, ...bearer(access_token), ...forged])
    expect(identityIn(answer)).to.deep.equal({
      'X-Auth-Subject': 'per_sam',
      'X-Auth-Client': notes.clientId,
      'X-Auth-Scope': 'account:read',
      ...{ 'X-Auth-Org': '', 'X-Auth-Roles': '', 'X-Auth-Name': '', 'X-Auth-Email': '' },
    })
  })

  it('answers every method alike, and below its address too, where the query is the caller\u2019s', async () => {
    const { url } = service()
    const { access_token } = await obtain(url, { authorization: { scope: 'openid account:read' } })
    const headers = [...asProxy, ...bearer(access_token), 'X-Forward-Auth-Scope', 'account:read']
    const path = `${forwardAuthFor}orders/../7?scope=account:write&access_token=x`
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await send(url, { method, path, headers })
      expect(answer.status, method).to.equal(200)
      expect(answer.headers.get('x-auth-subject'), method).to.equal('per_sam')
    }
    const demanding = [...asProxy, ...bearer(access_token), 'X-Forward-Auth-Scope', 'account:write']
    expect(refusalOf(await send(url, { path, headers: demanding }))).to.equal(
      '403 insufficient_scope',
    )
    expect(refusalOf(await send(url, { path: forwardAuthFor, headers: asProxy }))).to.equal(
      '401 invalid_token',
    )
  })

  describe('refuses the caller with the challenge of a protected resource', () => {
    const metadata = () => `resource_metadata="${service().url}${paths.protectedResource}"`

    it('401 without a token, with the scopes to ask for', async () => {
      const answer = await ask(asProxy, '?scope=account:read')
      expect(refusalOf(answer)).to.equal('401 invalid_token')
      expect(answer.headers.get('www-authenticate'))
        .to.match(/^Bearer /)
        .and.include('scope="account:read"')
        .and.include(metadata())
    })

    it('401 for nonsense, a refresh token, an id_token, one that is bound to nothing, two tokens', async () => {
      const { url } = service()
      const tokens = await obtain(url)
      const unbound = await obtain(url, {
        authorization: { ...asClaude, scope: 'openid profile', resource: undefined },
        token: { ...asClaude, resource: undefined },
        person: olivia,
      })
      for (const caller of [
        bearer('nonsense'),
        bearer(tokens.refresh_token),
        bearer(tokens.id_token ?? ''),
        bearer(unbound.access_token),
        [...bearer(tokens.access_token), ...bearer(tokens.access_token)],
        basic(resourceServer.clientId, resourceServer.clientSecret),
      ]) {
        const answer = await ask([...asProxy, ...caller])
        expect(refusalOf(answer)).to.equal('401 invalid_token')
        expect(answer.headers.get('www-authenticate')).to.include(metadata())
        expect(answer.headers.get('x-auth-subject')).to.equal(null)
        expect(answer.headers.get('cache-control')).to.equal('no-store')
      }
    })

    it('403 where a scope is missing, with those held and needed', async () => {
      const { url } = service()
      const { access_token } = await obtain(url)
      const answer = await ask([...asProxy, ...bearer(access_token)], '?scope=account:write')
      expect(refusalOf(answer)).to.equal('403 insufficient_scope')
      const challenge = answer.headers.get('www-authenticate')
      expect(challenge).to.include('error="insufficient_scope"').and.include(metadata())
      expect(challenge).to.match(/scope="[^"]*account:read account:write[^"]*"/)
    })

    it('401 at the first use after the person removed the application', async () => {
      await using changing = await startService()
      const { access_token } = await obtain(changing.url)
      const request = { path: paths.forwardAuth, headers: [...asProxy, ...bearer(access_token)] }
      expect((await send(changing.url, request)).status).to.equal(200)
      const { kysely } = changing.service.stores.database
      await kysely
        .updateTable('person')
        .set({ disabled_at: 1 })
        .where('id', '=', 'per_sam')
        .execute()
      expect(refusalOf(await send(changing.url, request))).to.equal('401 invalid_token')
    })
  })

  describe('refuses a proxy with 400 and no challenge, whoever calls through it [137]', () => {
    const wrong = (value: string) => ['X-Forward-Auth-Client', value]
    const pair = (id: string, secret: string) => wrong(basic(id, secret)[1] ?? '')
    for (const [why, headers] of [
      ['without credentials', []],
      [
        'with the caller\u2019s header only',
        basic(resourceServer.clientId, resourceServer.clientSecret),
      ],
      ['with a wrong secret', pair(resourceServer.clientId, 'x')],
      ['that nobody knows', pair('nobody', 'x')],
      ['that is an application', pair(portal.clientId, portal.clientSecret)],
      [
        'that is a public client',
        wrong(`Basic ${Buffer.from(`${notes.clientId}:`).toString('base64')}`),
      ],
      ['with a token', wrong('Bearer x')],
      ['with nonsense', wrong('\u00e9')],
      ['twice', [...asProxy, ...asProxy]],
    ] as const) {
      it(why, async () => {
        const { access_token } = await obtain(service().url)
        const token = headers[0] === 'Authorization' ? [] : bearer(access_token)
        for (const caller of [token, []]) {
          const answer = await ask([...headers, ...caller])
          expect(refusalOf(answer)).to.equal('400 invalid_client')
          expect(answer.headers.get('www-authenticate')).to.equal(null)
          expect(answer.headers.get('x-auth-subject')).to.equal(null)
          expect(answer.headers.get('cache-control')).to.equal('no-store')
        }
      })
    }

    it('that names a scope which does not exist', async () => {
      const answer = await ask(asProxy, '?scope=account:reed%22%0d%0aX:y')
      expect(refusalOf(answer)).to.equal('400 invalid_scope')
      expect(answer.text).not.to.include('reed')
    })
  })

  describe('and introspection show a resource server of a site', () => {
    // [threat 27]
    it('the tokens of its site, and of another site and of none only that they are worth nothing [139]', async () => {
      const { url } = service()
      const here = await registerResourceServer(service(), 'sit_northlight')
      const elsewhere = await registerResourceServer(service(), 'sit_open_kitchen')
      const member = await obtain(url)
      const signedIn = await obtain(url, {
        authorization: { ...asClaude, scope: 'openid profile' },
        token: asClaude,
        person: olivia,
      })
      const told = async (token: string, server: typeof here) => {
        const fields = { client_id: server.clientId, client_secret: server.secret }
        const { body } = await introspect(url, token, fields)
        const [, client = ''] = basic(server.clientId, server.secret)
        const { status } = await ask(['X-Forward-Auth-Client', client, ...bearer(token)])
        return [body.active, status]
      }
      expect(await told(member.access_token, here)).to.deep.equal([true, 200])
      expect(await told(member.access_token, elsewhere)).to.deep.equal([false, 401])
      expect(await told(member.refresh_token, elsewhere)).to.deep.equal([false, 401])
      expect((await introspect(url, signedIn.access_token)).body)
        .to.include({ active: true })
        .and.not.have.property('org_id')
      expect(await told(signedIn.access_token, here)).to.deep.equal([false, 401])
    })

    it('nothing once it is disabled or deleted', async () => {
      await using changing = await startService()
      const { url } = changing
      const { access_token } = await obtain(url)
      const { kysely } = changing.service.stores.database
      const request = { path: paths.forwardAuth, headers: [...asProxy, ...bearer(access_token)] }
      for (const column of ['disabled_at', 'deleted_at'] as const) {
        expect((await send(url, request)).status).to.equal(200)
        const change = async (value: number | null) =>
          await kysely
            .updateTable('oauth_application')
            .set({ [column]: value })
            .where('client_id', '=', resourceServer.clientId)
            .execute()
        await change(1)
        expect(refusalOf(await send(url, request)), column).to.equal('400 invalid_client')
        expect(refusalOf(await introspect(url, access_token))).to.equal('401 invalid_client')
        await change(null)
      }
    })
  })

  it('refuses a token that is bound to a key, of which a proxy can show nothing (RFC 9449 §7)', () => {
    const proxy = { clientId: 'rs', origin: 'resource_server', state: 'active' } as const
    const asked = { ...proxy, authMethod: 'client_secret_post' } as const
    const verdictOn = (jkt: string | undefined) =>
      verdictFor(asked, { kind: 'good', token: accessToken({ jkt }) }).kind
    expect(verdictOn('a-key')).to.equal('invalid')
    expect(verdictOn(undefined)).to.equal('granted')
  })

  it('writes no token and no credentials into the log', async () => {
    const { access_token } = await obtain(service().url)
    await ask([...asProxy, ...bearer(access_token)], `?access_token=${access_token}`)
    await ask([...asProxy, ...bearer(`${access_token}x`)])
    const log = service().log.join('')
    expect(log).to.include('"route":"forward-auth"')
    for (const secret of [access_token, credentials, asResourceServer.client_secret]) {
      expect(log.includes(secret)).to.equal(false)
    }
  })

  it('reads no body, however large it is', async () => {
    const { access_token } = await obtain(service().url)
    const answer = await send(service().url, {
      method: 'POST',
      path: paths.forwardAuth,
      headers: [...FORM, ...asProxy, ...bearer(access_token)],
      body: 'x'.repeat(100_000),
    })
    expect(answer.status).to.equal(200)
  })

  describe('headers', () => {
    const of = (claims: object) => headersOf({ sub: 's', ...claims })

    // [threat 28]
    it('hold nothing by which a name could end them, begin another or be taken for two [141]', async () => {
      await using changing = await startService()
      const name = 'Sam\r\nX-Auth-Roles: owner\0, "L\u00f8" 100% \u{1F393}\ud800'
      const { kysely } = changing.service.stores.database
      await kysely
        .updateTable('person')
        .set({ name: name.replace('\0', '').toWellFormed() })
        .where('id', '=', 'per_sam')
        .execute()
      const { access_token } = await obtain(changing.url, { person: sam })
      const answer = await send(changing.url, {
        path: paths.forwardAuth,
        headers: [...asProxy, ...bearer(access_token)],
      })
      const value = answer.headers.get('x-auth-name') ?? ''
      expect(decodeURIComponent(value)).to.equal(name.replace('\0', '').toWellFormed())
      expect(value)
        .to.match(/^[\x21-\x7e]+$/)
        .and.not.match(/[",\s]/)
      expect(answer.headers.get('x-auth-roles')).to.equal('student')
      expect(of({ name })['X-Auth-Name']).to.match(/^[\x21-\x7e]+$/)
    })

    it('have one space between the items of a list', () => {
      expect(of({ roles: ['owner', 'a b'] })['X-Auth-Roles']).to.equal('owner a%20b')
    })

    it('cut a name between two characters, and an id never', () => {
      const long = `${'x'.repeat(509)}\u{1F393}\u{1F393}`
      expect(of({ name: long })['X-Auth-Name']).to.equal('x'.repeat(509))
      expect(decodeURIComponent(of({ name: '\u00f8'.repeat(400) })['X-Auth-Name'] ?? '')).to.equal(
        '\u00f8'.repeat(85),
      )
      expect(of({ sub: 'x'.repeat(2000) })['X-Auth-Subject']).to.have.length(2000)
    })
  })
})

function identityIn({ headers }: Answer): Record<string, string | null> {
  return Object.fromEntries(Object.keys(identityHeaders).map((name) => [name, headers.get(name)]))
}
