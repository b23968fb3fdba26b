import { paths } from '../../src/platform/http/paths.ts'
import { get, send, sendBytes, type WireRequest } from '../support/wire.ts'
import { answered, type Entries, numbered, row, tableOf } from './case.ts'
import type { World } from './world.ts'

/** `__proto__` occurs twice, because code may collect repeated headers into lists. */
const inherited = ['__proto__', '__proto__', 'constructor', 'toString']
const everyObjectHas = inherited.flatMap((name) => [name, 'x'])

/** Documents that contain the address of this service. */
const documents = [
  ...[paths.openidConfiguration, paths.authorizationServer, paths.protectedResource],
  ...[paths.protectedResourceMcp, paths.openApi, paths.authMd, paths.llmsTxt],
  ...[paths.aiCatalog, paths.serverCard],
] as const

/** Headers that name another host (CVE-2025-64101, GHSA-93m4-mfpg-c3xf, CVE-2026-33495). */
const forwarded = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Port': '666' }
const rewritten = { 'X-Original-URL': '//evil.example/', 'X-Rewrite-URL': '//evil.example/' }
const names: readonly (readonly [what: string, headers: Record<string, string>])[] = [
  ['Host', { Host: 'evil.example' }],
  ['X-Forwarded-Host', { ...forwarded, 'X-Forwarded-Proto': 'https' }],
  ['Forwarded', { Forwarded: 'host=evil.example;proto=https;for=1.2.3.4' }],
  ['X-Original-URL and X-Rewrite-URL', rewritten],
]

