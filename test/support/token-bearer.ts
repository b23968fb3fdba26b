import { createServer, request } from 'node:http'

import { listen } from './listen.ts'

/** Forwards requests with a token, for programs that cannot be given one. Host and Origin stay as they are. */
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
  return await listen(server)
}
