import { expect } from 'chai'

import {
  asPortal,
  authorizeUrl,
  introspect,
  obtain,
  refresh,
  revoke,
  type Tokens,
  userinfo,
} from './support/client.ts'
import { portal } from './support/gatehouse.ts'
import { signIn } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { type Answer, refusalOf } from './support/wire.ts'

describe('POST /api/oauth/revoke', () => {
  const service = sharedService()

  // [RFC 7009 §2.2; Not shown 6]
  it('200 with an empty JSON object for live, unknown, foreign and revoked tokens alike [design 14]', async () => {
    const { url } = service()
    const own = await obtain(url)
    const foreign = await obtain(url, { authorization: asPortal, token: asPortal })
    const answers: Answer[] = []
    const { access_token: live, id_token: signed = '' } = own
    for (const token of [live, live, foreign.access_token, 'nonsense', signed]) {
      answers.push(await revoke(url, token))
    }
    expect(answers).to.have.lengthOf(5)
    for (const { status, headers, body } of answers) {
      expect(status).to.equal(200)
      expect(headers.get('content-type')).to.match(/^application\/json/)
      expect(body).to.deep.equal({})
    }
  })

  // [RFC 7009 §2.1; class token handling]
  it('leaves the token of a foreign client active [design 14]', async () => {
    const { url } = service()
    const foreign = await obtain(url, { authorization: asPortal, token: asPortal })
    await revoke(url, foreign.access_token)
    await revoke(url, foreign.refresh_token)
    expect((await userinfo(url, foreign.access_token)).status).to.equal(200)
    expect((await refresh(url, foreign.refresh_token, asPortal)).status).to.equal(200)
  })

  // [Revocation 2]
  it('ends the access token at once, and the refresh token with it', async () => {
    const { url } = service()
    const tokens = await obtain(url)
    await revoke(url, tokens.access_token)
    expect(refusalOf(await userinfo(url, tokens.access_token))).to.equal('401 invalid_token')
    expect((await introspect(url, tokens.access_token)).body).to.deep.equal({ active: false })
    expect(refusalOf(await refresh(url, tokens.refresh_token))).to.equal('400 invalid_grant')
  })

  // [RFC 7009 §2; RFC 7009 §2.1; Revocation 2]
  it('ends with a refresh token every token that was made of the grant', async () => {
    const { url } = service()
    const tokens = await obtain(url)
    const next = (await refresh(url, tokens.refresh_token)).body as Tokens
    await revoke(url, next.refresh_token)
    for (const token of [tokens.access_token, next.access_token]) {
      expect((await userinfo(url, token)).status).to.equal(401)
    }
    expect(refusalOf(await refresh(url, next.refresh_token))).to.equal('400 invalid_grant')
  })

  it('ends the grant by a refresh token that was replaced already', async () => {
    const { url } = service()
    const tokens = await obtain(url)
    const next = (await refresh(url, tokens.refresh_token)).body as Tokens
    await revoke(url, tokens.refresh_token)
    expect((await userinfo(url, next.access_token)).status).to.equal(401)
    expect(refusalOf(await refresh(url, next.refresh_token))).to.equal('400 invalid_grant')
  })

  it('does not mind a wrong hint, or one it does not know [RFC 7009 §2.1]', async () => {
    const { url } = service()
    for (const token_type_hint of ['refresh_token', 'nonsense']) {
      const tokens = await obtain(url)
      const answer = await revoke(url, tokens.access_token, { token_type_hint })
      expect(answer.status).to.equal(200)
      expect((await userinfo(url, tokens.access_token)).status).to.equal(401)
    }
  })

  // [RFC 7009 §2.1]
  it('asks a confidential client for its secret, and revokes nothing without', async () => {
    const { url } = service()
    const tokens = await obtain(url, { authorization: asPortal, token: asPortal })
    const bare = await revoke(url, tokens.access_token, { client_id: portal.clientId })
    expect(refusalOf(bare)).to.equal('401 invalid_client')
    expect((await userinfo(url, tokens.access_token)).status).to.equal(200)
    expect((await revoke(url, tokens.access_token, asPortal)).status).to.equal(200)
    expect((await userinfo(url, tokens.access_token)).status).to.equal(401)
  })

  it('asks for consent anew after the grant was ended', async () => {
    const { url } = service()
    const { person, exchange } = await signIn(url)
    const tokens = await exchange()
    await revoke(url, tokens.refresh_token ?? '')
    const answer = await person.open(authorizeUrl(url))
    expect(answer.headers.get('location')).to.match(/^\/interaction\/[\w-]+\/consent$/)
  })
})
