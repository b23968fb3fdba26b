import * as arctic from 'arctic'
import express from 'express'
import session from 'express-session'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SIGNED_OUT_URI, PORT } = process.env

const server = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json()
const keys = createRemoteJWKSet(new URL(server.jwks_uri))
const client = new arctic.OAuth2Client(CLIENT_ID, CLIENT_SECRET, REDIRECT_URI)

/** client.validateAuthorizationCode() cannot send `resource`, which member scopes need. */
async function requestTokens(fields) {
  const credentials = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, resource: ISSUER }
  const answer = await fetch(server.token_endpoint, {
    method: 'POST',
    body: new URLSearchParams({ ...fields, ...credentials }),
  })
  const data = await answer.json()
  if (!answer.ok) throw new Error(`${data.error}: ${data.error_description}`)
  return new arctic.OAuth2Tokens(data)
}

const app = express()
app.use(session({ secret: 'a secret of this example', resave: false, saveUninitialized: false }))

app.get('/login', (request, response) => {
  const checks = {
    state: arctic.generateState(),
    nonce: arctic.generateState(),
    verifier: arctic.generateCodeVerifier(),
  }
  request.session.checks = checks
  const address = client.createAuthorizationURLWithPKCE(
    server.authorization_endpoint,
    checks.state,
    arctic.CodeChallengeMethod.S256,
    checks.verifier,
    ['openid', 'profile', 'account:read'],
  )
  address.searchParams.set('nonce', checks.nonce)
  address.searchParams.set('resource', ISSUER)
  response.redirect(address.href)
})

app.get('/callback', async (request, response) => {
  const { state, nonce, verifier } = request.session.checks
  if (request.query.state !== state || request.query.iss !== ISSUER) {
    return response.status(400).send('The state or the issuer does not match.')
  }
  const tokens = await requestTokens({
    grant_type: 'authorization_code',
    code: request.query.code,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
  })
  const expected = { issuer: ISSUER, audience: CLIENT_ID, algorithms: ['ES256'] }
  const { payload } = await jwtVerify(tokens.idToken(), keys, expected)
  if (payload.nonce !== nonce) throw new Error('the nonce does not match')
  request.session.tokens = tokens.data
  response.redirect('/')
})

app.get('/refresh', async (request, response) => {
  const { tokens } = request.session
  const { refresh_token } = tokens
  const fresh = await requestTokens({ grant_type: 'refresh_token', refresh_token })
  // The response has a new refresh token, but no id_token.
  request.session.tokens = { ...tokens, ...fresh.data }
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
