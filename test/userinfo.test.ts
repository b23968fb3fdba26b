import { expect } from 'chai'

import { paths } from '../src/platform/http/paths.ts'
import { asClaude, obtain, userinfo } from './support/client.ts'
import { bindTo } from './support/families.ts'
import { noor, notes, olivia, startService } from './support/gatehouse.ts'
import { sharedService } from './support/shared-service.ts'
import { answerOf, type Fields, postForm, refusalOf } from './support/wire.ts'

describe('/api/oauth/userinfo', () => {
  const service = sharedService()

  const address = () => service().url + paths.userinfo
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

  // [UserInfo 1]
  it('accepts the token that is bound to the origin [design 4]', async () => {
    const { url } = service()
    const tokens = await obtain(url)
    const answer = await userinfo(url, tokens.access_token)
    expect(answer.status).to.equal(200)
    expect(answer.body).to.have.all.keys('sub', 'email', 'name', 'picture', 'org_id', 'roles')
    expect(answer.headers.get('cache-control')).to.equal('no-store')
  })

  // [RFC 6750 §2.2; OpenID Connect Core §5.3]
  it('accepts POST, with the token in the header or in the form [OpenID Connect Core §5.3.1]', async () => {
    const { access_token } = await obtain(service().url)
    const byHeader = await postForm(address(), {}, bearer(access_token))
    const byForm = await postForm(address(), { access_token })
    for (const answer of [byHeader, byForm]) {
      expect(answer.status).to.equal(200)
      expect(answer.body).to.include({ sub: 'per_sam' })
    }
  })

  // [OpenID Connect Core §5.4; Scopes 4; Scopes 5]
  describe('releases what the scopes say, and no more', () => {
    const releases: readonly (readonly [scope: string, claims: readonly string[]])[] = [
      ['openid', ['sub']],
      ['openid email', ['sub', 'email']],
      ['openid profile', ['sub', 'name', 'picture', 'org_id', 'roles']],
      ['openid account:read', ['sub']],
    ]
    for (const [scope, claims] of releases) {
      it(scope, async () => {
        const { url } = service()
        const tokens = await obtain(url, { authorization: { scope } })
        const { body } = await userinfo(url, tokens.access_token)
        expect(body).to.have.all.keys(...claims)
      })
    }

    // [OpenID Connect Core §5.4]
    it('all that is known of the person, the same in the id_token [OpenID Connect Core §5.1]', async () => {
      const { url } = service()
      const authorization = { scope: 'openid profile email' }
      const tokens = await obtain(url, { authorization, person: noor })
      const { body } = await userinfo(url, tokens.access_token)
      expect(body).to.include({
        ...{ email_verified: true, preferred_username: 'noor', locale: 'nl-NL' },
        zoneinfo: 'Europe/Amsterdam',
      })
      const daysAgo = (Date.now() / 1000 - body.updated_at) / 86_400
      expect(daysAgo).to.be.within(29, 31)
      const [, claims = ''] = (tokens.id_token ?? '').split('.')
      expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).to.deep.include(body)
      const profile = await obtain(url, { authorization: { scope: 'openid email' }, person: noor })
      const { body: less } = await userinfo(url, profile.access_token)
      expect(less).to.have.all.keys('sub', 'email', 'email_verified')
    })

    it('and nothing of a site for a plain sign-in, which has none', async () => {
      const { url } = service()
      const authorization: Fields = { ...asClaude, scope: 'openid profile', resource: undefined }
      const token = { ...asClaude, resource: undefined }
      const tokens = await obtain(url, { authorization, token, person: olivia })
      const { body } = await userinfo(url, tokens.access_token)
      expect(body).to.have.all.keys('sub', 'name', 'picture')
    })
  })

  // [RFC 6750 §3; OpenID Connect Core §5.3.3; RFC 9728 §5.1; Discovery 8]
  describe('challenges, and points to the protected-resource metadata (Discovery)', () => {
    const pointer = () =>
      `resource_metadata="${service().url}/.well-known/oauth-protected-resource"`

    it('401 without a token', async () => {
      const answer = await answerOf(await fetch(address()))
      expect(answer.status).to.equal(401)
      const challenge = answer.headers.get('www-authenticate')
      expect(challenge)
        .to.match(/^Bearer /)
        .and.include(pointer())
      // RFC 6750 §3.1: no error code when no credential was sent.
      expect(challenge).not.to.include('error=')
    })

    it('401 invalid_token for a token that nobody issued', async () => {
      const answer = await userinfo(service().url, 'nonsense')
      expect(refusalOf(answer)).to.equal('401 invalid_token')
      const challenge = answer.headers.get('www-authenticate')
      expect(challenge)
        .to.match(/^Bearer /)
        .and.include('error="invalid_token"')
      expect(challenge).to.include(pointer())
    })

    it('401 invalid_token for a refresh token', async () => {
      const { url } = service()
      const tokens = await obtain(url)
      const answer = await userinfo(url, tokens.refresh_token)
      expect(refusalOf(answer)).to.equal('401 invalid_token')
    })

    // [RFC 9700 §2.3; RFC 9700 §4.10.2]
    it('401 invalid_token for a token that is bound to another origin', async () => {
      const { url, service: running } = service()
      const tokens = await obtain(url)
      expect((await userinfo(url, tokens.access_token)).status).to.equal(200)
      const [family = ''] = tokens.access_token.split('.')
      await bindTo('https://elsewhere.example', family, running.stores.database)
      expect(refusalOf(await userinfo(url, tokens.access_token))).to.equal('401 invalid_token')
    })

    it('403 insufficient_scope for a token without openid', async () => {
      const { url } = service()
      const tokens = await obtain(url, { authorization: { scope: 'account:read' } })
      const answer = await userinfo(url, tokens.access_token)
      expect(refusalOf(answer)).to.equal('403 insufficient_scope')
      const challenge = answer.headers.get('www-authenticate')
      expect(challenge).to.include('error="insufficient_scope"').and.include(pointer())
    })

    for (const authorization of ['Bearer', 'Bearer a b', 'nonsense']) {
      // [RFC 6750 §3.1]
      it(`400 invalid_request for "Authorization: ${authorization}"`, async () => {
        const answer = await answerOf(await fetch(address(), { headers: { authorization } }))
        expect(refusalOf(answer)).to.equal('400 invalid_request')
      })
    }

    it('JSON whatever is accepted', async () => {
      const headers = { ...bearer('nonsense'), accept: 'text/html' }
      const answer = await answerOf(await fetch(address(), { headers }))
      expect(refusalOf(answer)).to.equal('401 invalid_token')
    })

    // [RFC 6750 §2.3; RFC 6750 §5.3; RFC 9700 §4.3.2]
    it('takes no token from the address, which ends in logs', async () => {
      const { url } = service()
      const tokens = await obtain(url)
      const answer = await fetch(`${address()}?access_token=${tokens.access_token}`)
      expect(answer.status).to.be.within(400, 401)
    })
  })

  it('tells the roles that the person holds now [design 15]', async () => {
    await using changing = await startService()
    const { kysely } = changing.service.stores.database
    const tokens = await obtain(changing.url)
    const roles = async () =>
      ((await userinfo(changing.url, tokens.access_token)).body as { roles: string[] }).roles
    expect(await roles()).to.deep.equal(['student'])
    await kysely
      .insertInto('site_role')
      .values({ person_id: 'per_sam', site_id: 'sit_northlight', role: 'admin', granted_at: 1 })
      .execute()
    expect(await roles()).to.deep.equal(['admin', 'student'])
    await kysely
      .deleteFrom('site_role')
      .where('person_id', '=', 'per_sam')
      .where('role', '=', 'student')
      .execute()
    expect(await roles()).to.deep.equal(['admin'])
  })

  it('tells the name and address of this moment', async () => {
    await using changing = await startService()
    const tokens = await obtain(changing.url)
    await changing.service.stores.database.kysely
      .updateTable('person')
      .set({ name: 'Samuel', picture: null })
      .where('id', '=', 'per_sam')
      .execute()
    const { body } = await userinfo(changing.url, tokens.access_token)
    expect(body).to.include({ name: 'Samuel' }).and.not.have.property('picture')
  })

  it('writes no token into the log', async () => {
    const { url, log } = service()
    const tokens = await obtain(url, { authorization: { redirect_uri: notes.redirectUri } })
    await userinfo(url, tokens.access_token)
    const lines = log.join('\n')
    expect(lines).to.include('userinfo')
    for (const secret of [tokens.access_token, tokens.refresh_token, tokens.id_token ?? '-']) {
      expect(lines).not.to.include(secret)
    }
  })
})
