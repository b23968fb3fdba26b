import { paths } from '../src/platform/http/paths.ts'
import { notes, resourceServer } from '../test/support/gatehouse.ts'
import { messageOf } from '../test/support/mcp.ts'
import { encode, type Fields } from '../test/support/wire.ts'
import type { Chain, Supply } from './supply.ts'
import { type RequestText, requestBytes, type Source } from './wire-client.ts'

/** An operation to measure. `bare` is whether the bare engine supports it. */
export interface Operation {
  readonly title: string
  readonly bare: boolean
  /** Creates a source of requests for each connection. `requests` is how many requests are needed in total. */
  prepare(
    supply: Supply,
    run: { readonly connections: number; readonly requests: number },
  ): Promise<Source[]>
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_BODY = { 'content-type': 'application/json' }

const table = {
  exchange: {
    title: 'code exchange',
    bare: true,
    async prepare(supply, { connections, requests }) {
      const forms = await supply.codeForms(requests)
      const next = () => {
        const form = forms.pop()
        return form && requestBytes(supply.host, postForm(paths.token, form))
      }
      return Array.from({ length: connections }, () => ({ next }))
    },
  },
  refresh: {
    title: 'refresh',
    bare: true,
    prepare: async ({ host, chains, copies }, { connections }) =>
      chains.slice(0, connections).map((own, connection): Source => {
        const constant = { client_id: notes.clientId, grant_type: 'refresh_token' }
        let chain: Chain = own
        return {
          next() {
            chain = copies?.chainOf(connection) ?? own
            const form = { ...constant, refresh_token: chain.refreshToken }
            return requestBytes(host, postForm(paths.token, form))
          },
          learn(body) {
            chain.refreshToken = JSON.parse(body).refresh_token
          },
        }
      }),
  },
  userinfo: withTokens('UserInfo', true, (token) => ({
    ...{ method: 'GET', path: paths.userinfo },
    headers: bearer(token),
  })),
  introspection: withTokens('introspection', true, (token) => {
    const { clientId: client_id, clientSecret: client_secret } = resourceServer
    return postForm(paths.introspection, { client_id, client_secret, token })
  }),
  discovery: constantly('discovery', true, { method: 'GET', path: paths.openidConfiguration }),
  jwks: constantly('key set', true, { method: 'GET', path: paths.jwks }),
  viewer: withTokens('`{ viewer { id } }`', false, (token) => ({
    ...{ method: 'POST', path: paths.graphql },
    headers: { ...JSON_BODY, ...bearer(token) },
    body: JSON.stringify({ query: '{ viewer { id } }' }),
  })),
  'tool-anonymous': constantly(
    'tools/call, anonymous',
    false,
    toolCall('list_public_courses', { site: 'northlight' }),
  ),
  'tool-member': withTokens('tools/call, member', false, (token) => {
    const { headers, ...call } = toolCall('get_viewer')
    return { ...call, headers: { ...headers, ...bearer(token) } }
  }),
} satisfies Record<string, Operation>

export type OperationName = keyof typeof table

/** The most frequent requests to a service. */
export const operations: Readonly<Record<OperationName, Operation>> = table
export const operationNames: readonly OperationName[] = Object.keys(table) as OperationName[]

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

function postForm(path: string, form: Fields): RequestText {
  return { method: 'POST', path, headers: FORM, body: encode(form).toString() }
}

function toolCall(name: string, values: object = {}): RequestText {
  const { message, headers } = messageOf('tools/call', '2025-11-25', { name, arguments: values })
  return {
    ...{ method: 'POST', path: paths.mcp },
    headers: { accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(message),
  }
}

function constantly(title: string, bare: boolean, request: RequestText): Operation {
  return {
    ...{ title, bare },
    prepare: async ({ host }, { connections }) => {
      const bytes = requestBytes(host, request)
      return Array.from({ length: connections }, () => ({ next: () => bytes, learn: expectGood }))
    },
  }
}

/** Creates an operation with a token of the connection, or of a random grant if the store was filled. */
function withTokens(
  title: string,
  bare: boolean,
  request: (token: string) => RequestText,
): Operation {
  return {
    ...{ title, bare },
    prepare: async ({ host, chains, copies }, { connections }) =>
      chains.slice(0, connections).map(({ accessToken }) => {
        const bytes = requestBytes(host, request(accessToken))
        const next = copies ? () => requestBytes(host, request(copies.accessToken())) : () => bytes
        return { next, learn: expectGood }
      }),
  }
}

/** Throws on a refusal with status 200, as GraphQL, tools and introspection send it. */
function expectGood(body: string): void {
  if (/"errors":|"isError":true|"active":false/.test(body)) throw new Error(`refused: ${body}`)
}
