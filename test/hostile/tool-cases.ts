import { paths } from '../../src/platform/http/paths.ts'
import { callTool, messageOf } from '../support/mcp.ts'
import { type Answer, bearer, send } from '../support/wire.ts'
import { answered, type Entries, numbered, tableOf } from './case.ts'
import type { World } from './world.ts'

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

interface Sending {
  readonly body?: unknown
  readonly headers?: readonly string[]
  readonly path?: string
  readonly method?: string
}

async function post(url: string, sending: Sending): Promise<Answer> {
  const { body = ping, headers = [], path = paths.mcp, method = 'POST' } = sending
  const typed = headers.some((name) => /^content-type$/i.test(name))
  return await send(url, {
    method,
    path,
    headers: [
      ...(typed ? [] : ['Content-Type', 'application/json']),
      ...['Accept', 'application/json, text/event-stream', ...headers],
    ],
    ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}

/** Headers that pages from other origins send, for example after DNS rebinding (CVE-2025-66414, CVE-2025-66416). */
const strangers: readonly (readonly [what: string, ...headers: string[]])[] = [
  ['foreign Host (CVE-2025-66414)', 'Host', 'evil.example'],
  ['foreign Host with a port (CVE-2025-66416)', 'Host', 'evil.example:80'],
  ['Host with a user name', 'Host', 'evil@127.0.0.1'],
  ['Host with this one as prefix', 'Host', '127.0.0.1.evil.example'],
  ['foreign Origin (CVE-2025-66414)', 'Origin', 'https://evil.example'],
  ['Origin: null', 'Origin', 'null'],
  ['Origin: file://', 'Origin', 'file://'],
  ['Origin with this host as prefix', 'Origin', 'http://127.0.0.1.evil.example'],
  ['Origin with a path', 'Origin', 'http://127.0.0.1/path'],
  ['Origin with a user name', 'Origin', 'http://127.0.0.1@evil.example'],
  ['two Origin headers', 'Origin', 'http://127.0.0.1', 'Origin', 'https://evil.example'],
]

const hostRows = (
  [
    [2700, 'at /mcp', paths.mcp],
    [2720, 'at /mcp/member', paths.mcpMember],
    [2740, 'at /mcp/admin', paths.mcpAdmin],
  ] as const
).flatMap(([first, at, path]) =>
  numbered(
    { first, attack: (what) => [what, at] },
    answered('403 -32600', strangers),
    async (world, headers) => {
      const token = bearer((await world.shared()).accessToken)
      const answers = [
        await post(world.url, { path, headers: [...headers, ...token] }),
        await post(world.url, { path, method: 'OPTIONS', headers }),
      ]
      for (const answer of answers)
        expect(answer.headers.get('access-control-allow-origin')).to.equal(null)
      return answers
    },
  ),
)

const asked = (method: string, params: object) => ({ body: { ...ping, method, params } })
const reading = (uri: string) => asked('resources/read', { uri })
const readingPrivate = reading('http://169.254.169.254/')
const slowUri = `gatehouse://${'a,'.repeat(20_000)}!`
const viewer = { name: 'get_viewer' }
const typed = (type: string, body: unknown = ping) => ({ body, headers: ['Content-Type', type] })
const session = ['Mcp-Session-Id', 'x']

const UNSUPPORTED = '415 invalid_request'

/** Messages that are malformed, too large or unsupported. */
const messages: Entries<[sending: Sending]> = [
  ['batch of messages', '400 -32600', { body: [ping, asked('tools/call', viewer).body] }],
  ['empty batch', '400 -32600', { body: [] }],
  ['truncated message', '400 -32700', { body: '{"jsonrpc":' }],
  ['message as text/plain, which foreign pages may send', UNSUPPORTED, typed('text/plain')],
  ['message as a form', UNSUPPORTED, typed('application/x-www-form-urlencoded', 'jsonrpc=2.0')],
  ['message of 300 kB', '413 invalid_request', asked('ping', { x: 'x'.repeat(300_000) })],
  ['20,000 nested brackets', '400 -32600', { body: `${'['.repeat(20_000)}${']'.repeat(20_000)}` }],
  ['number as message', '400 -32600', { body: '1' }],
  ['message of JSON-RPC 1.0', '400 -32600', { body: { ...ping, jsonrpc: '1.0' } }],
  ['method that is not a string', '400 -32600', { body: { ...ping, method: { toString: 'x' } } }],
  ['method named like an inherited property', '200 -32601', asked('__proto__', {})],
  ['method of clients', '200 -32601', asked('sampling/createMessage', {})],
  ['resource of a file', '200 -32602', reading('file:///etc/passwd')],
  ['resource at a private address (CVE-2026-5469)', '200 -32602', readingPrivate],
  ['resource URI that is slow to match (CVE-2026-0621)', '200 -32602', reading(slowUri)],
  ['unknown prompt', '200 -32602', asked('prompts/get', { name: '__proto__' })],
  ['GET with a session id', '405 invalid_request', { method: 'GET', headers: session }],
  ['DELETE with a session id', '405 invalid_request', { method: 'DELETE', headers: session }],
]

const messageRows = numbered(2760, messages, async ({ url }, [sending]) => await post(url, sending))

/** Returns a function that calls get_viewer with headers that name another tool or method. */
const disguised = (headers: Record<string, string>) => async (world: World) => {
  const params = { name: 'get_viewer', arguments: {} }
  const { message: body, headers: own } = messageOf('tools/call', '2026-07-28', params)
  return await post(world.url, { body, headers: Object.entries({ ...own, ...headers }).flat() })
}

/** Returns a call with nested brackets as an argument. */
const nested = (name: string, levels: number) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{"title":${'['.repeat(levels)}${']'.repeat(levels)}}}}`

const called =
  (name: string, values = {}) =>
  ({ url }: World) =>
    callTool(url, name, { values })
const calledByMember =
  (name: string, path: string, values = {}) =>
  async (world: World) =>
    await callTool(world.url, name, { token: (await world.shared()).accessToken, path, values })
const callListing = (path: string) => calledByMember('list_site_courses', path)

const TOKEN = '401 invalid_token'
const asPublic = disguised({ 'mcp-name': 'get_service_info' })
const asList = disguised({ 'mcp-method': 'tools/list' })
const inherited = ['__proto__', 'constructor', 'toString']
const callInherited = async (world: World) =>
  await Promise.all(inherited.map((name) => called(name)(world)))
const readOlivia = calledByMember('get_viewer', paths.mcp, { person: 'per_olivia' })
const strange = { __proto__: { admin: true }, userId: 'per_olivia' }

const calls: Entries<[call: (world: World) => Promise<Answer | Answer[]>]> = [
  ['member tool without a token', TOKEN, called('get_viewer')],
  ['member tool with the header of a public one', TOKEN, asPublic],
  ['member tool with another method in the header', TOKEN, asList],
  ['operator tool with a member token', '200 refused', callListing(paths.mcp)],
  ['operator tool at /mcp/member', '200 -32602', callListing(paths.mcpMember)],
  ['tool name in upper case', '200 -32602', called('GET_SERVICE_INFO')],
  ['tool named like an inherited property', '200 -32602', callInherited],
  ['unknown arguments', '200 refused', called('get_service_info', strange)],
  ['id of another person as argument (CVE-2025-61928)', '200 refused', readOlivia],
  ['unknown tool with shell commands (CVE-2025-6514)', '200 -32602', called('x; rm -rf / #')],
]

const deep: Entries<[name: string, levels: number]> = [
  ['an operator tool (CVE-2025-59466)', '400 -32600', 'create_post', 60_000],
  ['a public tool', '400 -32600', 'list_sites', 5000],
]

const deepRows = numbered(
  { first: 3700, attack: (what) => `deeply nested arguments of ${what}` },
  deep,
  async (world, [name, levels]) => {
    const headers = name === 'create_post' ? bearer(await world.operator()) : []
    return await post(world.url, { body: nested(name, levels), headers })
  },
)

export const toolCases = tableOf('Tools', 'tool-cases.ts', [
  ...[...hostRows, ...messageRows, ...deepRows],
  ...numbered(2790, calls, async (world, [call]) => await call(world)),
])
