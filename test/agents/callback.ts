import { createServer } from 'node:http'

import { listen } from '../support/listen.ts'

/** Listens at a loopback redirect URI for the code (RFC 8252 §7.3). */
export async function listenForCallback() {
  const { promise, resolve } = Promise.withResolvers<URLSearchParams>()
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (pathname !== '/callback') return response.writeHead(404).end()
    resolve(searchParams)
    return response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<h1>You may close this</h1>')
  })
  const listening = await listen(server)
  return { ...listening, uri: `${listening.url}/callback`, arrived: promise }
}
