import { paths } from '../../src/platform/http/paths.ts'
import { callTool, messageOf } from '../support/mcp.ts'
import { type Answer, bearer, send } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import type { World } from './world.ts'

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

interface Sending {
  readonly body: unknown
  readonly headers?: readonly string[]
  readonly path?: string
  readonly method?: string
}

async function post(
  url: string,
  { body, headers = [], path = paths.mcp, method = 'POST' }: Sending,
): Promise<Answer> {
  const type = headers.some((name) => /^content-type$/i.test(name))
    ? []
    : ['Content-Type', 'application/json']
  return await send(url, {
    method,
    path,
    headers: [...type, 'Accept', 'application/json, text/event-stream', ...headers],
    ...(method === 'GET' ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}

const toolAddresses = [
  [2700, 'the tools', paths.mcp],
  [2720, 'the tools of members', paths.mcpMember],
  [2740, 'the tools of operators', paths.mcpAdmin],
] as const

/** Who rebinds a name to this machine sends the name (CVE-2025-66414, CVE-2025-66416). */
const strangers: readonly (readonly [what: string, headers: readonly string[]])[] = [
  ['the host of a rebound name (CVE-2025-66414)', ['Host', 'evil.example']],
  ['the host of a rebound name at the same port (CVE-2025-66416)', ['Host', 'evil.example:80']],
  ['a host behind a name', ['Host', 'evil@127.0.0.1']],
  ['a host that begins like this one', ['Host', '127.0.0.1.evil.example']],
  ['the origin of a stranger (CVE-2025-66414)', ['Origin', 'https://evil.example']],
  ['the origin of a document without one', ['Origin', 'null']],
  ['the origin of a file', ['Origin', 'file://']],
  ['an origin that begins like this machine', ['Origin', 'http://127.0.0.1.evil.example']],
  ['an origin with a path', ['Origin', 'http://127.0.0.1/path']],
  ['an origin behind a name', ['Origin', 'http://127.0.0.1@evil.example']],
  ['two origins', ['Origin', 'http://127.0.0.1', 'Origin', 'https://evil.example']],
]

const strangerRows = toolAddresses.flatMap(([first, at, path]) =>
  strangers.map(
    ([what, headers], position): Row => [
      first + position,
      `${what}, at ${at}`,
      '403 -32600',
      async (world) =>
        await post(world.url, {
          body: ping,
          path,
          headers: [...headers, ...bearer((await world.shared()).accessToken)],
        }),
    ],
  ),
)

/** A message that is none, or more than one. */
const messages: readonly (readonly [what: string, answer: string, sending: Sending])[] = [
  [
    'a batch of messages, which would pass the check of one',
    '400 -32600',
    { body: [ping, { ...ping, method: 'tools/call', params: { name: 'get_viewer' } }] },
  ],
  ['an empty batch', '400 -32600', { body: [] }],
  ['half a message', '400 -32700', { body: '{"jsonrpc":' }],
  [
    'a message as text, which a page of another site may send',
    '415 invalid_request',
    { body: ping, headers: ['Content-Type', 'text/plain'] },
  ],
  [
    'a message as a form',
    '415 invalid_request',
    { body: 'jsonrpc=2.0', headers: ['Content-Type', 'application/x-www-form-urlencoded'] },
  ],
  [
    'a message of 300 kB',
    '413 invalid_request',
    { body: { ...ping, params: { x: 'x'.repeat(300_000) } } },
  ],
  [
    'a message in brackets in brackets',
    '400 -32600',
    { body: `${'['.repeat(20_000)}${']'.repeat(20_000)}` },
  ],
  ['a number for a message', '400 -32600', { body: '1' }],
  ['a message of another protocol', '400 -32600', { body: { ...ping, jsonrpc: '1.0' } }],
  ['a method that is no text', '400 -32600', { body: { ...ping, method: { toString: 'x' } } }],
  ['a method that every object has', '200 -32601', { body: { ...ping, method: '__proto__' } }],
  [
    'a method of the other side',
    '200 -32601',
    { body: { ...ping, method: 'sampling/createMessage' } },
  ],
  [
    'a resource that is a file',
    '200 -32602',
    { body: { ...ping, method: 'resources/read', params: { uri: 'file:///etc/passwd' } } },
  ],
  [
    'a resource at an inner address (CVE-2026-5469)',
    '200 -32602',
    { body: { ...ping, method: 'resources/read', params: { uri: 'http://169.254.169.254/' } } },
  ],
  [
    'a resource by a template that takes long to match (CVE-2026-0621)',
    '200 -32602',
    {
      body: {
        ...ping,
        method: 'resources/read',
        params: { uri: `gatehouse://${'a,'.repeat(20_000)}!` },
      },
    },
  ],
  [
    'a prompt that there is not',
    '200 -32602',
    { body: { ...ping, method: 'prompts/get', params: { name: '__proto__' } } },
  ],
  [
    'GET, for a stream of another session',
    '405 invalid_request',
    { body: '', method: 'GET', headers: ['Mcp-Session-Id', 'somebody'] },
  ],
  [
    'DELETE, for the session of another',
    '405 invalid_request',
    { body: '', method: 'DELETE', headers: ['Mcp-Session-Id', 'somebody'] },
  ],
]

const messageRows = messages.map(
  ([what, answer, sending], position): Row => [
    2760 + position,
    `${what}, at the tools`,
    answer,
    async ({ url }) => await post(url, sending),
  ],
)

/** A call that is let in for one tool and means another. */
async function disguised(
  world: World,
  name: string,
  headers: Record<string, string>,
): Promise<Answer> {
  const { message, headers: own } = messageOf('tools/call', '2026-07-28', { name, arguments: {} })
  return await post(world.url, {
    body: message,
    headers: Object.entries({ ...own, ...headers }).flat(),
  })
}

/** Brackets in brackets, where a client puts something. */
const nested = (name: string, levels: number) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{"title":${'['.repeat(levels)}${']'.repeat(levels)}}}}`

const calls: readonly Row[] = [
  [
    3700,
    'arguments in brackets in brackets, of which the key of a change would be made (CVE-2025-59466)',
    '400 -32600',
    async (world) =>
      await post(world.url, {
        body: nested('create_post', 60_000),
        headers: bearer(await world.operator()),
      }),
  ],
  [
    3701,
    'arguments in brackets in brackets, of a tool of everybody',
    '400 -32600',
    async ({ url }) => await post(url, { body: nested('list_sites', 5000) }),
  ],
  [
    2790,
    'a tool of members called without a token',
    '401 invalid_token',
    async ({ url }) => await callTool(url, 'get_viewer'),
  ],
  [
    2791,
    'a tool of members under the header of a public one',
    '401 invalid_token',
    async (world) => await disguised(world, 'get_viewer', { 'mcp-name': 'get_service_info' }),
  ],
  [
    2792,
    'a tool of members with another method in the header',
    '401 invalid_token',
    async (world) => await disguised(world, 'get_viewer', { 'mcp-method': 'tools/list' }),
  ],
  [
    2793,
    'a tool of operators with a member’s token',
    '403 insufficient_scope',
    async (world) =>
      await callTool(world.url, 'list_site_courses', {
        token: (await world.shared()).accessToken,
        path: paths.mcp,
      }),
  ],
  [
    2794,
    'a tool of operators at the address of members',
    '200 -32602',
    async (world) =>
      await callTool(world.url, 'list_site_courses', {
        token: (await world.shared()).accessToken,
        path: paths.mcpMember,
      }),
  ],
  [
    2795,
    'a tool in capitals',
    '200 -32602',
    async ({ url }) => await callTool(url, 'GET_SERVICE_INFO'),
  ],
  [
    2796,
    'a tool that every object has',
    '200 -32602',
    async ({ url }) => [
      await callTool(url, '__proto__'),
      await callTool(url, 'constructor'),
      await callTool(url, 'toString'),
    ],
  ],
  [
    2797,
    'arguments that a tool does not know',
    '200 refused',
    async ({ url }) =>
      await callTool(url, 'get_service_info', {
        values: { __proto__: { admin: true }, userId: 'per_olivia' },
      }),
  ],
  [
    2798,
    'a person of the caller’s choice (CVE-2025-61928)',
    '200 refused',
    async (world) =>
      await callTool(world.url, 'get_viewer', {
        token: (await world.shared()).accessToken,
        values: { person: 'per_olivia' },
      }),
  ],
  [
    2799,
    'a tool of nobody with the words of a shell (CVE-2025-6514)',
    '200 -32602',
    async ({ url }) => await callTool(url, 'x; rm -rf / #'),
  ],
]

export const toolCases = tableOf('Tools', 'tool-cases.ts', [
  ...strangerRows,
  ...messageRows,
  ...calls,
])
