import { expect } from 'chai'
import * as oauth from 'oauth4webapi'

import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { notes, portal, resourceServer, sam } from './support/gatehouse.ts'
import { confirmSignOut } from './support/page-person.ts'
import { MEMBER_SCOPE } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { forEachStorage } from './support/storages.ts'

const http = { [oauth.allowInsecureRequests]: true }
const judge = { client_id: resourceServer.clientId }
const judgeAuth = oauth.ClientSecretPost(resourceServer.clientSecret)

// openid-client.test.ts checks the same steps in more detail.
forEachStorage('oauth4webapi', (start) => {
  const running = sharedService({}, start)

  for (const [kind, { clientId, redirectUri }, auth] of [
    ['public', notes, oauth.None()],
    ['confidential', portal, oauth.ClientSecretPost(portal.clientSecret)],
  ] as const) {
    // [RFC 6749 §4.1.1; RFC 6749 §4.1.2; RFC 6749 §4.1.3; RFC 7636 §4.3; RFC 7636 §4.6;
    // RFC 9207 §2.4; OpenID Connect Core §3.1.2.5; OpenID Connect Core §3.1.3.7]
    // [What the service does 1; Authentication 2; Authentication 3; RFC 6749 §6; RFC 9700 §2.2.2]
    // [RFC 8707 §2; Authentication 5.3; UserInfo 2; Authentication 7.9]
    it(`signs in and out as a ${kind} client, and refreshes and revokes (Authentication 3)`, async () => {
      const { url } = running()
      const client = { client_id: clientId }
      const issuer = new URL(url)
      const found = await oauth.discoveryRequest(issuer, http)
      const as = await oauth.processDiscoveryResponse(issuer, found)
      const verifier = oauth.generateRandomCodeVerifier()
      const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
      const request = new URL(as.authorization_endpoint ?? '')
      request.search = new URLSearchParams({
        ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri },
        ...{ scope: MEMBER_SCOPE, resource: url, state, nonce, code_challenge_method: 'S256' },
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      }).toString()
      const person = makeHeadlessPerson(sam)
      const callback = await person.authorize(request, redirectUri)
      const parameters = oauth.validateAuthResponse(as, client, callback, state)
      const response = await oauth.authorizationCodeGrantRequest(
        ...([as, client, auth, parameters, redirectUri, verifier] as const),
        { ...http, additionalParameters: { resource: url } },
      )
      const checks = { expectedNonce: nonce, requireIdToken: true }
      const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, checks)
      await oauth.validateApplicationLevelSignature(as, response, http)
      expect(tokens).to.include({ token_type: 'bearer', expires_in: 3600, scope: MEMBER_SCOPE })
      const {
        iss,
        aud,
        exp,
        iat,
        nonce: echoed,
        ...personal
      } = oauth.getValidatedIdTokenClaims(tokens) ?? { exp: 0, iat: 0 }
      expect({ iss, aud, echoed, lives: exp - iat }).to.deep.equal({
        ...{ iss: url, aud: clientId, echoed: nonce, lives: 600 },
      })

      const readUserInfo = async () =>
        await oauth.userInfoRequest(as, client, tokens.access_token, http)
      const claims = await oauth.processUserInfoResponse(
        as,
        client,
        'per_sam',
        await readUserInfo(),
      )
      expect(claims).to.deep.equal(personal)

      const refresh = async (token = '') => {
        const answer = await oauth.refreshTokenGrantRequest(as, client, auth, token, http)
        return await oauth.processRefreshTokenResponse(as, client, answer)
      }
      const next = await refresh(tokens.refresh_token)
      expect(next).to.include({ scope: MEMBER_SCOPE }).and.not.have.property('id_token')
      expect(next.refresh_token).to.be.a('string').and.not.equal(tokens.refresh_token)

      const introspect = async () => {
        const { access_token: token } = next
        const answer = await oauth.introspectionRequest(as, judge, judgeAuth, token, http)
        return await oauth.processIntrospectionResponse(as, judge, answer)
      }
      const expected = { active: true, aud: url, client_id: clientId }
      expect(await introspect()).to.deep.include({
        ...{ ...expected, org_id: 'sit_northlight', roles: ['student'] },
      })

      const last = next.refresh_token ?? ''
      const revoked = await oauth.revocationRequest(as, client, auth, last, http)
      await oauth.processRevocationResponse(revoked)
      expect(await introspect()).to.deep.equal({ active: false })
      const challenged = await readUserInfo()
      expect(challenged.status).to.equal(401)
      expect(challenged.headers.get('www-authenticate')).to.match(/error="invalid_token"/)
      const refused = await refresh(last).catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(oauth.ResponseBodyError)
      expect(refused).to.include({ error: 'invalid_grant', status: 400 })

      const out = new URL(as.end_session_endpoint ?? '')
      const signedOut = new URL('/signed-out', redirectUri).href
      out.searchParams.set('id_token_hint', tokens.id_token ?? '')
      out.searchParams.set('post_logout_redirect_uri', signedOut)
      out.searchParams.set('state', 'bye')
      const { headers } = await confirmSignOut(person, out)
      expect(headers.get('location')).to.equal(`${signedOut}?state=bye`)
    })
  }
})
