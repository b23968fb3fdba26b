import { createHash, randomBytes } from 'node:crypto'

import { paths } from '../../src/platform/http/paths.ts'
import {
  type Answers,
  type HeadlessPerson,
  makeHeadlessPerson,
} from '../../tools/token/headless-person.ts'
import { claude, notes, portal, resourceServer, sam } from './gatehouse.ts'
import { cookiesIn, hiddenField, targetOf } from './page-person.ts'
import { MEMBER_SCOPE } from './relying-party.ts'
import { type Answer, bearer, encode, type Fields, get, postForm, send } from './wire.ts'

// By default, these functions act as the demo's public member client. `fields` replaces parameters; undefined removes one.

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

export const codeVerifier = 'a-verifier-of-the-tests-that-is-long-enough-for-it'

export const codeChallenge = challengeOf(codeVerifier)

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

export function makePkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: challengeOf(verifier) }
}

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

/** Sends an authorization request without cookies, and accepts HTML. */
export async function askToAuthorize(url: string, fields: Fields = {}): Promise<Answer> {
  return await get(authorizeUrl(url, fields).href, ['Accept', 'text/html'])
}

export function locationOf({ headers }: Answer): URL {
  return new URL(headers.get('location') ?? 'none:')
}

export function errorOf(answer: Answer): string | null {
  return locationOf(answer).searchParams.get('error')
}

/** Registers a client (RFC 7591). If `metadata` is a string, sends it unchanged. */
export async function register(url: string, metadata: unknown, headers: readonly string[] = []) {
  const type = headers.includes('Content-Type') ? [] : ['Content-Type', 'application/json']
  return await send(url, {
    method: 'POST',
    path: paths.registration,
    headers: [...type, ...headers],
    body: typeof metadata === 'string' ? metadata : JSON.stringify(metadata),
  })
}

/** Sends an authorization request, completes its pages, and returns the parameters of the callback. */
export async function authorize(url: string, fields: Fields = {}, person: Answers = sam) {
  const address = authorizeUrl(url, fields)
  const redirectUri = address.searchParams.get('redirect_uri') ?? ''
  return (await makeHeadlessPerson(person).authorize(address, redirectUri)).searchParams
}

type Browser = { open(address: URL): Promise<Response> }

/** Opens an authorization request in a browser. Returns the URL of the page or callback to which it leads. */
export async function openAuthorization(person: Browser, url: string, fields: Fields = {}) {
  return targetOf(await person.open(authorizeUrl(url, fields)), url)
}

/** Opens the sign-in page in a new browser with these cookies. Returns a function that sends its form. */
export async function openSignIn(url: string, kept: string[] = []) {
  const start = await askToAuthorize(url)
  const path = start.headers.get('location') ?? ''
  const cookies = ['Cookie', [cookiesIn(start.headers.getSetCookie()), ...kept].join('; ')]
  const csrf = hiddenField((await get(url + path, cookies)).text)
  return async (typed: Pick<Answers, 'login' | 'password'>, headers: readonly string[] = []) =>
    await postForm(url + path, { csrf, ...typed }, [...cookies, ...headers])
}

export type ObtainedCode = Awaited<ReturnType<typeof obtainCode>>

export async function obtainCode(url: string, fields: Fields = {}, answers: Answers = sam) {
  const person = makeHeadlessPerson(answers)
  return { ...(await codeBy(person, url, fields)), person }
}

/** Obtains a code for a person who may already be signed in. Also returns the form that redeems it. */
export async function codeBy(person: HeadlessPerson, url: string, fields: Fields = {}) {
  const start = authorizeUrl(url, fields)
  const wanted = start.searchParams
  const redirect_uri = wanted.get('redirect_uri') ?? notes.redirectUri
  const callback = await person.authorize(start, redirect_uri)
  const code = callback.searchParams.get('code')
  if (code === null) throw new Error(`no code came back: ${callback.search}`)
  const client_id = wanted.get('client_id') ?? notes.clientId
  const resource = wanted.get('resource') ?? undefined
  return { code, callback, form: codeForm(code, { redirect_uri, client_id, resource }) }
}

const codeForm = (code: string, fields: Fields): Fields => ({
  ...{ grant_type: 'authorization_code', code, code_verifier: codeVerifier },
  ...{ redirect_uri: notes.redirectUri, client_id: notes.clientId },
  ...fields,
})

export async function getCode(...wanted: Parameters<typeof obtainCode>): Promise<string> {
  return (await obtainCode(...wanted)).code
}

/** Exchanges a code, with the URL of the service as resource. */
export async function exchange(url: string, code: string, fields?: Fields, headers?: string[]) {
  const form = codeForm(code, { resource: url, ...fields })
  return await postForm(url + paths.token, form, headers)
}

export async function redeem(url: string, { form }: Pick<ObtainedCode, 'form'>): Promise<Answer> {
  return await postForm(url + paths.token, form)
}

export type Tokens = Readonly<Record<'access_token' | 'refresh_token' | 'scope', string>> & {
  readonly id_token?: string
}

export async function obtainTokens(...wanted: Parameters<typeof obtainCode>) {
  const obtained = await obtainCode(...wanted)
  const answer = tokensOf(await redeem(wanted[0], obtained))
  const { access_token: accessToken, refresh_token: refreshToken } = answer
  return { ...obtained, answer, accessToken, refreshToken }
}

type Obtaining = { authorization?: Fields; token?: Fields; person?: Answers }

/** Signs a person in and exchanges the code. Accepts fields for each of the two requests. */
export async function obtain(url: string, asked: Obtaining = {}) {
  const code = await getCode(url, asked.authorization, asked.person)
  return tokensOf(await exchange(url, code, asked.token))
}

function tokensOf({ status, body, text }: Answer): Tokens & Readonly<Record<string, unknown>> {
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

export async function introspect(url: string, token: string, fields: Fields = {}): Promise<Answer> {
  return await postForm(url + paths.introspection, { token, ...asResourceServer, ...fields })
}

export async function revoke(url: string, token: string, fields: Fields = {}): Promise<Answer> {
  return await postForm(url + paths.revocation, { token, client_id: notes.clientId, ...fields })
}

export async function userinfo(url: string, accessToken: string): Promise<Answer> {
  return await get(url + paths.userinfo, bearer(accessToken))
}
