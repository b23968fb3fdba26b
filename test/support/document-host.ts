import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { makeGuardedFetch, type SendOutgoing } from '../../src/platform/outgoing/guarded-fetch.ts'
import { listen } from './listen.ts'
import { temporaryFolder } from './programs.ts'

const documentHosts = [
  ...['client.example', 'other.example', 'third.example'],
  // Hosts of the default configuration; their documents are in config/metadata-documents.json.
  ...['claude.ai', 'chatgpt.com', 'vscode.dev'],
  ...['github.com', 'goose-docs.ai', 'opencode.ai', 'zed.dev'],
]

let certificate: ReturnType<typeof makeCertificate> | undefined

export const lookUpHere = async () => [{ address: '127.0.0.1', family: 4 }]

/** Starts an HTTPS server, and a guarded fetch that resolves all names to it. `admits` allows private addresses. */
export async function startHttpsHost(
  file: string,
  listener: RequestListener,
  { admits = (_address: string): boolean => true } = {},
) {
  certificate ??= makeCertificate(file)
  const { key, cert } = await certificate
  const listening = await listen(createServer({ key, cert }, listener))
  const guarded = makeGuardedFetch({ lookUp: lookUpHere, certificates: cert, port: listening.port })
  const fetch: SendOutgoing = async (address, init = {}) =>
    await guarded(address, { ...init, ...(admits(address) && { privateAddress: true }) })
  return { ...listening, fetch }
}

export async function startDocumentHost(file: string) {
  const requests: string[] = []
  let answer: RequestListener = (_request, response) => response.writeHead(404).end()
  const listener: RequestListener = (request, response) => {
    requests.push(`${request.headers.host}${request.url}`)
    answer(request, response)
  }
  return {
    ...(await startHttpsHost(file, listener)),
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

export async function makeCertificate(file: string, hosts: readonly string[] = documentHosts) {
  const folder = temporaryFolder()
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const names = hosts.map((name) => `DNS:${name}`).join(',')
  await promisify(execFile)(file, [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', '1', '-subj', '/CN=documents', '-addext', `subjectAltName=${names}`],
    ...['-keyout', key, '-out', cert],
  ])
  return { key: readFileSync(key), cert: readFileSync(cert) }
}
