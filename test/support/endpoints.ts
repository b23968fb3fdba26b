import * as oidc from 'openid-client'

import { paths } from '../../src/http/paths.ts'
import { notes, resourceServer } from './gatehouse.ts'
import { MEMBER_SCOPE } from './relying-party.ts'

/** What an endpoint answered, with how long it took. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the body is whatever the service sent
  readonly body: any
  readonly tookMs: number
}

/** One request at one address, which names the process that is to answer. */
export async function ask(address: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const startedAt = performance.now()
  const response = await fetch(address + path, {
    redirect: 'manual',
    // A connection of its own for each: one that broke in an outage must not break the next test.
    ...init,
    headers: { connection: 'close', ...init.headers },
  })
  const text = await response.text()
  const tookMs = performance.now() - startedAt
  return { status: response.status, headers: response.headers, body: parse(text), tookMs }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function post(address: string, path: string, fields: Record<string, string>) {
  return await ask(address, path, { method: 'POST', body: new URLSearchParams(fields) })
}

/** The demo's public member application refreshes. */
export async function refreshAt(address: string, refreshToken: string): Promise<Answer> {
  const { clientId } = notes
  const fields = { client_id: clientId, grant_type: 'refresh_token', refresh_token: refreshToken }
  return await post(address, paths.token, fields)
}

/** A code as its client received it, with what the exchange needs besides. */
export interface Code {
  readonly code: string
  readonly verifier: string
  readonly resource: string
}

export async function exchangeAt(address: string, code: Code): Promise<Answer> {
  return await post(address, paths.token, {
    client_id: notes.clientId,
    grant_type: 'authorization_code',
    redirect_uri: notes.redirectUri,
    code: code.code,
    code_verifier: code.verifier,
    resource: code.resource,
  })
}

/** The demo resource server asks about a token. */
export async function introspectAt(address: string, token: string): Promise<Answer> {
  const { clientId, clientSecret } = resourceServer
  const fields = { client_id: clientId, client_secret: clientSecret, token }
  return await post(address, paths.introspection, fields)
}

export async function revokeAt(address: string, token: string): Promise<Answer> {
  return await post(address, paths.revocation, { client_id: notes.clientId, token })
}

export async function userinfoAt(address: string, accessToken: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${accessToken}` }
  return await ask(address, paths.userinfo, { headers })
}

/** The address of an authorization request of the demo's public member application. */
export async function authorizationRequest(
  baseUrl: string,
): Promise<{ url: URL; verifier: string }> {
  const verifier = oidc.randomPKCECodeVerifier()
  const url = new URL(baseUrl + paths.authorization)
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: notes.clientId,
    redirect_uri: notes.redirectUri,
    scope: MEMBER_SCOPE,
    resource: baseUrl,
    state: oidc.randomState(),
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString()
  return { url, verifier }
}
