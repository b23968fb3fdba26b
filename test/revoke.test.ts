import {
  asPortal,
  introspect,
  obtain,
  obtainTokens,
  openAuthorization,
  refresh,
  revoke,
  type Tokens,
  userinfo,
} from './support/client.ts'
import { portal } from './support/gatehouse.ts'
import { sharedService } from './support/storages.ts'
import { refusalOf } from './support/wire.ts'

describe('POST /api/oauth/revoke', () => {
  const service = sharedService()

  // [RFC 7009 §5; RFC 7009 §2.1; RFC 7009 §2.2; Not shown 6; class token handling]
  it('answers alike for live, revoked, foreign and unknown tokens, and ends no foreign one [design 14]', async () => {
    const { url } = service()
    const { access_token: live, id_token = '' } = await obtain(url)
    const foreign = await obtain(url, { authorization: asPortal, token: asPortal })
    for (const token of [live, live, foreign.access_token, 'nonsense', id_token]) {
      const { status, headers, body } = await revoke(url, token)
      expect([status, body]).to.deep.equal([200, {}])
      expect(headers.get('content-type')).to.match(/^application\/json/)
    }
    expect((await userinfo(url, foreign.access_token)).status).to.equal(200)
  })

  for (const [what, which, kind, token_type_hint] of [
    ['an access token', 'first', 'access_token'],
    ['an access token with the hint refresh_token', 'first', 'access_token', 'refresh_token'],
    ['an access token with an unknown hint', 'first', 'access_token', 'nonsense'],
    ['a refresh token', 'next', 'refresh_token'],
    ['a replaced refresh token', 'first', 'refresh_token'],
  ] as const) {
    // [RFC 7009 §2; RFC 7009 §2.1; Revocation 2; 85]
    it(`ends with ${what} every token of the grant (CVE-2018-1000211)`, async () => {
      const { url } = service()
      const first = await obtain(url)
      const next: Tokens = (await refresh(url, first.refresh_token)).body
      const revoked = await revoke(url, { first, next }[which][kind], { token_type_hint })
      expect(revoked.status).to.equal(200)
      for (const token of [first.access_token, next.access_token]) {
        expect(refusalOf(await userinfo(url, token))).to.equal('401 invalid_token')
        expect((await introspect(url, token)).body).to.deep.equal({ active: false })
      }
      expect(refusalOf(await refresh(url, next.refresh_token))).to.equal('400 invalid_grant')
    })
  }

  it('requires the secret of a confidential client [RFC 7009 §2.1]', async () => {
    const { url } = service()
    const { access_token } = await obtain(url, { authorization: asPortal, token: asPortal })
    const bare = await revoke(url, access_token, { client_id: portal.clientId })
    expect(refusalOf(bare)).to.equal('401 invalid_client')
    expect((await userinfo(url, access_token)).status).to.equal(200)
    expect((await revoke(url, access_token, asPortal)).status).to.equal(200)
    expect((await userinfo(url, access_token)).status).to.equal(401)
  })

  it('makes the next authorization ask for consent', async () => {
    const { url } = service()
    const { person, refreshToken } = await obtainTokens(url)
    await revoke(url, refreshToken)
    const { pathname } = await openAuthorization(person, url)
    expect(pathname).to.match(/^\/interaction\/[\w-]+\/consent$/)
  })
})
