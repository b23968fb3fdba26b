import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'

import { makeCertificate } from '../../conformance/certificate.ts'
import { makeGuardedFetch, type SendOutgoing } from '../../src/platform/outgoing/guarded-fetch.ts'
import { listen } from './listen.ts'

const made = makeCertificate([
  ...['client.example', 'other.example', 'third.example'],
  // Hosts of the default configuration; their documents are in config/metadata-documents.json.
  ...['claude.ai', 'chatgpt.com', 'vscode.dev'],
  ...['github.com', 'goose-docs.ai', 'opencode.ai', 'zed.dev'],
])
export const certificate = { key: made.privateKey, cert: Buffer.from(made.certificate) }

export const lookUpHere = async () => [{ address: '127.0.0.1', family: 4 }]

/** Starts an HTTPS server. Its guarded fetch resolves names to 127.0.0.1, and allows that if `admits` returns true. */
export async function startHttpsHost(
  listener: RequestListener,
  { admits = (_address: string): boolean => true } = {},
) {
  const listening = await listen(createServer(certificate, listener))
  const { port } = listening
  const guarded = makeGuardedFetch({ lookUp: lookUpHere, certificates: certificate.cert, port })
  const fetch: SendOutgoing = async (address, init = {}) =>
    await guarded(address, { ...init, ...(admits(address) && { privateAddress: true }) })
  return { ...listening, fetch }
}

export async function startDocumentHost() {
  const requests: string[] = []
  let answer: RequestListener = (_request, response) => response.writeHead(404).end()
  const listener: RequestListener = (request, response) => {
    requests.push(`${request.headers.host}${request.url}`)
    answer(request, response)
  }
  return {
    ...(await startHttpsHost(listener)),
    requests,
    serve(next: RequestListener | object) {
      answer = typeof next === 'function' ? (next as RequestListener) : documentAnswer(next)
    },
  }
}

/** Creates the guarded `fetch` of a service. Collects the errors of its requests. */
export function guardedFetch(options?: Parameters<typeof makeGuardedFetch>[0]) {
  const guarded = makeGuardedFetch(options)
  const failures: Error[] = []
  const fetch: SendOutgoing = async (input, init) =>
    await guarded(input, init).catch((error) => {
      failures.push(error)
      throw error
    })
  return { fetch, failures }
}

export function documentAnswer(document: object, headers: object = {}): RequestListener {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(document))
  }
}
