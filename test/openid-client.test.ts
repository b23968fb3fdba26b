import { createRemoteJWKSet, jwtVerify } from 'jose'

import { notes, portal } from './support/gatehouse.ts'
import { type Asking, getTokens } from './support/relying-party.ts'
import { forEachStorage, type Start, sharedService } from './support/storages.ts'
import { get } from './support/wire.ts'

forEachStorage('openid-client', (start) => {
  describe('as a public client', () => journey(start, notes))
  describe('as a confidential client', () => journey(start, portal))
})

function journey(start: Start, asking: Asking & typeof notes): void {
  const running = sharedService({}, start)

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
      { issuer: url, audience: asking.clientId, algorithms: ['ES256'] },
    )
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).to.equal(600)
    expect(payload['nonce']).to.equal(request.searchParams.get('nonce'))
    const { keys }: { keys: { kid: string }[] } = (await get(jwks_uri)).body
    expect(keys.map(({ kid }) => kid)).to.include(protectedHeader.kid)
  })
}
