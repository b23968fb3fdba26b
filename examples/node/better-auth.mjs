import { betterAuth } from 'better-auth'
import { memoryAdapter } from 'better-auth/adapters/memory'
import { fromNodeHeaders, toNodeHandler } from 'better-auth/node'
import { genericOAuth } from 'better-auth/plugins'
import express from 'express'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, SIGNED_OUT_URI, APP_URL, PORT } = process.env

/** The callback is /api/auth/callback/gatehouse. */
const gatehouse = {
  providerId: 'gatehouse',
  discoveryUrl: `${ISSUER}/.well-known/openid-configuration`,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  tokenEndpointAuth: { method: 'client_secret_post' },
  pkce: true,
  requireIdTokenVerification: true,
  scopes: ['openid', 'profile', 'email', 'account:read'],
  authorizationUrlParams: { resource: ISSUER },
  tokenUrlParams: { resource: ISSUER },
  refreshTokenParams: { resource: ISSUER },
}

const auth = betterAuth({
  baseURL: APP_URL,
  secret: 'a secret of this example, 32 characters or more',
  // A real application uses a database here.
  database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
  plugins: [genericOAuth({ config: [gatehouse] })],
})

const app = express()
app.all('/api/auth/*path', toNodeHandler(auth))

// A page would call authClient.signIn.social() here, and authClient.signOut() in /logout.
app.get('/login', async (_, response) => {
  const { headers, response: answer } = await auth.api.signInSocial({
    body: { provider: 'gatehouse', callbackURL: '/' },
    returnHeaders: true,
  })
  response.append('set-cookie', headers.getSetCookie()).redirect(answer.url)
})

const accountOf = async (headers) => {
  const accounts = await auth.api.listUserAccounts({ headers })
  return { accountId: accounts.find(({ providerId }) => providerId === 'gatehouse').id }
}

app.get('/refresh', async (request, response) => {
  const headers = fromNodeHeaders(request.headers)
  await auth.api.refreshToken({ body: await accountOf(headers), headers })
  response.redirect('/')
})

app.get('/logout', async (request, response) => {
  const { headers, response: answer } = await auth.api.signOut({
    body: { callbackURL: SIGNED_OUT_URI },
    headers: fromNodeHeaders(request.headers),
    returnHeaders: true,
  })
  response.append('set-cookie', headers.getSetCookie()).redirect(answer.url)
})

app.get('/', async (request, response) => {
  const headers = fromNodeHeaders(request.headers)
  if (!(await auth.api.getSession({ headers }))) {
    return response.send('<a href="/login">Sign in</a>')
  }
  // Refreshes the token automatically after it has expired.
  const body = await accountOf(headers)
  const { accessToken } = await auth.api.getAccessToken({ body, headers })
  const answer = await fetch(`${ISSUER}/member/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ viewer { name } }' }),
  })
  response.json(await answer.json())
})

app.listen(Number(PORT), '127.0.0.1')
