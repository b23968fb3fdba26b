import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

import { type Answers, makeHeadlessPerson } from '../../src/cli/headless-person.ts'
import { paths } from '../../src/http/paths.ts'
import { notes, sam } from './gatehouse.ts'
import { MEMBER_SCOPE } from './relying-party.ts'

/**
 * Requests as they are on the wire. A client library repairs, normalises or refuses what an attacker
 * sends; nothing here does.
 */
export interface WireRequest {
  readonly method?: string
  /** The request target, byte for byte. */
  readonly path: string
  /** Names and values in turn, so that a header can be sent twice. */
  readonly headers?: readonly string[]
  readonly body?: string
}

export interface WireAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export async function send(url: string, asked: WireRequest): Promise<WireAnswer> {
  const { hostname, port, host } = new URL(url)
  const { method = 'GET', path, headers = [], body } = asked
  const namesHost = headers.some((name, position) => position % 2 === 0 && /^host$/i.test(name))
  const outgoing = request({
    ...{ hostname, port, method, path, agent: false, setHost: false },
    headers: [
      ...(namesHost ? [] : ['Host', host]),
      ...headers,
      ...(body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))]),
    ],
  })
  outgoing.end(body)
  const [answer] = await once(outgoing, 'response')
  return { status: answer.statusCode, headers: answer.headers, text: await text(answer) }
}

/** Sends bytes over a socket and returns all that comes back until the server closes. */
export async function sendBytes(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.on('error', () => {})
  socket.write(bytes)
  return await text(socket)
}

export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>

/** Fields as a form or a query; an undefined one is left out, a list is sent as several. */
export function encode(fields: Fields): string {
  const encoded = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) {
    for (const single of [value ?? []].flat()) encoded.append(name, single)
  }
  return encoded.toString()
}

export const FORM: readonly string[] = ['Content-Type', 'application/x-www-form-urlencoded']

export async function postForm(
  ...[url, path, fields, headers = []]: [string, string, Fields, (readonly string[])?]
): Promise<WireAnswer> {
  return await send(url, {
    method: 'POST',
    path,
    headers: [...FORM, ...headers],
    body: encode(fields),
  })
}

/** The answer's JSON object; an answer that is not one fails the test. */
export function jsonOf({ text: body }: WireAnswer): Readonly<Record<string, unknown>> {
  return JSON.parse(body)
}

/** The error code of an answer, and its status: what a client tells refusals apart by. */
export function refusalOf(answer: WireAnswer): string {
  return `${answer.status} ${jsonOf(answer)['error']}`
}

/** Basic credentials (RFC 6749 §2.3.1). */
export function basic(clientId: string, clientSecret: string): readonly string[] {
  const pair = [clientId, clientSecret].map(encodeURIComponent).join(':')
  return ['Authorization', `Basic ${Buffer.from(pair).toString('base64')}`]
}

export function bearer(token: string): readonly string[] {
  return ['Authorization', `Bearer ${token}`]
}

export function makePkce() {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** A complete authorization request of the demo's public member client; fields replace its own. */
export function authorizeUrl(url: string, fields: Fields = {}): URL {
  const complete = {
    response_type: 'code',
    client_id: notes.clientId,
    redirect_uri: notes.redirectUri,
    scope: MEMBER_SCOPE,
    resource: url,
    state: 'state-of-the-test',
    code_challenge: makePkce().challenge,
    code_challenge_method: 'S256',
    ...fields,
  }
  return new URL(`${paths.authorization}?${encode(complete)}`, url)
}

export interface ObtainedCode {
  readonly code: string
  readonly verifier: string
  readonly callback: URL
  readonly person: ReturnType<typeof makeHeadlessPerson>
  /** The form of the token request that redeems the code. */
  readonly form: Fields
}

/** Signs a person in and brings the code back. */
export async function obtainCode(
  url: string,
  fields: Readonly<Record<string, string | undefined>> = {},
  answers: Answers = sam,
): Promise<ObtainedCode> {
  const { verifier, challenge } = makePkce()
  const start = authorizeUrl(url, { code_challenge: challenge, ...fields })
  const asked = start.searchParams
  const person = makeHeadlessPerson(answers)
  const redirectUri = asked.get('redirect_uri') ?? notes.redirectUri
  const callback = await person.authorize(start, redirectUri)
  const code = callback.searchParams.get('code')
  if (code === null) throw new Error(`no code came back: ${callback.search}`)
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: asked.get('client_id') ?? notes.clientId,
    code_verifier: verifier,
    resource: asked.get('resource') ?? undefined,
  }
  return { code, verifier, callback, person, form }
}

export interface ObtainedTokens extends ObtainedCode {
  readonly accessToken: string
  readonly refreshToken: string
  readonly answer: Readonly<Record<string, unknown>>
}

/** Signs a person in and exchanges the code. */
export async function obtainTokens(
  ...[url, fields, answers]: Parameters<typeof obtainCode>
): Promise<ObtainedTokens> {
  const obtained = await obtainCode(url, fields, answers)
  const response = await postForm(url, paths.token, obtained.form)
  if (response.status !== 200) throw new Error(`no tokens: ${response.text}`)
  const answer = jsonOf(response)
  return {
    ...obtained,
    answer,
    accessToken: String(answer['access_token']),
    refreshToken: String(answer['refresh_token']),
  }
}

/** Uses a refresh token of the demo's public client. */
export async function refresh(
  url: string,
  refreshToken: string,
  fields: Fields = {},
): Promise<WireAnswer> {
  return await postForm(url, paths.token, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: notes.clientId,
    ...fields,
  })
}
