import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Passes every request on with a token, for a program that judges a server and has no way to be
 * handed one. Everything else of a request, its Host and Origin too, goes on as it came.
 */
export async function startTokenBearer(url: string, token: string) {
  const { hostname, port } = new URL(url)
  const server = createServer((incoming, outgoing) => {
    const onward = request(
      {
        ...{ hostname, port, path: incoming.url, method: incoming.method },
        headers: { ...incoming.headers, authorization: `Bearer ${token}` },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      },
    )
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
