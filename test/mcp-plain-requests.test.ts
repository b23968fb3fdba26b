import { readPlainRequest } from '../src/api/mcp/plain-requests.ts'
import { toolAddresses } from '../src/api/mcp/tool-access.ts'
import { paths } from '../src/platform/http/paths.ts'
import { eras, messageOf, operatorToken } from './support/mcp.ts'
import { memberToken } from './support/member-api.ts'
import { sharedService } from './support/storages.ts'
import { postJson } from './support/wire.ts'

const [everywhere] = toolAddresses

type Message = ReturnType<typeof messageOf>

function withMeta({ message }: Pick<Message, 'message'>, more: object) {
  const { params } = message
  const known = '_meta' in params ? params['_meta'] : {}
  return { ...message, params: { ...params, _meta: { ...Object(known), ...more } } }
}

/** Whether a request is plain once it has been serialized as JSON, which drops undefined members. */
function isPlain({ headers, message }: { headers: Message['headers']; message: object }): boolean {
  return readPlainRequest(headers, JSON.parse(JSON.stringify(message)), everywhere) !== undefined
}

describe('plain requests of the tool endpoint', () => {
  const running = sharedService()
  const tokens: Record<string, string | undefined> = {}
  before(async () => {
    tokens['member'] = await memberToken(running().url)
    tokens['operator'] = await operatorToken(running().url, 'courses:read')
  })

  const asked: readonly [who: string, tool: string | undefined, values?: object][] = [
    ...['anonymous', 'member', 'operator'].map((who) => [who, undefined] as [string, undefined]),
    ['anonymous', 'get_service_info', {}],
    ['anonymous', 'get_service_info'],
    ['anonymous', 'list_public_courses', { site: 'northlight' }],
    ['anonymous', 'list_public_courses', { site: 5 }],
    ['anonymous', 'list_public_courses', { site: 'nowhere' }],
    ['member', 'get_viewer'],
    ['member', 'mark_notification_read', { id: 'not-one' }],
    ['operator', 'list_site_courses'],
  ]
  for (const era of eras) {
    for (const [who, name, values] of asked) {
      const what = `${name ?? 'tools/list'} ${JSON.stringify(values) ?? ''}`
      it(`get the same bytes from this service as from the SDK: ${era}, ${who}, ${what}`, async () => {
        const params = name ? { name, ...(values && { arguments: values }) } : {}
        const plain = messageOf(name ? 'tools/call' : 'tools/list', era, params)
        const other = { ...plain, message: withMeta(plain, { 'example.com/unknown': true }) }
        expect([isPlain(plain), isPlain(other)]).to.deep.equal([true, false])
        const [own, bySdk] = await Array.fromAsync([plain, other], async ({ headers, message }) => {
          const how = { headers, token: tokens[who] }
          const answer = await postJson(running().url + paths.mcp, message, how)
          const { 'x-request-id': _id, date: _date, ...told } = Object.fromEntries(answer.headers)
          return { status: answer.status, told, text: answer.text }
        })
        expect([own, own?.status]).to.deep.equal([bySdk, 200])
      })
    }
  }
})

/** Changed members of a request's message, parameters, `_meta` and headers. */
type Change = Readonly<Partial<Record<'message' | 'params' | 'meta' | 'headers', object>>>

describe('requests that plain-requests.ts leaves to the SDK', () => {
  const changes: Readonly<Record<string, Change>> = {
    'another method': { message: { method: 'ping' } },
    'a notification': { message: { id: undefined } },
    'no version of JSON-RPC': { message: { jsonrpc: undefined } },
    'an id that is no integer': { message: { id: 1.5 } },
    'another member of the message': { message: { more: 1 } },
    'another parameter': { params: { task: {} } },
    'parameters as a list': { message: { params: [] } },
    'an unknown tool': { params: { name: 'nothing' }, headers: { 'mcp-name': 'nothing' } },
    'arguments as a list': { params: { arguments: [] } },
    'a progress token as an object': { meta: { progressToken: {} } },
    'an unknown revision': { headers: { 'mcp-protocol-version': '2030-01-01' } },
  }
  const modern: Readonly<Record<string, Change>> = {
    'no revision in the headers': { headers: { 'mcp-protocol-version': undefined } },
    'the earlier revision in the headers': { headers: { 'mcp-protocol-version': '2025-11-25' } },
    'no method in the headers': { headers: { 'mcp-method': undefined } },
    'another method in the headers': { headers: { 'mcp-method': 'tools/list' } },
    'no name in the headers': { headers: { 'mcp-name': undefined } },
    'another name in the headers': { headers: { 'mcp-name': 'get_viewer' } },
    'no revision in the envelope': {
      meta: { 'io.modelcontextprotocol/protocolVersion': undefined },
    },
    'no capabilities in the envelope': {
      meta: { 'io.modelcontextprotocol/clientCapabilities': undefined },
    },
  }
  const earlier: Readonly<Record<string, Change>> = {
    'the later revision in the headers': { headers: { 'mcp-protocol-version': '2026-07-28' } },
  }
  for (const [era, own] of [['2026-07-28', modern] as const, ['2025-11-25', earlier] as const]) {
    for (const [what, { message, params, meta, headers }] of Object.entries({
      ...changes,
      ...own,
    })) {
      it(`${era}: ${what}`, () => {
        const usual = messageOf('tools/call', era, { name: 'sign_in', arguments: {} })
        const known = { ...usual, message: withMeta(usual, { progressToken: 7 }) }
        expect([isPlain(usual), isPlain(known)]).to.deep.equal([true, true])
        const sent = meta ? withMeta(usual, meta) : usual.message
        const changed = { ...sent, params: { ...sent.params, ...params }, ...message }
        const both = { headers: { ...usual.headers, ...headers }, message: changed }
        expect(isPlain(both)).to.equal(false)
      })
    }
  }
})
