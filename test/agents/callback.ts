import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The loopback address at which an application of our own waits for its code (RFC 8252 §7.3). */
export interface Callback extends AsyncDisposable {
  readonly uri: string
  /** What the browser has brought. */
  arrived(): Promise<URLSearchParams>
}

export async function listenForCallback(): Promise<Callback> {
  const { promise, resolve } = Promise.withResolvers<URLSearchParams>()
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (pathname !== '/callback') return response.writeHead(404).end()
    resolve(searchParams)
    return response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<h1>You may close this</h1>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    arrived: async () => await promise,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
