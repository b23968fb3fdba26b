import cookieParser from 'cookie-parser'
import express from 'express'
import nextAuth from 'next-auth'
import { getToken } from 'next-auth/jwt'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, SIGNED_OUT_URI, APP_URL, PORT } = process.env

process.env.NEXTAUTH_URL = APP_URL
const secret = 'a secret of this example, 32 characters or more'
const server = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json()

/** The tokens of each session; a real application stores them in a table. */
const tokensOf = new Map()

/** The callback is /api/auth/callback/gatehouse. */
const gatehouse = {
  id: 'gatehouse',
  name: 'Gatehouse',
  type: 'oauth',
  wellKnown: `${ISSUER}/.well-known/openid-configuration`,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  client: {
    token_endpoint_auth_method: 'client_secret_post',
    id_token_signed_response_alg: 'ES256',
  },
  checks: ['pkce', 'state', 'nonce'],
  idToken: true,
  authorization: { params: { scope: 'openid profile email account:read', resource: ISSUER } },
  token: {
    // `token: { params }` is not sent, so send `resource` here.
    async request({ client, params, checks, provider }) {
      const extra = { exchangeBody: { resource: ISSUER } }
      return { tokens: await client.callback(provider.callbackUrl, params, checks, extra) }
    },
  },
  profile: ({ sub, name, email, picture }) => ({ id: sub, name, email, image: picture }),
}

const authOptions = {
  providers: [gatehouse],
  secret,
  callbacks: {
    jwt({ token, account }) {
      if (account) tokensOf.set(token.sub, account)
      return token
    },
  },
}

// In Next.js, these lines are `export default NextAuth(authOptions)` in pages/api/auth/[...nextauth].js.
const app = express()
app.use(cookieParser(), express.urlencoded({ extended: false }))
app.all('/api/auth/*action', (request, response) => {
  const query = { ...request.query, nextauth: request.params.action }
  return nextAuth.default(
    Object.create(request, { query: { value: query } }),
    response,
    authOptions,
  )
})

const sessionOf = async (request) => {
  const { sub } = (await getToken({ req: request, secret })) ?? {}
  return { sub, tokens: tokensOf.get(sub) }
}

app.get('/login', (_, response) => response.redirect('/api/auth/signin?callbackUrl=/'))

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
  response.clearCookie('next-auth.session-token').redirect(address.href)
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
