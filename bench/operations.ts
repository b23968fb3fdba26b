import { randomUUID } from 'node:crypto'

import { paths } from '../src/platform/http/paths.ts'
import { messageOf } from '../test/support/mcp.ts'
import { encode, type Fields } from '../test/support/wire.ts'
import type { Chain, Supply } from './prepared-tokens.ts'
import { type RequestText, requestBytes, type Source } from './wire-client.ts'

/** An operation to measure. `standard` is whether other authorization servers support it. */
export interface Operation {
  readonly title: string
  readonly standard: boolean
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
    standard: true,
    async prepare(supply, { connections, requests }) {
      const forms = await supply.codeForms(requests)
      const next = () => {
        const form = forms.pop()
        return form && requestBytes(supply.host, postForm(supply.endpoints.token, form))
      }
      return Array.from({ length: connections }, () => ({ next }))
    },
  },
  refresh: {
    title: 'refresh',
    standard: true,
    prepare: async ({ host, endpoints, client, chains, copies }, { connections }) =>
      chains.slice(0, connections).map((own, connection): Source => {
        const constant = { ...client, grant_type: 'refresh_token' }
        let chain: Chain = own
        return {
          next() {
            chain = copies?.chainOf(connection) ?? own
            const form = { ...constant, refresh_token: chain.refreshToken }
            return requestBytes(host, postForm(endpoints.token, form))
          },
          learn(body) {
            const { refresh_token: refreshToken, access_token: accessToken } = JSON.parse(body)
            // Replace the access token, too, because Hydra revokes the earlier one.
            Object.assign(chain, { refreshToken, accessToken })
          },
        }
      }),
  },
  userinfo: withTokens('UserInfo', true, (token, { endpoints }) => ({
    ...{ method: 'GET', path: endpoints.userinfo },
    headers: bearer(token),
  })),
  introspection: withTokens('introspection', true, (token, { endpoints, caller }) =>
    postForm(endpoints.introspection, { ...caller, token }),
  ),
  discovery: constantly('discovery', true, ({ endpoints }) => get(endpoints.discovery)),
  jwks: constantly('key set', true, ({ endpoints }) => get(endpoints.jwks)),
  viewer: withTokens('`{ viewer { id } }`', false, (token) => ({
    ...{ method: 'POST', path: paths.graphql },
    headers: { ...JSON_BODY, ...bearer(token) },
    body: JSON.stringify({ query: '{ viewer { id } }' }),
  })),
  'tool-anonymous': constantly('tools/call, anonymous', false, () =>
    toolCall('list_public_courses', { site: 'northlight' }),
  ),
  'tool-member': withTokens('tools/call, member', false, (token) => {
    const { headers, ...call } = toolCall('get_viewer')
    return { ...call, headers: { ...headers, ...bearer(token) } }
  }),
  'admin-list': byOperator('Admin API list', '{ members { totalCount nodes { id name email } } }'),
  'admin-mutation': byOperator(
    'Admin API mutation',
    'mutation ($description: String) { updateSite(input: { description: $description }) { id } }',
  ),
} satisfies Record<string, Operation>

export type OperationName = keyof typeof table

/** The operations that the bench can measure. */
export const operations: Readonly<Record<OperationName, Operation>> = table
export const operationNames: readonly OperationName[] = Object.keys(table) as OperationName[]

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

function get(path: string): RequestText {
  return { method: 'GET', path }
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

function constantly(
  title: string,
  standard: boolean,
  request: (supply: Supply) => RequestText,
): Operation {
  return {
    ...{ title, standard },
    prepare: async (supply, { connections }) => {
      const bytes = requestBytes(supply.host, request(supply))
      return Array.from({ length: connections }, () => ({ next: () => bytes, learn: expectGood }))
    },
  }
}

/** Creates an operation that sends the connection's token, or that of a random grant if the store was filled. */
function withTokens(
  title: string,
  standard: boolean,
  request: (token: string, supply: Supply) => RequestText,
): Operation {
  return {
    ...{ title, standard },
    prepare: async (supply, { connections }) => {
      const bytesOf = (token: string) => requestBytes(supply.host, request(token, supply))
      return supply.chains.slice(0, connections).map(({ accessToken }) => {
        const bytes = bytesOf(accessToken)
        const { copies } = supply
        const next = copies ? () => bytesOf(copies.accessToken()) : () => bytes
        return { next, learn: expectGood }
      })
    },
  }
}

/** Creates an Admin API operation. Each request has a new `description`, so a mutation always changes the site. */
function byOperator(title: string, query: string): Operation {
  return {
    ...{ title, standard: false },
    async prepare({ host, operatorToken }, { connections }) {
      const headers = { ...JSON_BODY, ...bearer(await operatorToken()) }
      const next = () => {
        const body = JSON.stringify({ query, variables: { description: randomUUID() } })
        return requestBytes(host, { method: 'POST', path: paths.adminGraphql, headers, body })
      }
      return Array.from({ length: connections }, () => ({ next, learn: expectGood }))
    },
  }
}

/** Throws if the body reports a refusal. GraphQL, tools and introspection send refusals with status 200. */
function expectGood(body: string): void {
  if (/"errors":|"isError":true|"active":false/.test(body)) throw new Error(`refused: ${body}`)
}
