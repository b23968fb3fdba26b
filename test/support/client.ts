import { createHash, randomBytes } from 'node:crypto'

import { paths } from '../../src/platform/http/paths.ts'
import {
  type Answers,
  type HeadlessPerson,
  makeHeadlessPerson,
} from '../../tools/token/headless-person.ts'
import { claude, notes, portal, resourceServer, sam } from './gatehouse.ts'
import { MEMBER_SCOPE } from './relying-party.ts'
import { type Answer, bearer, encode, type Fields, get, postForm, send } from './wire.ts'

/**
 * A client without a library, which can send anything and shows whole responses. By default it is the
 * demo's public member client; given fields replace its own, and undefined removes one. The address may be that
 * of another process than the one that began.
 */

/** Fields of requests by other clients. */
export const asPortal = {
  client_id: portal.clientId,
  redirect_uri: portal.redirectUri,
  client_secret: portal.clientSecret,
}
export const asClaude = { client_id: claude.clientId, redirect_uri: claude.redirectUri }
export const asResourceServer = {
  client_id: resourceServer.clientId,
  client_secret: resourceServer.clientSecret,
}

/** Long enough for RFC 7636 §4.1. */
export const codeVerifier = 'a-verifier-of-the-tests-that-is-long-enough-for-it'

export const codeChallenge: string = challengeOf(codeVerifier)

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

/** A new pair. */
export function makePkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: challengeOf(verifier) }
}

/** A complete authorization request. */
export function authorizeUrl(url: string, fields: Fields = {}): URL {
  const complete = {
    response_type: 'code',
    client_id: notes.clientId,
    redirect_uri: notes.redirectUri,
    scope: MEMBER_SCOPE,
    resource: url,
    state: 'the-state',
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    ...fields,
  }
  return new URL(`${paths.authorization}?${encode(complete)}`, url)
}

/** Sends an authorization request without following redirects. */
export async function askToAuthorize(url: string, fields: Fields = {}): Promise<Answer> {
  return await get(authorizeUrl(url, fields).href)
}

/** The target of a redirect. */
export function locationOf({ headers }: Answer): URL {
  return new URL(headers.get('location') ?? 'none:')
}

/** The `error` that a redirect brings to the client. */
export function errorOf(answer: Answer): string | null {
  return locationOf(answer).searchParams.get('error')
}

/** Registers a client (RFC 7591); a text is sent as it is. */
export async function register(
  url: string,
  metadata: unknown,
  headers: readonly string[] = [],
): Promise<Answer> {
  const type = headers.includes('Content-Type') ? [] : ['Content-Type', 'application/json']
  return await send(url, {
    method: 'POST',
    path: paths.registration,
    headers: [...type, ...headers],
    body: typeof metadata === 'string' ? metadata : JSON.stringify(metadata),
  })
}

/** Completes an authorization request on its pages, and returns the parameters of the redirect. */
export async function authorize(
  url: string,
  fields: Fields = {},
  person: Answers = sam,
): Promise<URLSearchParams> {
  const address = authorizeUrl(url, fields)
  const redirectUri = address.searchParams.get('redirect_uri') ?? ''
  return (await makeHeadlessPerson(person).authorize(address, redirectUri)).searchParams
}

export interface ObtainedCode {
  readonly code: string
  readonly callback: URL
  readonly person: HeadlessPerson
  /** The form of the token request that redeems the code. */
  readonly form: Fields
}

/** Signs a person in and obtains a code. */
export async function obtainCode(
  url: string,
  fields: Fields = {},
  answers: Answers = sam,
): Promise<ObtainedCode> {
  const start = authorizeUrl(url, fields)
  const wanted = start.searchParams
  const person = makeHeadlessPerson(answers)
  const redirectUri = wanted.get('redirect_uri') ?? notes.redirectUri
  const callback = await person.authorize(start, redirectUri)
  const code = callback.searchParams.get('code')
  if (code === null) throw new Error(`no code came back: ${callback.search}`)
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: wanted.get('client_id') ?? notes.clientId,
    code_verifier: codeVerifier,
    resource: wanted.get('resource') ?? undefined,
  }
  return { code, callback, person, form }
}

export async function getCode(
  ...[url, fields, person]: Parameters<typeof obtainCode>
): Promise<string> {
  return (await obtainCode(url, fields, person)).code
}

/** Exchanges a code, with the address as resource. */
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

/** Redeems a code with the fields of its request. */
export async function redeem(url: string, { form }: Pick<ObtainedCode, 'form'>): Promise<Answer> {
  return await postForm(url + paths.token, form)
}

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token?: string
  readonly scope: string
}

export interface ObtainedTokens extends ObtainedCode {
  readonly accessToken: string
  readonly refreshToken: string
  /** The whole response of the token endpoint. */
  readonly answer: Tokens & Readonly<Record<string, unknown>>
}

/** Signs a person in and exchanges the code; returns all values on the way. */
export async function obtainTokens(
  ...[url, fields, answers]: Parameters<typeof obtainCode>
): Promise<ObtainedTokens> {
  const obtained = await obtainCode(url, fields, answers)
  const answer = tokensOf(await redeem(url, obtained))
  return {
    ...obtained,
    answer,
    accessToken: answer.access_token,
    refreshToken: answer.refresh_token,
  }
}

/** The fields of two requests that belong together, and the person. */
export interface Obtaining {
  readonly authorization?: Fields
  readonly token?: Fields
  readonly person?: Answers
}

/** Signs a person in and exchanges the code, with fields for each request. */
export async function obtain(url: string, obtaining: Obtaining = {}): Promise<Tokens> {
  const { authorization, token, person } = obtaining
  return tokensOf(await exchange(url, await getCode(url, authorization, person), token))
}

function tokensOf({ status, body, text }: Answer): ObtainedTokens['answer'] {
  if (status === 200) return body
  throw new Error(`no tokens: ${text}`)
}

export async function refresh(url: string, token: string, fields: Fields = {}): Promise<Answer> {
  return await postForm(url + paths.token, {
    grant_type: 'refresh_token',
    refresh_token: token,
    client_id: notes.clientId,
    ...fields,
  })
}

/** Introspects as the demo's resource server unless the fields name another client. */
export async function introspect(url: string, token: string, fields: Fields = {}): Promise<Answer> {
  return await postForm(url + paths.introspection, { token, ...asResourceServer, ...fields })
}

export async function revoke(url: string, token: string, fields: Fields = {}): Promise<Answer> {
  return await postForm(url + paths.revocation, { token, client_id: notes.clientId, ...fields })
}

export async function userinfo(url: string, accessToken: string): Promise<Answer> {
  return await get(url + paths.userinfo, bearer(accessToken))
}
