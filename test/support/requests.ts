import { createHash } from 'node:crypto'

import { type Answers, makeHeadlessPerson } from '../../src/cli/headless-person.ts'
import { paths } from '../../src/http/paths.ts'
import { notes, resourceServer, sam } from './gatehouse.ts'
import { MEMBER_SCOPE } from './relying-party.ts'

/**
 * Plain requests, for what a well-behaved relying party would never send, and for what it hides of
 * an answer.
 */

/** Parameters by name: several values for a list, none at all for undefined. */
export type Fields = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Parsed when it is JSON, the text otherwise. */
  readonly body: unknown
}

/** Long enough for RFC 7636 §4.1, and the same in every test. */
export const codeVerifier = 'a-verifier-of-the-tests-that-is-long-enough-for-it'

export const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url')

/** A complete request of the demo's public member client; `fields` replaces and removes. */
export function authorizationUrl(url: string, fields: Fields = {}): URL {
  const address = new URL(paths.authorization, url)
  address.search = encode({
    response_type: 'code',
    client_id: notes.clientId,
    redirect_uri: notes.redirectUri,
    scope: MEMBER_SCOPE,
    resource: url,
    state: 'the-state',
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    ...fields,
  }).toString()
  return address
}

/** Sends an authorization request and follows no redirect. */
export async function ask(url: string, fields: Fields = {}): Promise<Answer> {
  return await answerOf(await fetch(authorizationUrl(url, fields), { redirect: 'manual' }))
}

/** Where an answer sends the browser. */
export function locationOf({ headers }: Answer): URL {
  return new URL(headers.get('location') ?? 'none:')
}

/** Sends an authorization request, answers every page of it, and returns what the client is told. */
export async function authorize(
  url: string,
  fields: Fields = {},
  person: Answers = sam,
): Promise<URLSearchParams> {
  const address = authorizationUrl(url, fields)
  const redirectUri = address.searchParams.get('redirect_uri') ?? ''
  return (await makeHeadlessPerson(person).authorize(address, redirectUri)).searchParams
}

export async function getCode(
  url: string,
  fields: Fields = {},
  person: Answers = sam,
): Promise<string> {
  const answer = await authorize(url, fields, person)
  const code = answer.get('code')
  if (code) return code
  throw new Error(`no code: ${answer}`)
}

/** Exchanges a code as the demo's public member client; `fields` replaces and removes. */
export async function exchange(url: string, code: string, fields: Fields = {}): Promise<Answer> {
  return await postForm(url + paths.token, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: notes.redirectUri,
    client_id: notes.clientId,
    code_verifier: codeVerifier,
    resource: url,
    ...fields,
  })
}

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token?: string
  readonly scope: string
}

/** Who asks for what, in requests that belong together. */
export interface Obtaining {
  readonly authorization?: Fields
  readonly token?: Fields
  readonly person?: Answers
}

/** Signs in, consents and exchanges the code. */
export async function obtain(url: string, obtaining: Obtaining = {}): Promise<Tokens> {
  const { authorization, token, person } = obtaining
  const answer = await exchange(url, await getCode(url, authorization, person), token)
  if (answer.status === 200) return answer.body as Tokens
  throw new Error(`no tokens: ${JSON.stringify(answer.body)}`)
}

export async function refresh(url: string, token: string, fields: Fields = {}): Promise<Answer> {
  return await postForm(url + paths.token, {
    grant_type: 'refresh_token',
    refresh_token: token,
    client_id: notes.clientId,
    ...fields,
  })
}

/** Asks as the demo's resource server unless the fields name another client. */
export async function introspect(url: string, token: string, fields: Fields = {}): Promise<Answer> {
  return await postForm(url + paths.introspection, {
    token,
    client_id: resourceServer.clientId,
    client_secret: resourceServer.clientSecret,
    ...fields,
  })
}

export async function revoke(url: string, token: string, fields: Fields = {}): Promise<Answer> {
  return await postForm(url + paths.revocation, { token, client_id: notes.clientId, ...fields })
}

export async function userinfo(url: string, token: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}` }
  return await answerOf(await fetch(url + paths.userinfo, { headers }))
}

export async function postForm(
  address: string,
  fields: Fields,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const body = encode(fields)
  return await answerOf(await fetch(address, { method: 'POST', body, headers, redirect: 'manual' }))
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    body: isJson ? JSON.parse(text) : text,
  }
}

/** The status and the error code of an answer, which is what most refusals are about. */
export function errorOf({ status, body }: Answer): [number, unknown] {
  return [status, (body as { error?: string } | undefined)?.error]
}

export function encode(fields: Fields): URLSearchParams {
  return new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) =>
      [value ?? []].flat().map((single): [string, string] => [name, single]),
    ),
  )
}
