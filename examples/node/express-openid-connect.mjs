import express from 'express'
import { auth } from 'express-openid-connect'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, APP_URL, PORT } = process.env

const app = express()

// Adds /login, /callback and /logout.
app.use(
  auth({
    issuerBaseURL: ISSUER,
    baseURL: APP_URL,
    clientID: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    clientAuthMethod: 'client_secret_post',
    idTokenSigningAlg: 'ES256',
    // Without response_type code, there is no PKCE. The token request needs `resource`, too.
    authorizationParams: {
      response_type: 'code',
      scope: 'openid profile account:read',
      resource: ISSUER,
    },
    tokenEndpointParams: { resource: ISSUER },
    secret: 'a secret of this example, 32 characters or more',
    authRequired: false,
    // Also sign the user out of the service, which redirects to postLogoutRedirect.
    idpLogout: true,
    routes: { postLogoutRedirect: '/' },
  }),
)

app.get('/refresh', async (request, response) => {
  // The session stores the new tokens.
  await request.oidc.accessToken.refresh()
  response.redirect('/')
})

app.get('/', async (request, response) => {
  if (!request.oidc.isAuthenticated()) return response.send('<a href="/login">Sign in</a>')
  const { access_token } = request.oidc.accessToken
  const answer = await fetch(`${ISSUER}/member/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ viewer { name } }' }),
  })
  response.json(await answer.json())
})

app.listen(Number(PORT), '127.0.0.1')
