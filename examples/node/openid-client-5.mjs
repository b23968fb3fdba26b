import express from 'express'
import session from 'express-session'
import { generators, Issuer } from 'openid-client'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SIGNED_OUT_URI, PORT } = process.env

const issuer = await Issuer.discover(ISSUER)
const client = new issuer.Client({
  client_id: CLIENT_ID,
  client_secret: CLIENT_SECRET,
  // For a public client, set 'none' and omit client_secret.
  token_endpoint_auth_method: 'client_secret_post',
  id_token_signed_response_alg: 'ES256',
  redirect_uris: [REDIRECT_URI],
  response_types: ['code'],
})

const app = express()
app.use(session({ secret: 'a secret of this example', resave: false, saveUninitialized: false }))

app.get('/login', (request, response) => {
  const [state, nonce] = [generators.state(), generators.nonce()]
  const code_verifier = generators.codeVerifier()
  request.session.checks = { state, nonce, code_verifier }
  response.redirect(
    client.authorizationUrl({
      scope: 'openid profile account:read',
      resource: ISSUER,
      state,
      nonce,
      code_challenge: generators.codeChallenge(code_verifier),
      code_challenge_method: 'S256',
    }),
  )
})

app.get('/callback', async (request, response) => {
  const answer = client.callbackParams(request)
  const extra = { exchangeBody: { resource: ISSUER } }
  request.session.tokens = await client.callback(
    REDIRECT_URI,
    answer,
    request.session.checks,
    extra,
  )
  response.redirect('/')
})

app.get('/refresh', async (request, response) => {
  const { tokens } = request.session
  const extra = { exchangeBody: { resource: ISSUER } }
  // The response has a new refresh token, but no id_token.
  request.session.tokens = {
    ...tokens,
    ...(await client.refresh(tokens.refresh_token, extra)),
  }
  response.redirect('/')
})

app.get('/logout', (request, response) => {
  const { id_token } = request.session.tokens
  request.session.destroy()
  const back = { id_token_hint: id_token, post_logout_redirect_uri: SIGNED_OUT_URI }
  response.redirect(client.endSessionUrl(back))
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
