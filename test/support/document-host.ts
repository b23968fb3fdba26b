import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
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

export async function startDocumentHost(file: string) {
  certificate ??= makeCertificate(file)
  const { key, cert } = await certificate
  const requests: string[] = []
  let answer: RequestListener = (_request, response) => response.writeHead(404).end()
  let down = false
  const server = createServer({ key, cert }, (request, response) => {
    requests.push(`${request.headers.host}${request.url}`)
    answer(request, response)
  })
  const listening = await listen(server)
  const open = (servername: string) =>
    connect({ host: '127.0.0.1', port: down ? 1 : listening.port, servername, ca: cert })
  return {
    ...listening,
    requests,
    /** Node's fetch, connected to this host for every URL. The engine's guard would reject the host's address. */
    fetch: connectingFetch(open),
    serve(next: RequestListener | object) {
      answer = typeof next === 'function' ? (next as RequestListener) : documentAnswer(next)
    },
    goDown() {
      down = true
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

type Connected = (error: Error | null, socket: TLSSocket | null) => void
type Connect = (target: { hostname: string }, done: Connected) => void
type AgentClass = new (options: { connect: Connect }) => object

/** Returns a `fetch` that opens a connection for each request, so none outlives a change of the host. */
function connectingFetch(open: (hostname: string) => TLSSocket): typeof fetch {
  return async (input, init) => {
    const { dispatcher } = init as unknown as { dispatcher: { constructor: AgentClass } }
    const agent = new dispatcher.constructor({
      connect({ hostname }, done) {
        const socket = open(hostname)
        socket.once('secureConnect', () => done(null, socket))
        socket.once('error', (error) => done(error, null))
      },
    })
    return await fetch(input, { ...init, dispatcher: agent } as RequestInit)
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
