import { customFetch } from '@auth/core'
import { getToken } from '@auth/core/jwt'
import { ExpressAuth } from '@auth/express'
import express from 'express'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, SIGNED_OUT_URI, PORT } = process.env

const secret = 'a secret of this example, 32 characters or more'
const server = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json()

/** The tokens of each session; a real application stores them in a table. */
const tokensOf = new Map()

/** The callback is /auth/callback/gatehouse. */
const gatehouse = {
  id: 'gatehouse',
  name: 'Gatehouse',
  type: 'oidc',
  issuer: ISSUER,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  client: {
    token_endpoint_auth_method: 'client_secret_post',
    id_token_signed_response_alg: 'ES256',
  },
  checks: ['pkce', 'state', 'nonce'],
  authorization: { params: { scope: 'openid profile email account:read', resource: ISSUER } },
  // `token: { params }` is not sent, so add `resource` to the token request here.
  [customFetch]: (url, init) => {
    if (String(url) === server.token_endpoint) init.body.set('resource', ISSUER)
    return fetch(url, init)
  },
}

const app = express()
app.use(
  '/auth',
  ExpressAuth({
    providers: [gatehouse],
    secret,
    trustHost: true,
    callbacks: {
      jwt({ token, account }) {
        if (account) tokensOf.set(token.sub, account)
        return token
      },
    },
  }),
)

const sessionOf = async (request) => {
  const { sub } = (await getToken({ req: request, secret })) ?? {}
  return { sub, tokens: tokensOf.get(sub) }
}

app.get('/login', (_, response) => response.redirect('/auth/signin?callbackUrl=/'))

app.get('/refresh', async (request, response) => {
  const { sub, tokens } = await sessionOf(request)
  const answer = await fetch(server.token_endpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token,
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      resource: ISSUER,
    }),
  })
  // The response has a new refresh token, but no id_token.
  if (answer.ok) tokensOf.set(sub, { ...tokens, ...(await answer.json()) })
  response.redirect('/')
})

app.get('/logout', async (request, response) => {
  const { sub, tokens } = await sessionOf(request)
  tokensOf.delete(sub)
  const address = new URL(server.end_session_endpoint)
  address.search = new URLSearchParams({
    id_token_hint: tokens.id_token,
    post_logout_redirect_uri: SIGNED_OUT_URI,
  })
  response.clearCookie('authjs.session-token').redirect(address.href)
})

app.get('/', async (request, response) => {
  const { tokens } = await sessionOf(request)
  if (!tokens) return response.send('<a href="/login">Sign in</a>')
  const answer = await fetch(`${ISSUER}/member/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ viewer { name } }' }),
  })
  response.json(await answer.json())
})

app.listen(Number(PORT), '127.0.0.1')
