import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import * as oidc from 'openid-client'

import { notes, portal } from './support/gatehouse.ts'
import { confirmSignOut } from './support/page-person.ts'
import { type Asking, getTokens } from './support/relying-party.ts'
import { forEachStorage, type Start, sharedService } from './support/storages.ts'
import { get } from './support/wire.ts'

forEachStorage('openid-client', (start) => {
  describe('as a public client', () => journey(start, notes))
  describe('as a confidential client', () => journey(start, portal))
})

function journey(start: Start, asking: Asking & typeof notes): void {
  const running = sharedService({}, start)
  const { clientId } = asking

  // [RFC 6749 §4.1.1; RFC 6749 §4.1.2; RFC 6749 §4.1.3; RFC 7636 §4.3; RFC 7636 §4.6; RFC 9207 §2.4]
  // [OpenID Connect Core §3.1.2.5; What the service does 1; Authentication 2; Authentication 3]
  // [Authentication 7.9; OpenID Connect Core §2; OpenID Connect Core §3.1.3.6; OpenID Connect Core §3.1.3.7;
  // OpenID Connect Core §10.1; OpenID Connect Discovery §4.3; RFC 9700 §4.5.3.2]
  // [UserInfo / id_token claims 2; Authorization 9; Authentication 7.8; Authentication 7.1]
  // [Authentication 7.4; Authentication 7.5; Authentication 7.6; Authentication 7.7; Limits 1]
  it('verifies issuer, audience, lifetime, nonce and key of the id_token (Authentication 7)', async () => {
    const { url } = running()
    const { configuration, start: request, tokens } = await getTokens(url, asking)
    const { jwks_uri = '' } = configuration.serverMetadata()
    expect(new URL(jwks_uri).origin).to.equal(url)
    const { payload, protectedHeader } = await jwtVerify(
      tokens.id_token ?? '',
      createRemoteJWKSet(new URL(jwks_uri)),
      { issuer: url, audience: clientId, algorithms: ['ES256'] },
    )
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).to.equal(600)
    expect(payload['nonce']).to.equal(request.searchParams.get('nonce'))
    const { keys }: { keys: { kid: string }[] } = (await get(jwks_uri)).body
    expect(keys.map(({ kid }) => kid)).to.include(protectedHeader.kid)
  })

  // [OpenID Connect Core §5.3.2; UserInfo 2; UserInfo / id_token claims 1; Authentication 6.1]
  it('gets the claims of the id_token from UserInfo too (UserInfo)', async () => {
    const { configuration, tokens } = await getTokens(running().url, asking)
    const { iss, aud, exp, iat, nonce, acr, amr, auth_time, ...personal } = decodeJwt(
      tokens.id_token ?? '',
    )
    const fetched = await oidc.fetchUserInfo(configuration, tokens.access_token, 'per_sam')
    expect(fetched).to.deep.equal(personal)
    expect(fetched).to.deep.equal({
      sub: 'per_sam',
      email: 'sam@northlight.example',
      email_verified: false,
      name: 'Sam Student',
      picture: 'https://northlight.example/people/sam.jpg',
      org_id: 'sit_northlight',
      roles: ['student'],
    })
  })

  // [RP-Initiated Logout §2; RP-Initiated Logout §3]
  it('signs the person out and gets its state back [design 27]', async () => {
    const { configuration, tokens, person, start: request } = await getTokens(running().url, asking)
    const back =
      asking === notes ? 'http://127.0.0.1/signed-out' : 'https://portal.example/signed-out'
    const address = oidc.buildEndSessionUrl(configuration, {
      ...{ post_logout_redirect_uri: back, state: 'bye' },
      id_token_hint: tokens.id_token ?? '',
    })
    expect(await (await person.open(address)).text()).to.include('id="logout-page"')
    const confirmed = await confirmSignOut(person, address)
    expect(confirmed.status).to.equal(303)
    expect(confirmed.headers.get('location')).to.equal(`${back}?state=bye`)
    const again = await person.open(request)
    expect(again.headers.get('location')).to.match(/^\/interaction\/[^/]+\/login$/)
  })
}
