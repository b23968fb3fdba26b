import { expect } from 'chai'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as oidc from 'openid-client'

import { paths } from '../src/platform/http/paths.ts'
import { notes, portal, resourceServer } from './support/gatehouse.ts'
import { type Asking, discover, getTokens, MEMBER_SCOPE } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { forEachStorage, type Start } from './support/storages.ts'

/** The two kinds of client that the specification knows (Authentication 2). */
const clients: readonly (readonly [kind: string, asking: Asking])[] = [
  ['a public client', notes],
  ['a confidential client', portal],
]

forEachStorage('openid-client', (start) => {
  for (const [kind, asking] of clients) describe(`as ${kind}`, () => journey(start, asking))
})

function journey(start: Start, asking: Asking): void {
  const running = sharedService({}, start)
  const clientId = asking.clientId ?? ''

  // [OpenID Connect Core §2; OpenID Connect Core §3.1.3.6; OpenID Connect Core §3.1.3.7;
  // OpenID Connect Core §10.1; OpenID Connect Discovery §4.3; RFC 9700 §4.5.3.2]
  // [UserInfo / id_token claims 2; Authorization 9; Authentication 7.8; Authentication 7.1]
  // [Authentication 7.4; Authentication 7.5; Authentication 7.6; Authentication 7.7; Limits 1]
  it('verifies the id_token: iss, aud, ten minutes, nonce, and the key that kid names (Authentication 7)', async () => {
    const service = running()
    const { configuration, start: address, tokens } = await getTokens(service.url, asking)
    const idToken = tokens.id_token ?? ''
    const metadata = configuration.serverMetadata()
    const keys = createRemoteJWKSet(new URL(metadata.jwks_uri ?? ''))
    const { payload, protectedHeader } = await jwtVerify(idToken, keys, {
      issuer: service.url,
      audience: clientId,
      algorithms: ['ES256'],
    })
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).to.equal(600)
    expect(payload['nonce']).to.equal(address.searchParams.get('nonce'))
    const { keys: published } = (await (await fetch(metadata.jwks_uri ?? '')).json()) as {
      keys: { kid: string }[]
    }
    expect(published.map(({ kid }) => kid)).to.include(protectedHeader.kid)
    expect(new URL(metadata.jwks_uri ?? '').origin).to.equal(service.url)
  })

  // [OpenID Connect Core §5.3.2; UserInfo / id_token claims 1; Authentication 6.1]
  it('gets the same claims from UserInfo as from the id_token (UserInfo)', async () => {
    const service = running()
    const { configuration, tokens } = await getTokens(service.url, asking)
    const claims = decodeJwt(tokens.id_token ?? '')
    const fetched = await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub ?? '')
    const { iss: _iss, aud: _aud, exp: _exp, iat: _iat, nonce: _nonce, ...personal } = claims
    expect(fetched).to.deep.equal(personal)
    expect(fetched).to.deep.equal({
      sub: 'per_sam',
      email: 'sam@northlight.example',
      name: 'Sam Student',
      picture: 'https://northlight.example/people/sam.jpg',
      org_id: 'sit_northlight',
      roles: ['student'],
    })
  })

  // [OpenID Connect Core §12.2; Token response 2; Token 3.1]
  it('refreshes without asking the person, gets no id_token, and a new refresh token (Token)', async () => {
    const service = running()
    const { configuration, tokens } = await getTokens(service.url, asking)
    const next = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '', {
      resource: service.url,
    })
    expect(next).not.to.have.property('id_token')
    expect(next.refresh_token).to.be.a('string').and.not.equal(tokens.refresh_token)
    expect(next.access_token).not.to.equal(tokens.access_token)
    expect(next.scope).to.equal(MEMBER_SCOPE)
    expect(next.expires_in).to.equal(3600)
    const fetched = await oidc.fetchUserInfo(configuration, next.access_token, 'per_sam')
    expect(fetched.sub).to.equal('per_sam')
  })

  // [RFC 7662 §2.2; RFC 8707 §2]
  it('shows a resource server that the token is bound to the origin (Authentication 5)', async () => {
    const service = running()
    const { tokens } = await getTokens(service.url, asking)
    const judge = await discover(service.url, resourceServer)
    const found = await oidc.tokenIntrospection(judge, tokens.access_token)
    expect(found).to.deep.include({
      active: true,
      iss: service.url,
      aud: service.url,
      sub: 'per_sam',
      client_id: clientId,
      scope: MEMBER_SCOPE,
      token_type: 'Bearer',
      org_id: 'sit_northlight',
      roles: ['student'],
    })
    expect((found.exp ?? 0) - (found.iat ?? 0)).to.equal(3600)
  })

  it('revokes a refresh token, which ends all that was made of the grant (Revocation)', async () => {
    const service = running()
    const { configuration, tokens } = await getTokens(service.url, asking)
    const refreshToken = tokens.refresh_token ?? ''
    await oidc.tokenRevocation(configuration, refreshToken)

    const judge = await discover(service.url, resourceServer)
    expect(await oidc.tokenIntrospection(judge, tokens.access_token)).to.deep.equal({
      active: false,
    })
    expect(
      await refusalOf(oidc.fetchUserInfo(configuration, tokens.access_token, 'per_sam')),
    ).to.equal(401)
    expect(await refusalOf(oidc.refreshTokenGrant(configuration, refreshToken))).to.equal(
      'invalid_grant',
    )
  })

  // [RFC 7009 §2]
  it('revokes an access token, which stops at UserInfo at once (Revocation)', async () => {
    const service = running()
    const { configuration, tokens } = await getTokens(service.url, asking)
    await oidc.tokenRevocation(configuration, tokens.access_token)
    expect(
      await refusalOf(oidc.fetchUserInfo(configuration, tokens.access_token, 'per_sam')),
    ).to.equal(401)
  })

  // [RP-Initiated Logout §2; RP-Initiated Logout §3]
  it('signs the person out through the pages and gets them back with its state [design 27]', async () => {
    const service = running()
    const { configuration, tokens, person, start: address } = await getTokens(service.url, asking)
    const back =
      asking === notes ? 'http://127.0.0.1/signed-out' : 'https://portal.example/signed-out'
    const url = oidc.buildEndSessionUrl(configuration, {
      post_logout_redirect_uri: back,
      id_token_hint: tokens.id_token ?? '',
      state: 'bye',
    })
    const page = await (await person.open(url)).text()
    expect(page).to.include('id="logout-page"')
    const action = /action="([^"]+)"/.exec(page)?.[1] ?? ''
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
    const confirmed = await person.open(new URL(action, url), {
      method: 'POST',
      body: new URLSearchParams({ xsrf, logout: 'yes' }),
    })
    expect(confirmed.status).to.equal(303)
    expect(confirmed.headers.get('location')).to.equal(`${back}?state=bye`)

    // The next request starts with the sign-in page again.
    const again = await person.open(address)
    expect(again.headers.get('location')).to.match(/^\/interaction\/[^/]+\/login$/)
  })

  // [RFC 8414 §3.3; OpenID Connect Discovery §4.3; RFC 8414 §5; Discovery 3.1]
  it('discovers everything at both well-known addresses (Discovery)', async () => {
    const service = running()
    const byOpenid = await discover(service.url, asking)
    const byOauth = await oidc.discovery(new URL(service.url), clientId, undefined, undefined, {
      algorithm: 'oauth2',
      execute: [oidc.allowInsecureRequests],
    })
    expect(byOauth.serverMetadata()).to.deep.equal(byOpenid.serverMetadata())
    expect(byOpenid.serverMetadata().token_endpoint).to.equal(service.url + paths.token)
    const { tokens } = await getTokens(service.url, asking)
    expect(decodeProtectedHeader(tokens.id_token ?? '').alg).to.equal('ES256')
  })
}

/** What the library reports: the error code of an OAuth answer, or the status of a challenge. */
async function refusalOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    if (error instanceof oidc.ResponseBodyError) return error.error
    if (error instanceof oidc.WWWAuthenticateChallengeError) return error.status
    throw error
  }
  return 'nothing'
}
