import { expect } from 'chai'
import * as oauth from 'oauth4webapi'

import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { notes, portal, resourceServer, sam } from './support/gatehouse.ts'
import { MEMBER_SCOPE } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { forEachStorage, type Start } from './support/storages.ts'

/** How a client of the demo authenticates, in the words of this library. */
interface Kind {
  readonly client: oauth.Client
  readonly auth: oauth.ClientAuth
  readonly redirectUri: string
  readonly signedOutUri: string
}

const kinds: Readonly<Record<string, Kind>> = {
  'a public client': {
    client: { client_id: notes.clientId },
    auth: oauth.None(),
    redirectUri: notes.redirectUri,
    signedOutUri: 'https://notes.example/signed-out',
  },
  'a confidential client': {
    client: { client_id: portal.clientId },
    auth: oauth.ClientSecretPost(portal.clientSecret),
    redirectUri: portal.redirectUri,
    signedOutUri: 'https://portal.example/signed-out',
  },
}

const http = { [oauth.allowInsecureRequests]: true }

forEachStorage('oauth4webapi', (start) => {
  for (const [name, kind] of Object.entries(kinds)) {
    // [Authentication 2]
    describe(`as ${name}`, () => journey(start, kind))
  }
})

function journey(start: Start, kind: Kind): void {
  const running = sharedService({}, start)
  const { client, auth } = kind

  // [RFC 6749 §4.1.1; RFC 6749 §4.1.2; RFC 6749 §4.1.3; RFC 7636 §4.3; RFC 7636 §4.6;
  // RFC 9207 §2.4; OpenID Connect Core §3.1.2.5; OpenID Connect Core §3.1.3.7]
  // [What the service does 1; Authentication 3]
  it('discovers, sends the person, checks state and iss, exchanges and verifies (Authentication 3, 7)', async () => {
    const service = running()
    const { as, response, tokens, nonce } = await signIn(service.url, kind)
    expect(as.issuer).to.equal(service.url)
    const claims = oauth.getValidatedIdTokenClaims(tokens)
    expect(claims).to.deep.include({
      iss: service.url,
      aud: client.client_id,
      nonce,
      sub: 'per_sam',
      org_id: 'sit_northlight',
    })
    expect((claims?.exp ?? 0) - (claims?.iat ?? 0)).to.equal(600)
    await oauth.validateApplicationLevelSignature(as, response, http)
    expect(tokens).to.include({ token_type: 'bearer', expires_in: 3600, scope: MEMBER_SCOPE })
  })

  // [UserInfo 2; Authentication 7.9]
  it('reads UserInfo, whose claims are those of the id_token (UserInfo)', async () => {
    const service = running()
    const { as, tokens } = await signIn(service.url, kind)
    const {
      iss: _iss,
      aud: _aud,
      exp: _exp,
      iat: _iat,
      nonce: _nonce,
      ...personal
    } = oauth.getValidatedIdTokenClaims(tokens) ?? {}
    const answer = await oauth.userInfoRequest(as, client, tokens.access_token, http)
    const claims = await oauth.processUserInfoResponse(as, client, 'per_sam', answer)
    expect(claims).to.deep.equal(personal)
    expect(claims['roles']).to.deep.equal(['student'])
  })

  // [RFC 6749 §6; RFC 9700 §2.2.2]
  it('refreshes: no id_token, a new refresh token, the same scope (Token)', async () => {
    const service = running()
    const { as, tokens } = await signIn(service.url, kind)
    const next = await refresh(as, kind, tokens.refresh_token ?? '')
    expect(next).not.to.have.property('id_token')
    expect(next.refresh_token).to.be.a('string').and.not.equal(tokens.refresh_token)
    expect(next.scope).to.equal(MEMBER_SCOPE)
    expect((await refresh(as, kind, next.refresh_token ?? '')).access_token).to.be.a('string')
  })

  // [RFC 8707 §2; Authentication 5.3]
  it('lets the resource server introspect the binding (Authentication 5)', async () => {
    const service = running()
    const { as, tokens } = await signIn(service.url, kind)
    expect(await introspect(as, tokens.access_token)).to.deep.include({
      active: true,
      aud: service.url,
      org_id: 'sit_northlight',
      roles: ['student'],
      client_id: client.client_id,
    })
  })

  it('revokes: UserInfo is 401, introspection inactive, the refresh token invalid_grant (Revocation)', async () => {
    const service = running()
    const { as, tokens } = await signIn(service.url, kind)
    const refreshToken = tokens.refresh_token ?? ''
    const answer = await oauth.revocationRequest(as, client, auth, refreshToken, http)
    await oauth.processRevocationResponse(answer)

    expect(await introspect(as, tokens.access_token)).to.deep.equal({ active: false })
    const claims = await oauth.userInfoRequest(as, client, tokens.access_token, http)
    expect(claims.status).to.equal(401)
    expect(claims.headers.get('www-authenticate')).to.match(/error="invalid_token"/)
    const refused = await refresh(as, kind, refreshToken).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(oauth.ResponseBodyError)
    expect(refused).to.include({ error: 'invalid_grant', status: 400 })
  })

  it('signs the person out and comes back with state alone [design 27]', async () => {
    const service = running()
    const { as, tokens, person } = await signIn(service.url, kind)
    const url = new URL(as.end_session_endpoint ?? '')
    url.searchParams.set('id_token_hint', tokens.id_token ?? '')
    url.searchParams.set('post_logout_redirect_uri', kind.signedOutUri)
    url.searchParams.set('state', 'bye')
    const page = await (await person.open(url)).text()
    const answer = await person.open(new URL(/action="([^"]+)"/.exec(page)?.[1] ?? '', url), {
      method: 'POST',
      body: new URLSearchParams({
        xsrf: /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '',
        logout: 'yes',
      }),
    })
    expect(answer.headers.get('location')).to.equal(`${kind.signedOutUri}?state=bye`)
  })
}

async function signIn(url: string, { client, auth, redirectUri }: Kind) {
  const issuer = new URL(url)
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, http),
  )
  const verifier = oauth.generateRandomCodeVerifier()
  const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
  const start = new URL(as.authorization_endpoint ?? '')
  start.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope: MEMBER_SCOPE,
    resource: url,
    state,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString()
  const person = makeHeadlessPerson(sam)
  const callback = await person.authorize(start, redirectUri)
  const parameters = oauth.validateAuthResponse(as, client, callback, state)
  const response = await oauth.authorizationCodeGrantRequest(
    ...([as, client, auth, parameters, redirectUri, verifier] as const),
    { ...http, additionalParameters: { resource: url } },
  )
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  })
  return { as, response, tokens, nonce, person }
}

async function refresh(as: oauth.AuthorizationServer, { client, auth }: Kind, token: string) {
  const answer = await oauth.refreshTokenGrantRequest(as, client, auth, token, http)
  return await oauth.processRefreshTokenResponse(as, client, answer)
}

async function introspect(as: oauth.AuthorizationServer, token: string) {
  const judge = { client_id: resourceServer.clientId }
  const auth = oauth.ClientSecretPost(resourceServer.clientSecret)
  const answer = await oauth.introspectionRequest(as, judge, auth, token, http)
  return await oauth.processIntrospectionResponse(as, judge, answer)
}
