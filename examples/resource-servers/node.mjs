// An API in plain Node that accepts this service's access tokens. express.mjs does the same in Express.
//   ISSUER=https://id.example CLIENT_ID=rs_… CLIENT_SECRET=… node node.mjs
import { createServer } from 'node:http'

import { challengeFor, tokenOf } from './introspect.mjs'

const server = createServer(async (request, response) => {
  const answer = (status, body, headers = {}) => {
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      ...headers,
    })
    response.end(JSON.stringify(body))
  }
  try {
    const needed = request.method === 'GET' ? 'account:read' : 'account:write'
    const token = await tokenOf(request.headers.authorization)
    if (!token)
      return answer(401, { error: 'invalid_token' }, challengeFor('invalid_token', needed))
    if (!token.scope?.split(' ').includes(needed)) {
      return answer(
        403,
        { error: 'insufficient_scope' },
        challengeFor('insufficient_scope', needed),
      )
    }
    answer(200, { hello: token.sub, site: token.org_id, roles: token.roles })
  } catch (cause) {
    // The token could not be checked, so send no challenge.
    console.error('introspection failed:', cause.message)
    answer(503, { error: 'temporarily_unavailable' }, { 'Retry-After': '1' })
  }
})

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`listening on ${server.address().port}`)
})
