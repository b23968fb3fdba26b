import { readPlainRequest } from '../src/api/mcp/plain-requests.ts'
import { toolAddresses } from '../src/api/mcp/tool-access.ts'
import { paths } from '../src/platform/http/paths.ts'
import { type Era, eras, messageOf, operatorToken } from './support/mcp.ts'
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
        const answers = []
        for (const { headers, message } of [plain, other]) {
          const how = { headers, token: tokens[who] }
          const answer = await postJson(running().url + paths.mcp, message, how)
          const { 'x-request-id': _id, date: _date, ...told } = Object.fromEntries(answer.headers)
          answers.push({ status: answer.status, told, text: answer.text })
        }
        expect([answers[0], answers[0]?.status]).to.deep.equal([answers[1], 200])
      })
    }
  }

  it('may have a progress token', () => {
    for (const era of eras) {
      const sent = messageOf('tools/call', era, { name: 'sign_in' })
      const message = withMeta(sent, { progressToken: 7 })
      expect(isPlain({ ...sent, message }), era).to.equal(true)
    }
  })
})

describe('requests that plain-requests.ts leaves to the SDK', () => {
  type Change = (message: Message) => { headers?: object; message?: object }
  const params =
    (more: object): Change =>
    ({ message }) => ({ message: { ...message, params: { ...message.params, ...more } } })
  const changed =
    (more: object): Change =>
    ({ message }) => ({ message: { ...message, ...more } })
  const headers =
    (sent: object): Change =>
    () => ({ headers: sent })

  const [unknown, named] = [{ name: 'nothing' }, { 'mcp-name': 'nothing' }]
  const changes: Readonly<Record<string, Change>> = {
    'another method': changed({ method: 'ping' }),
    'a notification': changed({ id: undefined }),
    'no version of JSON-RPC': changed({ jsonrpc: undefined }),
    'an id that is no integer': changed({ id: 1.5 }),
    'another member of the message': changed({ more: 1 }),
    'another parameter': params({ task: {} }),
    'parameters as a list': changed({ params: [] }),
    'an unknown tool': (message) => ({ ...params(unknown)(message), headers: named }),
    'arguments as a list': params({ arguments: [] }),
    'a progress token as an object': (sent) => ({ message: withMeta(sent, { progressToken: {} }) }),
    'an unknown revision': headers({ 'mcp-protocol-version': '2030-01-01' }),
    'the other revision': ({ headers: { 'mcp-protocol-version': sent } }) => ({
      headers: { 'mcp-protocol-version': eras.find((era) => era !== sent) },
    }),
  }
  const without = (part: string): Change => {
    const name = `io.modelcontextprotocol/${part}`
    return (sent) => ({ message: withMeta(sent, { [name]: undefined }) })
  }
  const modern: Readonly<Record<string, Change>> = {
    'no revision in the headers': headers({ 'mcp-protocol-version': undefined }),
    'no method in the headers': headers({ 'mcp-method': undefined }),
    'another method in the headers': headers({ 'mcp-method': 'tools/list' }),
    'no name in the headers': headers({ 'mcp-name': undefined }),
    'another name in the headers': headers({ 'mcp-name': 'get_viewer' }),
    'no revision in the envelope': without('protocolVersion'),
    'no capabilities in the envelope': without('clientCapabilities'),
  }
  const leaves = (era: Era, table: Readonly<Record<string, Change>>) => {
    for (const [what, change] of Object.entries(table)) {
      it(`${era}: ${what}`, () => {
        const usual = messageOf('tools/call', era, { name: 'sign_in', arguments: {} })
        expect(isPlain(usual)).to.equal(true)
        const { headers: sent, message = usual.message } = change(usual)
        expect(isPlain({ headers: { ...usual.headers, ...sent }, message })).to.equal(false)
      })
    }
  }
  for (const era of eras) leaves(era, changes)
  leaves('2026-07-28', modern)
})
