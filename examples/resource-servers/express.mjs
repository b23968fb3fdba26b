// An API in Express 5 that accepts this service's access tokens.
//   npm install express && ISSUER=https://id.example CLIENT_ID=rs_… CLIENT_SECRET=… node express.mjs
import express from 'express'

import { challengeFor, tokenOf } from './introspect.mjs'

const needs = (scope) => async (request, response, next) => {
  const token = await tokenOf(request.headers.authorization)
  if (!token) {
    return response
      .status(401)
      .set(challengeFor('invalid_token', scope))
      .json({ error: 'invalid_token' })
  }
  if (!token.scope?.split(' ').includes(scope)) {
    return response
      .status(403)
      .set(challengeFor('insufficient_scope', scope))
      .json({ error: 'insufficient_scope' })
  }
  request.token = token
  next()
}

const app = express()
app.get('/orders', needs('account:read'), ({ token }, response) => {
  response.json({ hello: token.sub, site: token.org_id, roles: token.roles })
})
// Handles errors of the introspection: the token could not be checked, so send no challenge.
app.use((error, _request, response, _next) => {
  console.error('introspection failed:', error.message)
  response.status(503).set('Retry-After', '1').json({ error: 'temporarily_unavailable' })
})
app.listen(Number(process.env.PORT ?? 8080), '127.0.0.1')
