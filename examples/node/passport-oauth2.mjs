import { randomBytes } from 'node:crypto'

import express from 'express'
import session from 'express-session'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import passport from 'passport'
import { Strategy } from 'passport-oauth2'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SIGNED_OUT_URI, PORT } = process.env

const server = await (await fetch(`${ISSUER}/.well-known/openid-configuration`)).json()
const keys = createRemoteJWKSet(new URL(server.jwks_uri))

/** The library has no setting for additional parameters; it calls these two methods instead. */
class GatehouseStrategy extends Strategy {
  name = 'gatehouse'

  authorizationParams({ nonce }) {
    return { nonce, resource: ISSUER }
  }

  tokenParams() {
    return { resource: ISSUER }
  }
}

const strategy = new GatehouseStrategy(
  {
    authorizationURL: server.authorization_endpoint,
    tokenURL: server.token_endpoint,
    clientID: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    callbackURL: REDIRECT_URI,
    scope: ['openid', 'profile', 'account:read'],
    pkce: 'S256',
    state: true,
    passReqToCallback: true,
  },
  // The fourth argument is the token response without its refresh_token.
  async (request, _accessToken, refresh_token, tokens, _profile, done) => {
    try {
      const expected = { issuer: ISSUER, audience: CLIENT_ID, algorithms: ['ES256'] }
      const { payload } = await jwtVerify(tokens.id_token, keys, expected)
      if (payload.nonce !== request.session.nonce) throw new Error('the nonce does not match')
      done(null, { ...tokens, refresh_token })
    } catch (error) {
      done(error)
    }
  },
)
passport.use(strategy)
passport.serializeUser((user, done) => done(null, user))
passport.deserializeUser((user, done) => done(null, user))

const app = express()
app.use(session({ secret: 'a secret of this example', resave: false, saveUninitialized: false }))
app.use(passport.session())

app.get('/login', (request, response, next) => {
  request.session.nonce = randomBytes(16).toString('base64url')
  passport.authenticate('gatehouse', { nonce: request.session.nonce })(request, response, next)
})

app.get('/callback', passport.authenticate('gatehouse', { keepSessionInfo: true }), (_, response) =>
  response.redirect('/'),
)

app.get('/refresh', (request, response, next) => {
  const extra = { grant_type: 'refresh_token', resource: ISSUER }
  const keep = (error, access_token, refresh_token) => {
    if (error) return next(error)
    // The response has a new refresh token, but no id_token.
    const user = { ...request.user, access_token, refresh_token }
    request.login(user, () => response.redirect('/'))
  }
  strategy._oauth2.getOAuthAccessToken(request.user.refresh_token, extra, keep)
})

app.get('/logout', (request, response) => {
  const address = new URL(server.end_session_endpoint)
  address.search = new URLSearchParams({
    id_token_hint: request.user.id_token,
    post_logout_redirect_uri: SIGNED_OUT_URI,
  })
  request.logout(() => response.redirect(address.href))
})

app.get('/', async (request, response) => {
  if (!request.user) return response.send('<a href="/login">Sign in</a>')
  const { access_token } = request.user
  const answer = await fetch(`${ISSUER}/member/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ viewer { name } }' }),
  })
  response.json(await answer.json())
})

app.listen(Number(PORT), '127.0.0.1')
