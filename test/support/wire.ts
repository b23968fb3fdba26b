import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request that `send` sends as given, on its own connection. `send` adds only Host and Content-Length, as needed. */
export interface WireRequest {
  readonly method?: string
  /** The request target, byte for byte. */
  readonly path: string
  readonly headers?: HeaderFields
  readonly body?: string | URLSearchParams
}

/** Headers by name, or alternating names and values, to send a header twice. */
type HeaderFields = Readonly<Record<string, string>> | readonly string[]

/** Parsed JSON. Tests know its shape. */
// biome-ignore lint/suspicious/noExplicitAny: one place for all tests
export type Json = any

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parsed JSON, or the text. */
  readonly body: Json
}

export async function send(url: string, wanted: WireRequest): Promise<Answer> {
  const { hostname, port, host } = new URL(url)
  const { method = 'GET', path } = wanted
  const body = wanted.body?.toString()
  const headers = inTurn(wanted.headers ?? [])
  const namesHost = headers.some((name, position) => position % 2 === 0 && /^host$/i.test(name))
  const outgoing = request({
    ...{ hostname, port, method, path, agent: false, setHost: false, maxHeaderSize: 131_072 },
    headers: [
      ...(namesHost ? [] : ['Host', host]),
      ...headers,
      ...(body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))]),
    ],
  })
  outgoing.end(body)
  const [incoming] = await once(outgoing, 'response')
  const { statusCode: status, rawHeaders } = incoming
  return complete({ status, headers: new Headers(inPairs(rawHeaders)), text: await text(incoming) })
}

function inTurn(fields: HeaderFields): readonly string[] {
  return Array.isArray(fields) ? fields : Object.entries(fields).flat()
}

function inPairs(fields: readonly string[]): [string, string][] {
  return fields.flatMap((name, position) =>
    position % 2 === 0 ? [[name, fields[position + 1] ?? '']] : [],
  )
}

export async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response
  return complete({ status, headers, text: await response.text() })
}

function complete(seen: Omit<Answer, 'body'>): Answer {
  const isJson = /json/.test(seen.headers.get('content-type') ?? '')
  return { ...seen, body: isJson && seen.text !== '' ? JSON.parse(seen.text) : seen.text }
}

/** Sends bytes, and returns everything that the server sends until it closes the connection. */
export async function sendBytes(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.on('error', () => {})
  socket.write(bytes)
  return await text(socket)
}

/** Parameters by name; a list for several values, undefined for none. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>

export function encode(fields: Fields): URLSearchParams {
  const encoded = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) {
    for (const single of [value ?? []].flat()) encoded.append(name, single)
  }
  return encoded
}

export const FORM: readonly string[] = ['Content-Type', 'application/x-www-form-urlencoded']

/** Posts a form. The URL is sent byte for byte. */
export async function postForm(address: string, fields: Fields, headers: HeaderFields = []) {
  const { origin } = new URL(address)
  return await send(origin, {
    method: 'POST',
    path: address.slice(origin.length),
    headers: [...FORM, ...inTurn(headers)],
    body: encode(fields),
  })
}

export async function get(address: string, headers: HeaderFields = []): Promise<Answer> {
  const { origin } = new URL(address)
  return await send(origin, { path: address.slice(origin.length), headers })
}

/** Sends the CORS preflight for a request by a page of `origin`. `names` lists the headers of the request. */
export async function preflight(
  address: string,
  method: string,
  { origin = 'https://app.example', names = '', host = new URL(address).host } = {},
): Promise<Answer> {
  const { origin: url } = new URL(address)
  const asked = names === '' ? [] : ['Access-Control-Request-Headers', names]
  const sender = ['Host', host, 'Origin', origin]
  const headers = [...sender, 'Access-Control-Request-Method', method, ...asked]
  return await send(url, { method: 'OPTIONS', path: address.slice(url.length), headers })
}

export function refusalOf({ status, body }: Answer): string {
  return `${status} ${body?.error}`
}

export function basic(clientId: string, clientSecret: string): readonly string[] {
  const pair = [clientId, clientSecret].map(encodeURIComponent).join(':')
  return ['Authorization', `Basic ${Buffer.from(pair).toString('base64')}`]
}

/** Expects this status, and these words and patterns in the body. */
export function expectAnswer(
  { status, text }: Pick<Answer, 'status' | 'text'>,
  ...[expected, ...words]: readonly [number, ...(string | RegExp)[]]
): void {
  expect(status, text.slice(0, 2000)).to.equal(expected)
  expectText(text, ...words)
}

/** Expects each of these words and patterns in a text. */
export function expectText(text: string, ...words: readonly (string | RegExp)[]): void {
  for (const each of words) {
    if (typeof each === 'string') expect(text).to.include(each)
    else expect(text).to.match(each)
  }
}

export function bearer(token: string): readonly string[] {
  return ['Authorization', `Bearer ${token}`]
}

export interface JsonOptions {
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Posts JSON. Sends a string or bytes unchanged. */
export async function postJson(address: string, body: unknown, options: JsonOptions = {}) {
  const { token, headers } = options
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(address, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: isRaw ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body),
  })
  return await answerOf(response)
}
