import type { OAuthClientProvider } from '@modelcontextprotocol/client'

import { toolCatalogue } from '../../src/api/mcp/tool-catalogue.ts'
import { scopeNames } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { type Answers, makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { olivia } from './gatehouse.ts'
import { getTokens } from './relying-party.ts'
import { type Answer, type Json, postJson } from './wire.ts'

/** The revisions of MCP that tests use (design 23). */
export const eras = ['2026-07-28', '2025-11-25'] as const
export type Era = (typeof eras)[number]

export interface Sending {
  readonly params?: Record<string, unknown>
  readonly token?: string | undefined
  readonly era?: Era
  readonly headers?: Readonly<Record<string, string>>
  readonly path?: string
}

export async function postRaw(url: string, body: string | Uint8Array<ArrayBuffer>, headers = {}) {
  return await postJson(url + paths.mcp, body, { headers })
}

export async function send(url: string, method: string, sending: Sending = {}): Promise<Answer> {
  const { params = {}, token, era = '2025-11-25', headers = {}, path = paths.mcp } = sending
  const { message, headers: own } = messageOf(method, era, params)
  const sent = { accept: 'application/json, text/event-stream', ...own, ...headers }
  return await postJson(url + path, message, { token, headers: sent })
}

/** Creates a JSON-RPC request and its headers for one revision of the protocol. */
export function messageOf(method: string, era: Era, params: Record<string, unknown>) {
  const modern = era === '2026-07-28'
  const name = params['name'] ?? params['uri']
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'mcp-protocol-version': era,
    ...(modern && { 'mcp-method': method }),
    ...(modern && typeof name === 'string' && { 'mcp-name': name }),
  }
  const sent = modern ? { ...params, _meta: envelope } : params
  return { message: { jsonrpc: '2.0', id: 1, method, params: sent }, headers }
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
}

export type Calling = Omit<Sending, 'params'> & { readonly values?: Record<string, unknown> }

export async function callTool(url: string, name: string, how: Calling = {}): Promise<Answer> {
  const { values = {}, ...sending } = how
  return await send(url, 'tools/call', { ...sending, params: { name, arguments: values } })
}

export async function readTool(url: string, name: string, how?: Calling): Promise<Json> {
  const { status, body } = await callTool(url, name, how)
  const { content, isError } = body.result ?? {}
  if (status !== 200 || isError || !content) {
    throw new Error(`${name} failed: ${status} ${JSON.stringify(body)}`)
  }
  return answerIn(body.result)
}

/** Returns the result of a tool: parsed JSON, or text. */
export function answerIn(answer: object): Json {
  const { content } = answer as { content: unknown }
  const [{ text = '' } = {}] = content as { readonly text?: string }[]
  return text.startsWith('{') ? JSON.parse(text) : text
}

export async function problemOf(url: string, name: string, calling: Calling = {}): Promise<string> {
  const { status, body } = await callTool(url, name, calling)
  if (status !== 200 || body.result?.isError !== true) {
    throw new Error(`${name} did not return an error: ${status} ${JSON.stringify(body)}`)
  }
  return body.result.content[0].text
}

export async function toolNames(url: string, token?: string, sending: Sending = {}) {
  const { body } = await send(url, 'tools/list', { token, ...sending })
  return (body.result.tools as { name: string }[]).map(({ name }) => name)
}

/** Obtains an operator's token for a self-registered loopback client. */
export async function operatorToken(
  url: string,
  scope: string,
  person: Answers = olivia,
  resource?: string,
) {
  const redirectUri = 'http://127.0.0.1:9/operator'
  const { body } = await postJson(url + paths.registration, {
    ...{ client_name: 'Operator tools', redirect_uris: [redirectUri] },
    token_endpoint_auth_method: 'none',
  })
  const clientId: string = body.client_id
  const asked = `openid ${scope}`
  const asking = { clientId, redirectUri, scope: asked, person, ...(resource && { resource }) }
  return (await getTokens(url, asking)).tokens.access_token
}

/** The operator scopes that tools need. */
export const toolScopes: readonly string[] = scopeNames('operator').filter((scope) =>
  toolCatalogue.some(({ access }) => access.kind === 'scopes' && access.needed.includes(scope)),
)

type SdkClient = { readonly clientId?: string; readonly redirectUri: string }

/** Creates the state of an SDK client whose person signs in without a browser. */
export function sdkProvider({ clientId, redirectUri }: SdkClient, person: Answers) {
  const known = clientId === undefined ? undefined : { client_id: clientId }
  let callback: URLSearchParams | undefined
  const state = makeSdkState(known, redirectUri, async (address) => {
    callback = (await makeHeadlessPerson(person).authorize(address, redirectUri)).searchParams
  })
  return { ...state, callback: () => callback as URLSearchParams }
}

/** Creates the state of an SDK client. `visit` opens an authorization request in the person's browser. */
export function makeSdkState(
  client: { client_id: string; issuer?: string } | undefined,
  redirectUri: string,
  visit: (address: URL) => Promise<void>,
) {
  const kept: Record<string, unknown> = { client }
  const asked: string[] = []
  const keep = (name: string) => (value: unknown) => {
    kept[name] = value
  }
  const described = { client_name: 'test client', redirect_uris: [redirectUri] }
  const provider = {
    redirectUrl: redirectUri,
    clientMetadata: { ...described, token_endpoint_auth_method: 'none' },
    clientInformation: () => kept['client'],
    saveClientInformation: keep('client'),
    tokens: () => kept['tokens'],
    saveTokens: keep('tokens'),
    async redirectToAuthorization(address: URL) {
      asked.push(address.searchParams.get('scope') ?? '')
      await visit(address)
    },
    saveCodeVerifier: keep('verifier'),
    codeVerifier: () => kept['verifier'],
    saveDiscoveryState: keep('discovery'),
    discoveryState: () => kept['discovery'],
    /** Forgets the tokens after `invalid_grant`. */
    invalidateCredentials: (what: string) => {
      if (what === 'tokens') kept['tokens'] = undefined
    },
  }
  return {
    asked,
    provider: provider as unknown as OAuthClientProvider,
    accessToken: () => (kept['tokens'] as { access_token: string }).access_token,
  }
}
