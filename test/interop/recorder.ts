import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'

import { paths } from '../../src/platform/http/paths.ts'
import { listen } from '../support/listen.ts'

/** What one client sent to the service, in order. */
export interface Wire {
  readonly authorizations: URLSearchParams[]
  /** `basic` states whether the client authenticated with HTTP Basic. */
  readonly tokenRequests: { readonly fields: URLSearchParams; readonly basic: boolean }[]
  /** The grant types of the tokens with which the client fetched data from the Member API. */
  readonly memberAnswers: string[]
  readonly signOuts: URLSearchParams[]
  /** Error responses of the token endpoint and the Member API. */
  readonly refusals: string[]
  /** How many id_tokens were forged. */
  forged: number
}

type Exchange = { method: string; url: URL; headers: IncomingHttpHeaders; body: Buffer }

export type Recorder = Awaited<ReturnType<typeof startRecorder>>

/**
 * A proxy at the public address of the service. It records what each client sends, and can forge the id_tokens of a
 * client.
 */
export async function startRecorder() {
  let service = ''
  const notes = new Notes()
  const server = createServer(async (incoming, outgoing) => {
    try {
      const { method = 'GET', headers } = incoming
      const url = new URL(incoming.url ?? '/', service)
      const body = await buffer(incoming)
      await passOn({ method, url, headers, body }, outgoing, notes)
    } catch {
      outgoing.destroy()
    }
  })
  // As in the service. With a shorter timeout, some connections would close during a request.
  server.keepAliveTimeout = 65_000
  /** Sets the address of the service. */
  const serve = (address: string) => {
    service = address
  }
  return Object.assign(notes, await listen(server), { serve })
}

/** Headers that are not forwarded, because they are hop-by-hop (RFC 9110 §7.6.1) or set anew. */
const ownHeaders = [
  ...['connection', 'keep-alive', 'transfer-encoding', 'content-length'],
  // Java's HTTP client offers HTTP/2.
  ...['upgrade', 'http2-settings'],
]

async function passOn(exchange: Exchange, outgoing: ServerResponse, notes: Notes): Promise<void> {
  const { method, url, headers, body } = exchange
  const forwarded = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (![...ownHeaders, 'host', 'expect'].includes(name)) forwarded.set(name, String(value))
  forwarded.set('accept-encoding', 'identity')
  const response = await fetch(url, {
    method,
    headers: forwarded,
    redirect: 'manual',
    ...(method !== 'GET' && method !== 'HEAD' && { body }),
  })
  const answer = notes.take(exchange, response.status, Buffer.from(await response.arrayBuffer()))
  for (const [name, value] of response.headers)
    if (!ownHeaders.includes(name)) outgoing.appendHeader(name, value)
  outgoing.writeHead(response.status)
  outgoing.end(answer)
}

class Notes {
  readonly #forging = new Set<string>()
  readonly #wires = new Map<string, Wire>()
  /** The client and the grant type of each access token. */
  readonly #tokens = new Map<string, { clientId: string; grant: string }>()

  of(clientId: string): Wire {
    const wire = this.#wires.get(clientId) ?? {
      ...{ authorizations: [], tokenRequests: [], memberAnswers: [], signOuts: [], refusals: [] },
      forged: 0,
    }
    this.#wires.set(clientId, wire)
    return wire
  }

  /** Forges the id_tokens of this client from now on. */
  forge(clientId: string): void {
    this.#forging.add(clientId)
  }

  /** Removes what this client sent. */
  forget(clientId: string): void {
    this.#wires.delete(clientId)
    this.#forging.delete(clientId)
  }

  /** Records one exchange, and returns the body for the caller. */
  take(exchange: Exchange, status: number, answer: Buffer): Buffer {
    const { pathname, searchParams } = exchange.url
    if (pathname === paths.authorization) {
      this.of(searchParams.get('client_id') ?? '').authorizations.push(searchParams)
    }
    if (pathname === paths.endSession) this.#signOut(exchange)
    if (pathname === paths.graphql) this.#memberAnswer(exchange, status, answer)
    return pathname === paths.token && exchange.method === 'POST'
      ? this.#tokenAnswer(exchange, status, answer)
      : answer
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
    wire.tokenRequests.push({ fields, basic: basicId !== undefined })
    if (status !== 200) {
      wire.refusals.push(`${fields.get('grant_type')}: ${status} ${answer}`)
      return answer
    }
    const tokens = JSON.parse(answer.toString()) as { access_token: string; id_token?: string }
    this.#tokens.set(tokens.access_token, { clientId, grant: fields.get('grant_type') ?? '' })
    if (tokens.id_token === undefined || !this.#forging.has(clientId)) return answer
    wire.forged += 1
    return Buffer.from(JSON.stringify({ ...tokens, id_token: forged(tokens.id_token) }))
  }
}

const fieldsOf = (body: Buffer): URLSearchParams => new URLSearchParams(body.toString())

/** Returns the client_id in a Basic header. Both halves are form-encoded before they are joined (RFC 6749 §2.3.1). */
function basicIdOf(authorization = ''): string | undefined {
  const [, encoded] = /^Basic (.+)$/i.exec(authorization) ?? []
  if (encoded === undefined) return undefined
  return decodeURIComponent(Buffer.from(encoded, 'base64').toString().split(':')[0] ?? '')
}

function audienceOf(idToken: string | null): string {
  const [, claims = 'e30'] = (idToken ?? '').split('.')
  return String(JSON.parse(Buffer.from(claims, 'base64url').toString())['aud'])
}

/** Returns the id_token with one changed bit in its signature. */
function forged(idToken: string): string {
  const [head, claims, signature = ''] = idToken.split('.')
  const bytes = Buffer.from(signature, 'base64url')
  bytes.writeUInt8(bytes.readUInt8(9) ^ 1, 9)
  return [head, claims, bytes.toString('base64url')].join('.')
}
