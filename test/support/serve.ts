import { createServer, type RequestListener } from 'node:http'

import { listen } from './listen.ts'

export type Served = Awaited<ReturnType<typeof serve>>

export async function serve(answer: RequestListener) {
  return await listen(createServer(answer))
}

/** Serves one page at every path, as the application to which a browser returns. */
export async function servePage(): Promise<Served> {
  return await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1 id="back">Back</h1>')
  })
}
