import { createHash, randomBytes } from 'node:crypto'

import express from 'express'
import session from 'express-session'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { AuthorizationCode } from 'simple-oauth2'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SIGNED_OUT_URI, PORT } = process.env

const server = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json()
const keys = createRemoteJWKSet(new URL(server.jwks_uri))
const client = new AuthorizationCode({
  client: { id: CLIENT_ID, secret: CLIENT_SECRET },
  auth: {
    tokenHost: ISSUER,
    tokenPath: new URL(server.token_endpoint).pathname,
    authorizePath: new URL(server.authorization_endpoint).pathname,
  },
  options: { authorizationMethod: 'body' },
})

const random = () => randomBytes(32).toString('base64url')

const app = express()
app.use(session({ secret: 'a secret of this example', resave: false, saveUninitialized: false }))

app.get('/login', (request, response) => {
  const checks = { state: random(), nonce: random(), verifier: random() }
  request.session.checks = checks
  response.redirect(
    client.authorizeURL({
      redirect_uri: REDIRECT_URI,
      scope: 'openid profile account:read',
      resource: ISSUER,
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: createHash('sha256').update(checks.verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }),
  )
})

app.get('/callback', async (request, response) => {
  const { state, nonce, verifier } = request.session.checks
  if (request.query.state !== state || request.query.iss !== ISSUER) {
    return response.status(400).send('The state or the issuer does not match.')
  }
  const { token } = await client.getToken({
    code: request.query.code,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
    resource: ISSUER,
  })
  const expected = { issuer: ISSUER, audience: CLIENT_ID, algorithms: ['ES256'] }
  const { payload } = await jwtVerify(token.id_token, keys, expected)
  if (payload.nonce !== nonce) throw new Error('the nonce does not match')
  request.session.token = token
  response.redirect('/')
})

app.get('/refresh', async (request, response) => {
  const { token } = request.session
  const fresh = await client.createToken(token).refresh({ resource: ISSUER })
  // The response has a new refresh token, but no id_token.
  request.session.token = { ...token, ...fresh.token }
  response.redirect('/')
})

app.get('/logout', (request, response) => {
  const address = new URL(server.end_session_endpoint)
  address.search = new URLSearchParams({
    id_token_hint: request.session.token.id_token,
    post_logout_redirect_uri: SIGNED_OUT_URI,
  })
  request.session.destroy()
  response.redirect(address.href)
})

app.get('/', async (request, response) => {
  const { token } = request.session
  if (!token) return response.send('<a href="/login">Sign in</a>')
  const answer = await fetch(`${ISSUER}/member/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token.access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ viewer { name } }' }),
  })
  response.json(await answer.json())
})

app.listen(Number(PORT), '127.0.0.1')
