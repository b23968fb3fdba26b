import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

import { paths } from '../../src/platform/http/paths.ts'

/** One request for tokens, as the library sent it. */
export interface TokenRequest {
  readonly fields: URLSearchParams
  /** Whether the client authenticated in a header of HTTP Basic. */
  readonly basic: boolean
  readonly status: number
}

/** What one client sent to the service, in its order. */
export interface Wire {
  readonly authorizations: URLSearchParams[]
  readonly tokenRequests: TokenRequest[]
  /** The grant by which each token came that the Member API answered with data. */
  readonly memberAnswers: string[]
  readonly signOuts: URLSearchParams[]
  /** Refusals of the token endpoint and of the Member API, as they were answered. */
  readonly refusals: string[]
  /** How many id_tokens arrived with a signature that nobody made. */
  forged: number
}

/**
 * Stands between browsers and libraries and the service, at the service's public address. It keeps
 * what each client sent, and can spoil the signatures of a client's id_tokens.
 */
export interface Recorder extends AsyncDisposable {
  readonly url: string
  /** Where the service itself listens. */
  serve(address: string): void
  of(clientId: string): Wire
  /** From now on this client's id_tokens are forged. */
  forge(clientId: string): void
  /** As if this client had sent nothing yet. */
  forget(clientId: string): void
}

interface Exchange {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** As the service keeps connections: a shorter time would close some under a request that is on its way. */
const KEPT_MS = 65_000

export async function startRecorder(): Promise<Recorder> {
  let service = ''
  const notes = new Notes()
  const server = createServer(async (incoming, outgoing) => {
    try {
      const exchange: Exchange = {
        method: incoming.method ?? 'GET',
        url: new URL(incoming.url ?? '/', service),
        headers: incoming.headers,
        body: await buffer(incoming),
      }
      await passOn(exchange, outgoing, notes)
    } catch {
      outgoing.destroy()
    }
  }).listen(0, '127.0.0.1')
  server.keepAliveTimeout = KEPT_MS
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve(address) {
      service = address
    },
    of: (clientId) => notes.of(clientId),
    forge: (clientId) => void notes.forging.add(clientId),
    forget: (clientId) => notes.forget(clientId),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** What belongs to one connection (RFC 9110 §7.6.1), and what the forwarding itself decides. */
const ownHeaders = [
  ...['connection', 'keep-alive', 'transfer-encoding', 'content-length'],
  // The HTTP client of Java offers to speak HTTP/2.
  ...['upgrade', 'http2-settings'],
]

async function passOn(exchange: Exchange, outgoing: ServerResponse, notes: Notes): Promise<void> {
  const { method, url, headers, body } = exchange
  const forwarded = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (![...ownHeaders, 'host', 'expect'].includes(name)) forwarded.set(name, String(value))
  }
  forwarded.set('accept-encoding', 'identity')
  const response = await fetch(url, {
    method,
    headers: forwarded,
    redirect: 'manual',
    ...(method !== 'GET' && method !== 'HEAD' && { body }),
  })
  const answer = notes.take(exchange, response.status, Buffer.from(await response.arrayBuffer()))
  for (const [name, value] of response.headers) {
    if (!ownHeaders.includes(name)) outgoing.appendHeader(name, value)
  }
  outgoing.writeHead(response.status)
  outgoing.end(answer)
}

class Notes {
  readonly forging = new Set<string>()
  readonly #wires = new Map<string, Wire>()
  /** The client and the grant of each access token. */
  readonly #tokens = new Map<string, { clientId: string; grant: string }>()

  of(clientId: string): Wire {
    const wire = this.#wires.get(clientId) ?? {
      ...{ authorizations: [], tokenRequests: [], memberAnswers: [], signOuts: [], refusals: [] },
      forged: 0,
    }
    this.#wires.set(clientId, wire)
    return wire
  }

  forget(clientId: string): void {
    this.#wires.delete(clientId)
    this.forging.delete(clientId)
  }

  /** Notes one exchange, and returns the body that the caller shall see. */
  take(exchange: Exchange, status: number, answer: Buffer): Buffer {
    const { url } = exchange
    if (url.pathname === paths.authorization) this.#authorization(url.searchParams)
    if (url.pathname === paths.endSession) this.#signOut(exchange)
    if (url.pathname === paths.graphql) this.#memberAnswer(exchange, status, answer)
    return url.pathname === paths.token && exchange.method === 'POST'
      ? this.#tokenAnswer(exchange, status, answer)
      : answer
  }

  #authorization(parameters: URLSearchParams): void {
    this.of(parameters.get('client_id') ?? '').authorizations.push(parameters)
  }

  #signOut({ url, body }: Exchange): void {
    const parameters = new URLSearchParams([...url.searchParams, ...fieldsOf(body)])
    const hint = parameters.get('id_token_hint')
    this.of(parameters.get('client_id') ?? audienceOf(hint)).signOuts.push(parameters)
  }

  #memberAnswer({ headers }: Exchange, status: number, answer: Buffer): void {
    const token = this.#tokens.get(/^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '')
    if (token === undefined) return
    const wire = this.of(token.clientId)
    const text = answer.toString()
    if (status === 200 && text.includes('"viewer"')) wire.memberAnswers.push(token.grant)
    else if (status >= 400) wire.refusals.push(`member data: ${status} ${text}`)
  }

  #tokenAnswer({ headers, body }: Exchange, status: number, answer: Buffer): Buffer {
    const fields = fieldsOf(body)
    const basicId = basicIdOf(headers.authorization)
    const clientId = fields.get('client_id') ?? basicId ?? ''
    const wire = this.of(clientId)
    wire.tokenRequests.push({ fields, basic: basicId !== undefined, status })
    if (status !== 200) {
      wire.refusals.push(`${fields.get('grant_type')}: ${status} ${answer}`)
      return answer
    }
    const tokens = JSON.parse(answer.toString()) as { access_token: string; id_token?: string }
    this.#tokens.set(tokens.access_token, { clientId, grant: fields.get('grant_type') ?? '' })
    if (tokens.id_token === undefined || !this.forging.has(clientId)) return answer
    wire.forged += 1
    return Buffer.from(JSON.stringify({ ...tokens, id_token: forged(tokens.id_token) }))
  }
}

function fieldsOf(body: Buffer): URLSearchParams {
  return new URLSearchParams(body.toString())
}

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined. */
function basicIdOf(authorization = ''): string | undefined {
  const [, encoded] = /^Basic (.+)$/i.exec(authorization) ?? []
  if (encoded === undefined) return undefined
  return decodeURIComponent(Buffer.from(encoded, 'base64').toString().split(':')[0] ?? '')
}

function audienceOf(idToken: string | null): string {
  const [, claims = 'e30'] = (idToken ?? '').split('.')
  return String(JSON.parse(Buffer.from(claims, 'base64url').toString())['aud'])
}

/** The same claims under a signature of the right form that no key has made. */
function forged(idToken: string): string {
  const [head, claims, signature = ''] = idToken.split('.')
  const bytes = Buffer.from(signature, 'base64url')
  bytes.writeUInt8(bytes.readUInt8(9) ^ 1, 9)
  return [head, claims, bytes.toString('base64url')].join('.')
}
