import { randomBytes } from 'node:crypto'

import cookie from '@fastify/cookie'
import oauth2 from '@fastify/oauth2'
import session from '@fastify/session'
import Fastify from 'fastify'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SIGNED_OUT_URI, PORT } = process.env

const server = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json()
const keys = createRemoteJWKSet(new URL(server.jwks_uri))

const app = Fastify()
await app.register(cookie)
await app.register(session, {
  secret: 'a secret of this example, 32 characters or more',
  // With TLS, set this to true.
  cookie: { secure: false },
})
await app.register(oauth2, {
  name: 'gatehouse',
  discovery: { issuer: ISSUER },
  credentials: {
    client: { id: CLIENT_ID, secret: CLIENT_SECRET },
    options: { authorizationMethod: 'body' },
  },
  pkce: 'S256',
  scope: ['openid', 'profile', 'account:read'],
  callbackUri: REDIRECT_URI,
  callbackUriParams: { resource: ISSUER },
  tokenRequestParams: { resource: ISSUER },
})

app.get('/login', async (request, reply) => {
  // `startRedirectPath` would create this route, but without a nonce.
  request.session.nonce = randomBytes(16).toString('base64url')
  const address = new URL(await app.gatehouse.generateAuthorizationUri(request, reply))
  address.searchParams.set('nonce', request.session.nonce)
  return reply.redirect(address.href)
})

app.get('/callback', async (request, reply) => {
  const { token } = await app.gatehouse.getAccessTokenFromAuthorizationCodeFlow(request, reply)
  const expected = { issuer: ISSUER, audience: CLIENT_ID, algorithms: ['ES256'] }
  const { payload } = await jwtVerify(token.id_token, keys, expected)
  if (payload.nonce !== request.session.nonce) throw new Error('the nonce does not match')
  request.session.token = token
  return reply.redirect('/')
})

app.get('/refresh', async (request, reply) => {
  const { token } = request.session
  const extra = { resource: ISSUER }
  const fresh = await app.gatehouse.getNewAccessTokenUsingRefreshToken(token, extra)
  // The response has a new refresh token, but no id_token.
  request.session.token = { ...token, ...fresh.token }
  return reply.redirect('/')
})

app.get('/logout', async (request, reply) => {
  const address = new URL(server.end_session_endpoint)
  address.search = new URLSearchParams({
    id_token_hint: request.session.token.id_token,
    post_logout_redirect_uri: SIGNED_OUT_URI,
  })
  await request.session.destroy()
  return reply.redirect(address.href)
})

app.get('/', async (request, reply) => {
  const { token } = request.session
  if (!token) return reply.type('text/html').send('<a href="/login">Sign in</a>')
  const answer = await fetch(`${ISSUER}/member/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token.access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ viewer { name } }' }),
  })
  return await answer.json()
})

await app.listen({ port: Number(PORT), host: '127.0.0.1' })
