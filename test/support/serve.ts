import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Served extends AsyncDisposable {
  readonly port: number
  readonly url: string
}

/** Serves HTTP on a free loopback port. */
export async function serve(answer: RequestListener): Promise<Served> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Serves one page at every address, as the application that a browser comes back to. */
export async function servePage(html = '<!doctype html><h1 id="back">Back</h1>'): Promise<Served> {
  return await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(html)
  })
}
