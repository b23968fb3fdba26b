import express from 'express'
import session from 'express-session'
import * as oauth from 'oauth4webapi'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SIGNED_OUT_URI, PORT } = process.env

// Allow http only for a service on this computer.
const options = { [oauth.allowInsecureRequests]: ISSUER.startsWith('http:') }

const issuer = new URL(ISSUER)
const server = await oauth.processDiscoveryResponse(
  issuer,
  await oauth.discoveryRequest(issuer, options),
)
const client = { client_id: CLIENT_ID, id_token_signed_response_alg: 'ES256' }
// For a public client, use oauth.None().
const authentication = oauth.ClientSecretPost(CLIENT_SECRET)

const app = express()
app.use(session({ secret: 'a secret of this example', resave: false, saveUninitialized: false }))

app.get('/login', async (request, response) => {
  const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
  const verifier = oauth.generateRandomCodeVerifier()
  request.session.checks = { state, nonce, verifier }
  const address = new URL(server.authorization_endpoint)
  address.search = new URLSearchParams({
    client_id: CLIENT_ID,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: 'openid profile account:read',
    resource: ISSUER,
    state,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  response.redirect(address.href)
})

app.get('/callback', async (request, response) => {
  const { state, nonce, verifier } = request.session.checks
  const callback = new URL(request.originalUrl, REDIRECT_URI)
  const parameters = oauth.validateAuthResponse(server, client, callback, state)
  const answer = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    parameters,
    REDIRECT_URI,
    verifier,
    { ...options, additionalParameters: { resource: ISSUER } },
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, {
    expectedNonce: nonce,
    requireIdToken: true,
  })
  // Without this, the library relies on TLS and does not verify the signature of the id_token.
  await oauth.validateApplicationLevelSignature(server, answer, options)
  request.session.tokens = tokens
  response.redirect('/')
})

app.get('/refresh', async (request, response) => {
  const { tokens } = request.session
  const answer = await oauth.refreshTokenGrantRequest(
    server,
    client,
    authentication,
    tokens.refresh_token,
    { ...options, additionalParameters: { resource: ISSUER } },
  )
  const fresh = await oauth.processRefreshTokenResponse(server, client, answer)
  // The response has a new refresh token, but no id_token.
  request.session.tokens = { ...tokens, ...fresh }
  response.redirect('/')
})

app.get('/logout', (request, response) => {
  const address = new URL(server.end_session_endpoint)
  address.search = new URLSearchParams({
    id_token_hint: request.session.tokens.id_token,
    post_logout_redirect_uri: SIGNED_OUT_URI,
  })
  request.session.destroy()
  response.redirect(address.href)
})

app.get('/', async (request, response) => {
  const { tokens } = request.session
  if (!tokens) return response.send('<a href="/login">Sign in</a>')
  const answer = await fetch(`${ISSUER}/member/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ viewer { name } }' }),
  })
  response.json(await answer.json())
})

app.listen(Number(PORT), '127.0.0.1')
