import { expect } from 'chai'

import { paths } from '../src/platform/http/paths.ts'
import { asPortal, introspect, obtain, refresh, type Tokens, userinfo } from './support/client.ts'
import { notes, portal, resourceServer, startService } from './support/gatehouse.ts'
import { sharedService } from './support/shared-service.ts'
import { postForm, refusalOf } from './support/wire.ts'

const inactive = { active: false }

describe('POST /api/oauth/introspect', () => {
  const service = sharedService()

  // [Discovery 2.2]
  it('shows a registered resource server every token of this origin [design 13]', async () => {
    const { url } = service()
    const mine = await obtain(url)
    const others = await obtain(url, { authorization: asPortal, token: asPortal })
    for (const [tokens, client] of [
      [mine, notes.clientId],
      [others, portal.clientId],
    ] as const) {
      for (const token of [tokens.access_token, tokens.refresh_token]) {
        expect((await introspect(url, token)).body).to.include({ active: true, client_id: client })
      }
    }
  })

  // [RFC 7662 §2.3; RFC 7662 §4]
  it('shows a client its own tokens, and of a foreign one only that it is not active [design 13]', async () => {
    const { url } = service()
    const own = await obtain(url, { authorization: asPortal, token: asPortal })
    const foreign = await obtain(url)
    const seen = await introspect(url, own.access_token, asPortal)
    expect(seen.body).to.include({ active: true, sub: 'per_sam' })
    for (const token of [foreign.access_token, foreign.refresh_token]) {
      expect((await introspect(url, token, asPortal)).body).to.deep.equal(inactive)
    }
    const secretless = { client_id: notes.clientId, client_secret: undefined }
    expect((await introspect(url, own.access_token, secretless)).body).to.deep.equal(inactive)
    expect((await introspect(url, foreign.access_token, secretless)).body).to.include({
      active: true,
    })
  })

  // [RFC 7662 §5]
  it('never lets a member see the roles of an access token without profile', async () => {
    const { url } = service()
    const tokens = await obtain(url, { authorization: { scope: 'openid account:read' } })
    const { body } = await introspect(url, tokens.access_token)
    expect(body).to.include({ active: true }).and.not.have.any.keys('roles', 'org_id')
  })

  // [RFC 7662 §2.2]
  it('says nothing of what never was a token', async () => {
    const { url } = service()
    const { id_token: signed = '' } = await obtain(url)
    for (const token of ['nonsense', 'x'.repeat(2000), 'ä ö', '\0', signed, 'e30.e30.x']) {
      const answer = await introspect(url, token)
      expect(answer.status).to.equal(200)
      expect(answer.body).to.deep.equal(inactive)
    }
  })

  it('tells of a signed token nothing to somebody who did not authenticate', async () => {
    const { url } = service()
    const { id_token: signed = '' } = await obtain(url)
    const answer = await introspect(url, signed, { client_secret: 'x' })
    expect(refusalOf(answer)).to.equal('401 invalid_client')
  })

  it('finds a token whatever hint came with it [RFC 7662 §2.1]', async () => {
    const { url } = service()
    const tokens = await obtain(url)
    for (const token_type_hint of ['refresh_token', 'access_token', 'nonsense']) {
      for (const token of [tokens.access_token, tokens.refresh_token]) {
        const { body } = await introspect(url, token, { token_type_hint })
        expect(body).to.include({ active: true })
      }
    }
  })

  describe('demands client authentication [RFC 7662 §2.1]', () => {
    const token = 'nonsense'
    for (const [title, fields] of [
      ['none', { token }],
      ['an unknown client', { token, client_id: 'nobody' }],
      ['no secret', { token, client_id: resourceServer.clientId }],
      ['a wrong secret', { token, client_id: resourceServer.clientId, client_secret: 'x' }],
      ['a secret of a public client', { token, client_id: notes.clientId, client_secret: 'x' }],
    ] as const) {
      it(`401 for ${title}`, async () => {
        const answer = await postForm(service().url + paths.introspection, fields)
        expect(refusalOf(answer)).to.equal('401 invalid_client')
        expect(answer.body).to.have.property('error_description')
        expect(answer.headers.get('cache-control')).to.equal('no-store')
      })
    }

    it('by HTTP Basic too', async () => {
      const { url } = service()
      const tokens = await obtain(url)
      const { clientId, clientSecret } = resourceServer
      const secret = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
      const answer = await postForm(
        url + paths.introspection,
        { token: tokens.access_token },
        { authorization: `Basic ${secret}` },
      )
      expect(answer.body).to.include({ active: true, aud: url })
    })
  })

  it('400 invalid_request without a token', async () => {
    const { clientId: client_id, clientSecret: client_secret } = resourceServer
    const address = service().url + paths.introspection
    const answer = await postForm(address, { client_id, client_secret })
    expect(refusalOf(answer)).to.equal('400 invalid_request')
  })

  it('does not keep its answers [RFC 7662 §4]', async () => {
    const answer = await introspect(service().url, 'nonsense')
    expect(answer.headers.get('cache-control')).to.equal('no-store')
  })

  // [RFC 7662 §4]
  it('tells the roles that the person holds now [design 15]', async () => {
    await using changing = await startService()
    const { url } = changing
    const { kysely } = changing.service.stores.database
    const tokens = await obtain(url)
    await kysely
      .updateTable('site_role')
      .set({ role: 'lecturer' })
      .where('person_id', '=', 'per_sam')
      .execute()
    const { body } = await introspect(url, tokens.access_token)
    expect(body).to.deep.include({ roles: ['lecturer'], org_id: 'sit_northlight' })
  })

  it('calls the tokens of a client that is gone from the database inactive, and does not fail', async () => {
    await using changing = await startService()
    const { url } = changing
    const tokens = await obtain(url)
    await changing.service.stores.database.kysely
      .deleteFrom('oauth_application')
      .where('client_id', '=', notes.clientId)
      .execute()
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      const answer = await introspect(url, token)
      expect(answer.status).to.equal(200)
      expect(answer.body).to.deep.equal(inactive)
    }
    expect(refusalOf(await userinfo(url, tokens.access_token))).to.equal('401 invalid_token')
    expect(refusalOf(await refresh(url, tokens.refresh_token))).to.equal('401 invalid_client')
  })

  it('calls a used refresh token inactive, and its successor active', async () => {
    const { url } = service()
    const tokens = await obtain(url)
    const next = (await refresh(url, tokens.refresh_token)).body as Tokens
    expect((await introspect(url, tokens.refresh_token)).body).to.deep.equal(inactive)
    expect((await introspect(url, next.refresh_token)).body).to.include({ active: true })
  })
})
