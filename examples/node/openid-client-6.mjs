import express from 'express'
import session from 'express-session'
import * as oidc from 'openid-client'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SIGNED_OUT_URI, PORT } = process.env

const config = await oidc.discovery(
  new URL(ISSUER),
  CLIENT_ID,
  { id_token_signed_response_alg: 'ES256' },
  // For a public client, use oidc.None().
  oidc.ClientSecretPost(CLIENT_SECRET),
  // Allow http only for a service on this computer.
  { execute: ISSUER.startsWith('http:') ? [oidc.allowInsecureRequests] : [] },
)
// Without this, the library relies on TLS and does not verify the signature of the id_token.
oidc.enableNonRepudiationChecks(config)

const app = express()
app.use(session({ secret: 'a secret of this example', resave: false, saveUninitialized: false }))

app.get('/login', async (request, response) => {
  const verifier = oidc.randomPKCECodeVerifier()
  request.session.asked = { verifier, state: oidc.randomState(), nonce: oidc.randomNonce() }
  const address = oidc.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI,
    scope: 'openid profile account:read',
    resource: ISSUER,
    state: request.session.asked.state,
    nonce: request.session.asked.nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  response.redirect(address.href)
})

app.get('/callback', async (request, response) => {
  const { verifier, state, nonce } = request.session.asked
  request.session.tokens = await oidc.authorizationCodeGrant(
    config,
    new URL(request.originalUrl, REDIRECT_URI),
    { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce },
    { resource: ISSUER },
  )
  response.redirect('/')
})

app.get('/refresh', async (request, response) => {
  const { tokens } = request.session
  const fresh = await oidc.refreshTokenGrant(config, tokens.refresh_token, { resource: ISSUER })
  // The response has a new refresh token, but no id_token.
  request.session.tokens = { ...tokens, ...fresh }
  response.redirect('/')
})

app.get('/logout', (request, response) => {
  const { id_token } = request.session.tokens
  request.session.destroy()
  const back = { id_token_hint: id_token, post_logout_redirect_uri: SIGNED_OUT_URI }
  response.redirect(oidc.buildEndSessionUrl(config, back).href)
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
