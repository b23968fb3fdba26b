import { expect } from 'chai'

import { asClaude, obtain, userinfo } from './support/client.ts'
import { noor, olivia, startService } from './support/gatehouse.ts'
import { sharedService } from './support/shared-service.ts'
import type { Fields } from './support/wire.ts'

describe('/api/oauth/userinfo', () => {
  const service = sharedService()

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
})
