import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'

import {
  allowInsecureRequests,
  discoveryRequest,
  processDiscoveryResponse,
  validateJwtAccessToken,
} from 'oauth4webapi'

// The API of a platform, in its own process. It discovers the keys of the issuer and validates tokens (RFC 9068 §4)
// with an independent library.
const [port = '', issuer = '', audience = ''] = process.argv.slice(2)
const insecure = { [allowInsecureRequests]: true }

const seen: object[] = []
const closed: string[] = []

async function claimsOf({ headers }: IncomingMessage) {
  const discovered = await discoveryRequest(new URL(issuer), insecure)
  const server = await processDiscoveryResponse(new URL(issuer), discovered)
  const request = new Request(issuer, { headers: { authorization: headers.authorization ?? '' } })
  return await validateJwtAccessToken(server, request, audience, insecure)
}

const answers: Readonly<Record<string, RequestListener>> = {
  '/echo': (request, response) => {
    response.writeHead(201, { 'content-type': 'application/x-echo' })
    request.pipe(response)
  },
  '/redirect': (_, response) => {
    response.writeHead(302, { location: 'https://elsewhere.example/', 'set-cookie': 'a=b' })
    response.end('moved')
  },
  '/loud': (_, response) =>
    response
      .writeHead(200, {
        ...{ 'content-type': 'text/html', etag: '"one"', 'x-total-count': '3' },
        ...{ 'set-cookie': ['a=b', 'c=d'], 'clear-site-data': '"*"', server: 'platform/1.0' },
        'content-security-policy': "default-src 'unsafe-inline'",
        'access-control-allow-origin': 'https://elsewhere.example',
        'access-control-allow-credentials': 'true',
        ...{ 'strict-transport-security': 'max-age=0', 'cache-control': 'public, max-age=9999' },
        ...{ 'x-content-type-options': 'sniff', location: 'https://elsewhere.example/' },
        ...{ refresh: '0; url=https://elsewhere.example/', 'x-powered-by': 'platform' },
        ...{ 'x-accel-redirect': '/secret', 'www-authenticate': 'Basic' },
      })
      .end('<script>1</script>'),
  '/silent': () => {},
  '/stops': (_, response) => response.writeHead(200, { 'content-length': '10' }).write('12345'),
  '/breaks': (_, response) => {
    response.writeHead(200, { 'content-length': '10' }).write('12345', () => response.destroy())
  },
  '/endless': (_, response) => {
    const piece = Buffer.alloc(65_536, 'x')
    const fill = () => {
      while (!response.destroyed && response.write(piece)) {}
    }
    response.writeHead(200).on('drain', fill)
    fill()
  },
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? '', issuer)
  if (url.pathname === '/seen') return response.end(JSON.stringify({ seen, closed }))
  response.once('close', () => closed.push(url.pathname))
  const { method, headers } = request
  try {
    const claims = await claimsOf(request)
    seen.push({ method, url: request.url, headers, claims })
    const rest = url.pathname.replace(/^\/api\/coupons/, '')
    const answer = answers[rest]
    if (answer) return answer(request, response)
    const [, status] = /^\/status\/(\d+)$/.exec(rest) ?? []
    response.writeHead(Number(status ?? 200), { 'content-type': 'application/json' })
    return response.end(
      JSON.stringify({ method, url: request.url, headers: request.rawHeaders, claims }),
    )
  } catch (error) {
    return response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(String(error))
  }
})
server.listen(Number(port), '127.0.0.1')
await once(server, 'listening')
process.stdout.write('listening\n')
