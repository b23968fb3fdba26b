import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'

/** The names under which the host answers; nothing resolves them but its own `fetch`. */
const documentHosts = [
  ...['client.example', 'other.example', 'third.example'],
  // Those of the default configuration, whose documents are in test/data/client-documents.
  ...['claude.ai', 'chatgpt.com', 'vscode.dev'],
] as const

/** An https host for metadata documents, with a certificate of its own. */
export interface DocumentHost extends AsyncDisposable {
  /**
   * The platform's own fetch with every option as it came, but for the connection: it leads to this
   * host, whose loopback address the engine's guard would refuse.
   */
  readonly fetch: typeof fetch
  /** Every request that arrived, as `host/path`. */
  readonly requests: string[]
  /** What is served from now on; an object is a document. */
  serve(answer: RequestListener | object): void
  /** Refuses connections, as a host does that is down. */
  goDown(): void
}

export async function startDocumentHost(file: string): Promise<DocumentHost> {
  const { key, cert } = await makeCertificate(file)
  const requests: string[] = []
  let answer: RequestListener = (_request, response) => response.writeHead(404).end()
  let down = false
  const server = createServer({ key, cert }, (request, response) => {
    requests.push(`${request.headers.host}${request.url}`)
    answer(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  const open = (hostname: string): TLSSocket => {
    const options = { host: '127.0.0.1', port: down ? 1 : port, servername: hostname, ca: cert }
    return connect(options)
  }
  return {
    requests,
    fetch: connectingFetch(open),
    serve(next) {
      answer = typeof next === 'function' ? (next as RequestListener) : documentAnswer(next)
    },
    goDown() {
      down = true
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Answers with a document. */
export function documentAnswer(
  document: object,
  headers: Record<string, string> = {},
): RequestListener {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(document))
  }
}

type Connected = (error: Error | null, socket: TLSSocket | null) => void
type AgentClass = new (options: {
  connect: (target: { hostname: string }, done: Connected) => void
}) => object

/** A connection for each request, so that none outlives a change of the host. */
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

/** A key and a certificate of its own for all of these names. */
export async function makeCertificate(file: string): Promise<{ key: Buffer; cert: Buffer }> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-certificate-'))
  try {
    const names = documentHosts.map((name) => `DNS:${name}`).join(',')
    await promisify(execFile)(file, [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-days', '1', '-subj', '/CN=documents', '-addext', `subjectAltName=${names}`],
      ...['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')],
    ])
    return {
      key: readFileSync(join(folder, 'key.pem')),
      cert: readFileSync(join(folder, 'cert.pem')),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