const nameRows = documents.flatMap((path, at) =>
  numbered(
    { first: 3400 + 4 * at, attack: (what) => [`foreign host in ${what}`, path] },
    answered('200', names),
    async ({ url }, [headers]) => {
      const answer = await send(url, { path, headers })
      expect(answer.text).to.not.match(/evil\.example|:666|"https:\/\/127\.0\.0\.1/)
      expect(answer.text).to.equal((await get(url + path)).text)
      return answer
    },
  ),
)

const [notFound, invalidToken] = ['404 not_found', '401 invalid_token']
const evilHost = { Host: 'evil.example' }
const toMemberApi = { method: 'POST', path: paths.graphql, headers: evilHost }
const toUserInfo = { path: paths.userinfo, headers: { ...evilHost, Authorization: 'Bearer x' } }
const toAccount = { path: '/account', headers: { ...evilHost, Accept: 'text/html' } }
const openid = paths.openidConfiguration
const preflight = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' }
const toEndpoint = { method: 'OPTIONS', path: paths.authorization, headers: preflight }
const encoded = ['/interaction/%/login', '/interaction/%zz/login', '/interaction/%e0%a4%a/consent']
const tenants = [`${openid}/evil`, `/evil${openid}`, `${paths.authorizationServer}/..%2fevil`]
const cloudMetadata = 'http://169.254.169.254/latest/meta-data'
const tooMany = [...Array(2500).fill(['a', 'b']).flat(), 'X-Forwarded-For', '::1']
const at = (path: string) => ({ path })

/** Requests whose response has a challenge or redirect that a foreign Host could change, and unusual request targets. */
const targets: Entries<[...requests: WireRequest[]]> = [
  ['foreign Host before the challenge of the Member API', invalidToken, toMemberApi],
  ['foreign Host before the challenge of UserInfo', invalidToken, toUserInfo],
  ['foreign Host before a page that redirects', 'to /oauth/authorize', toAccount],
  ['absolute URL of a foreign host as request target', '200', at(`http://evil.example${openid}`)],
  ['absolute URL of another service, as for a proxy', notFound, at(cloudMetadata)],
  ['line break in the path (header injection)', notFound, at('/%0d%0aSet-Cookie:%20x=1')],
  ['invalid percent-encoding', notFound, ...encoded.map(at)],
  ['path of 15,000 characters', notFound, at(`/${'x'.repeat(15_000)}`)],
  ['OPTIONS of a foreign page at an endpoint without CORS', notFound, toEndpoint],
]

const targetsOfAdvisories: typeof targets = [
  [
    'fragment in the request target (CVE-2025-32395)',
    notFound,
    ...[at('/member/graphql#/../public'), at('/api/oauth/userinfo?a=1#b')],
    at('/admin/api/orders#/public'),
    { method: 'POST', path: '/mcp#x', headers: { 'Content-Type': 'text/plain' } },
  ],
  [
    'header named like an inherited property (CVE-2026-21710)',
    invalidToken,
    { path: '/api/oauth/userinfo', headers: everyObjectHas },
    { path: '/member/graphql', headers: everyObjectHas },
    { method: 'POST', path: '/mcp/member', headers: everyObjectHas },
  ],
  [
    'so many headers that the last are dropped (CVE-2026-58044)',
    '431',
    { path: paths.userinfo, headers: tooMany },
  ],
]

const targetRows = [
  ...numbered(3450, targets, sendAll),
  ...numbered(3459, [['key set with ?private=true', '200']], async ({ url }) => {
    const answer = await get(`${url}${paths.jwks}?private=true`)
    expect(answer.text).to.not.match(/"(d|p|q|dp|dq|qi|k)":/)
    return answer
  }),
  ...numbered(3460, [['tenant in the path of discovery', notFound, ...tenants.map(at)]], sendAll),
  ...numbered(3704, targetsOfAdvisories, sendAll),
]

/** Sends requests, and expects that no response contains `evil.example`. */
async function sendAll({ url }: World, requests: readonly WireRequest[]) {
  const answers = await Promise.all(requests.map(async (request) => await send(url, request)))
  for (const { headers, text } of answers)
    expect(text + JSON.stringify([...headers])).to.not.include('evil.example')
  return answers
}

/** Header lines that smuggle a second request. The service must reject them and close the connection. */
const smuggled: readonly (readonly [what: string, head: string])[] = [
  ['two lengths', 'Content-Length: 5\r\nContent-Length: 60'],
  ['length and chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked'],
  ['unknown transfer encoding', 'Transfer-Encoding: xchunked'],
  ['two transfer encodings', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity'],
  ['length with a sign', 'Content-Length: +5'],
  ['length in hexadecimal', 'Content-Length: 0x5'],
  ['space before the colon', 'Content-Length : 5'],
  ['folded header', 'X-Header: a\r\n b: c\r\nContent-Length: 5\r\n Transfer-Encoding: chunked'],
  ['NUL in a header', 'X-Header: a\0b'],
  ['bare line feed', 'X-Header: a\nContent-Length: 5'],
]

const smuggledRows = numbered(
  { first: 3480, attack: (what) => `smuggled request: ${what}` },
  answered('400', smuggled),
  async ({ url }, [head]) => {
    const start = `POST ${paths.token} HTTP/1.1\r\nHost: 127.0.0.1\r\n${head}\r\n\r\n`
    const hidden = `GET ${paths.health} HTTP/1.1\r\nHost: x\r\n\r\n`
    const text = await sendBytes(url, `${start}0\r\n\r\n${hidden}`)
    expect(text).to.not.include('alive')
    const [, status = ''] = /^HTTP\/1\.1 (\d+)/.exec(text) ?? []
    return { status: Number(status), headers: new Headers(), text: '', body: '' }
  },
)

/** Requests that are rejected before their body is read, and the statuses of their responses. */
const unread = [
  ['POST /nowhere', 404],
  [`POST ${paths.token}`, 400],
  [`PUT ${paths.graphql}`, 405],
  [`POST ${paths.mcp}`, 415],
] as const

const pipelined = row(
  3490,
  'pipelined requests, some with a request as body, one without a token',
  '200',
  async (world) => {
    const hidden = `GET ${paths.jwks} HTTP/1.1\r\nHost: x\r\n\r\n`
    const head = 'HTTP/1.1\r\nHost: 127.0.0.1'
    const body = `Content-Type: text/plain\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`
    const user = `GET ${paths.userinfo} ${head}`
    const token = `Authorization: Bearer ${(await world.shared()).accessToken}`
    const requests = [
      ...unread.map(([line]) => `${line} ${head}\r\n${body}`),
      ...[`${user}\r\n${token}\r\n\r\n`, `${user}\r\n\r\n`],
      `GET ${paths.health} ${head}\r\nConnection: close\r\n\r\n`,
    ]
    const text = await sendBytes(world.url, requests.join(''))
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
    expect(statuses).to.deep.equal([...unread.map(([, status]) => status), 200, 401, 200])
    return { status: 200, headers: new Headers(), text: '', body: '' }
  },
)

export const connectionCases = tableOf('Hosts and connections', 'connection-cases.ts', [
  ...nameRows,
  ...targetRows,
  ...smuggledRows,
  pipelined,
])
