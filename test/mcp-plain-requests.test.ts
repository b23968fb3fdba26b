import { expect } from 'chai'

import { readPlainRequest } from '../src/api/mcp/plain-requests.ts'
import { toolAddresses } from '../src/api/mcp/tool-access.ts'
import { paths } from '../src/platform/http/paths.ts'
import { type RunningService, startService } from './support/gatehouse.ts'
import { type Era, eras, messageOf, operatorToken } from './support/mcp.ts'
import { memberToken } from './support/member-api.ts'

const [everywhere] = toolAddresses

interface Asked {
  readonly method: string
  readonly params: Record<string, unknown>
}

const call = (name: string, values?: object): Asked => ({
  method: 'tools/call',
  params: { name, ...(values && { arguments: values }) },
})

const list: Asked = { method: 'tools/list', params: {} }

describe('plain requests of the tool endpoint: answered without the SDK, and as it would answer', () => {
  let service: RunningService
  let tokens: Readonly<Record<'anonymous' | 'member' | 'operator', string | undefined>>

  before(async () => {
    service = await startService()
    tokens = {
      anonymous: undefined,
      member: await memberToken(service.url),
      operator: await operatorToken(service.url, 'courses:read'),
    }
  })

  after(async () => {
    await service[Symbol.asyncDispose]()
  })

  const asked: readonly [who: keyof typeof tokens, what: string, asked: Asked][] = [
    ['anonymous', 'the list', list],
    ['member', 'the list', list],
    ['operator', 'the list', list],
    ['anonymous', 'a call', call('get_service_info', {})],
    ['anonymous', 'a call without arguments', call('get_service_info')],
    ['anonymous', 'a call with arguments', call('list_public_courses', { site: 'northlight' })],
    ['anonymous', 'arguments that do not fit', call('list_public_courses', { site: 5 })],
    ['anonymous', 'a site that is not there', call('list_public_courses', { site: 'nowhere' })],
    ['member', 'a call', call('get_viewer')],
    ['member', 'nothing found', call('mark_notification_read', { id: 'not-one' })],
    ['operator', 'a call', call('list_site_courses')],
  ]
  for (const era of eras) {
    for (const [who, what, { method, params }] of asked) {
      it(`${era}, ${who}, ${what}: the same bytes either way`, async () => {
        const plain = messageOf(method, era, params)
        expect(readPlainRequest(plain.headers, plain.message, everywhere), 'is plain').not.to.equal(
          undefined,
        )
        // What nobody knows is nothing to the SDK, and makes it the one that answers.
        const other = withMeta(plain.message, { 'example.com/unknown': true })
        expect(readPlainRequest(plain.headers, other, everywhere), 'is not plain').to.equal(
          undefined,
        )
        const [one, two] = [
          await sent(plain.headers, plain.message),
          await sent(plain.headers, other),
        ]
        expect(one).to.deep.equal(two)
        expect(one.status).to.equal(200)

        async function sent(headers: Record<string, string>, message: object) {
          const token = tokens[who]
          const response = await fetch(service.url + paths.mcp, {
            method: 'POST',
            headers: { ...headers, ...(token && { authorization: `Bearer ${token}` }) },
            body: JSON.stringify(message),
          })
          const told = Object.fromEntries(response.headers)
          delete told['x-request-id']
          delete told['date']
          return { status: response.status, told, text: await response.text() }
        }
      })
    }
  }

  it('a progress token, which clients send with every call, changes nothing', () => {
    for (const era of eras) {
      const { message, headers } = messageOf('tools/call', era, { name: 'sign_in' })
      const marked = withMeta(message, { progressToken: 7 })
      expect(readPlainRequest(headers, marked, everywhere), era).not.to.equal(undefined)
    }
  })
})

describe('plain requests of the tool endpoint: whatever is unusual is left to the SDK', () => {
  type Change = (message: ReturnType<typeof messageOf>) => { headers?: object; message?: object }

  const changes: Readonly<Record<string, Change>> = {
    'another method': ({ message }) => ({ message: { ...message, method: 'ping' } }),
    'a notification': ({ message: { id: _id, ...message } }) => ({ message }),
    'no version of JSON-RPC': ({ message: { jsonrpc: _jsonrpc, ...message } }) => ({ message }),
    'an id that is no token': ({ message }) => ({ message: { ...message, id: 1.5 } }),
    'another member of the message': ({ message }) => ({ message: { ...message, more: 1 } }),
    'another parameter': ({ message }) => ({
      message: { ...message, params: { ...message.params, task: {} } },
    }),
    'parameters that are none': ({ message }) => ({ message: { ...message, params: [] } }),
    'no such tool': ({ message }) => ({
      message: { ...message, params: { ...message.params, name: 'nothing' } },
      headers: { 'mcp-name': 'nothing' },
    }),
    'arguments that are a list': ({ message }) => ({
      message: { ...message, params: { ...message.params, arguments: [] } },
    }),
    'a progress token that is none': ({ message }) => ({
      message: withMeta(message, { progressToken: {} }),
    }),
    'a revision that nobody speaks': () => ({ headers: { 'mcp-protocol-version': '2030-01-01' } }),
    'the revision of the other generation': ({ headers }) => ({
      headers: { 'mcp-protocol-version': eras.find((era) => era !== version(headers)) },
    }),
  }
  for (const era of eras) {
    for (const [what, change] of Object.entries(changes)) {
      it(`${era}: ${what}`, () => expectLeft(era, change))
    }
  }

  const modernOnly: Readonly<Record<string, object>> = {
    'no revision in the headers': { 'mcp-protocol-version': undefined },
    'no method in the headers': { 'mcp-method': undefined },
    'another method in the headers': { 'mcp-method': 'tools/list' },
    'no name in the headers': { 'mcp-name': undefined },
    'another name in the headers': { 'mcp-name': 'get_viewer' },
  }
  for (const [what, headers] of Object.entries(modernOnly)) {
    it(`2026-07-28: ${what}`, () => expectLeft('2026-07-28', () => ({ headers })))
  }

  it('2026-07-28: an envelope that is not whole', () => {
    for (const part of ['protocolVersion', 'clientCapabilities']) {
      expectLeft('2026-07-28', ({ message }) => ({
        message: withMeta(message, { [`io.modelcontextprotocol/${part}`]: undefined }),
      }))
    }
  })

  function expectLeft(era: Era, change: Change) {
    const usual = messageOf('tools/call', era, { name: 'sign_in', arguments: {} })
    expect(readPlainRequest(usual.headers, usual.message, everywhere)).not.to.equal(undefined)
    const { headers, message = usual.message } = change(usual)
    const left = readPlainRequest({ ...usual.headers, ...headers }, asSent(message), everywhere)
    expect(left).to.equal(undefined)
  }

  function version(headers: Readonly<Record<string, string>>) {
    return headers['mcp-protocol-version']
  }
})

function withMeta(message: ReturnType<typeof messageOf>['message'], more: object) {
  const { params } = message
  const known = '_meta' in params ? params['_meta'] : {}
  return { ...message, params: { ...params, _meta: { ...Object(known), ...more } } }
}

/** As it is after its way, on which what is undefined is left out. */
function asSent(message: object): unknown {
  return JSON.parse(JSON.stringify(message))
}
