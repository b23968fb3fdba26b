import { paths } from '../../src/platform/http/paths.ts'
import { get, send, sendBytes, type WireRequest } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'

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
  names.map(
    ([what, headers], position): Row => [
      3400 + 4 * at + position,
      [`foreign host in ${what}`, path],
      '200',
      async ({ url }) => {
        const answer = await send(url, { path, headers })
        expect(answer.text).to.not.match(/evil\.example|:666|"https:\/\/127\.0\.0\.1/)
        expect(answer.text).to.equal((await get(url + path)).text)
        return answer
      },
    ],
  ),
)

const notFound = '404 not_found'
const invalidToken = '401 invalid_token'
const foreignHost = { Host: 'evil.example', Accept: 'text/html' }
const options = { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' }

/** Challenges and redirects that a foreign host could change, and odd request targets. */
const others: readonly Row[] = [
  asks([3450, 'foreign Host before the challenge of the Member API'], invalidToken, [
    { method: 'POST', path: paths.graphql, headers: { Host: 'evil.example' } },
  ]),
  asks([3451, 'foreign Host before the challenge of UserInfo'], invalidToken, [
    { path: paths.userinfo, headers: { Host: 'evil.example', Authorization: 'Bearer x' } },
  ]),
  asks([3452, 'foreign Host before a page that redirects'], 'to /oauth/authorize', [
    { path: '/account', headers: foreignHost },
  ]),
  asks([3453, 'absolute URL of a foreign host as request target'], '200', [
    { path: `http://evil.example${paths.openidConfiguration}` },
  ]),
  asks([3454, 'absolute URL of another service, as for a proxy'], notFound, [
    { path: 'http://169.254.169.254/latest/meta-data' },
  ]),
  asks([3455, 'line break in the path (header injection)'], notFound, [
    { path: '/%0d%0aSet-Cookie:%20x=1' },
  ]),
  asks([3456, 'invalid percent-encoding'], notFound, [
    { path: '/interaction/%/login' },
    { path: '/interaction/%zz/login' },
    { path: '/interaction/%e0%a4%a/consent' },
  ]),
  asks([3704, 'fragment in the request target (CVE-2025-32395)'], notFound, [
    { path: '/member/graphql#/../public' },
    { path: '/api/oauth/userinfo?a=1#b' },
    { path: '/admin/api/orders#/public' },
    { method: 'POST', path: '/mcp#x', headers: { 'Content-Type': 'text/plain' } },
  ]),
  asks([3705, 'header named like an inherited property (CVE-2026-21710)'], invalidToken, [
    { path: '/api/oauth/userinfo', headers: everyObjectHas },
    { path: '/member/graphql', headers: everyObjectHas },
    { method: 'POST', path: '/mcp/member', headers: everyObjectHas },
  ]),
  asks([3706, 'so many headers that the last are dropped (CVE-2026-58044)'], '431', [
    {
      path: '/api/oauth/userinfo',
      headers: [...Array(2500).fill(['a', 'b']).flat(), 'X-Forwarded-For', '::1'],
    },
  ]),
  asks([3457, 'path of 15,000 characters'], notFound, [{ path: `/${'x'.repeat(15_000)}` }]),
  asks([3458, 'OPTIONS of a foreign page at an endpoint without CORS'], notFound, [
    { method: 'OPTIONS', path: paths.authorization, headers: options },
  ]),
  asks([3460, 'tenant in the path of discovery'], notFound, [
    { path: `${paths.openidConfiguration}/evil` },
    { path: `/evil${paths.openidConfiguration}` },
    { path: `${paths.authorizationServer}/..%2fevil` },
  ]),
  [
    3459,
    'key set with ?private=true',
    '200',
    async ({ url }) => {
      const answer = await get(`${url}${paths.jwks}?private=true`)
      expect(answer.text).to.not.match(/"(d|p|q|dp|dq|qi|k)":/)
      return answer
    },
  ],
]

/** Creates a case with requests whose responses must not contain the foreign host. */
function asks([number, attack]: [number, string], answer: string, requests: WireRequest[]): Row {
  const sendAll: Row[3] = async ({ url }) => {
    const answers = await Promise.all(requests.map(async (request) => await send(url, request)))
    for (const { headers, text } of answers)
      expect(text + JSON.stringify([...headers])).to.not.include('evil.example')
    return answers
  }
  return [number, attack, answer, sendAll]
}

/** Heads for request smuggling. The service must reject each of them and close the connection. */
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

const smuggledRows = smuggled.map(
  ([what, head], position): Row => [
    3480 + position,
    `smuggled request: ${what}`,
    '400',
    async ({ url }) => {
      const start = `POST ${paths.token} HTTP/1.1\r\nHost: 127.0.0.1\r\n${head}\r\n\r\n`
      const text = await sendBytes(
        url,
        `${start}0\r\n\r\nGET ${paths.health} HTTP/1.1\r\nHost: x\r\n\r\n`,
      )
      expect(text).to.not.include('alive')
      const [, status = ''] = /^HTTP\/1\.1 (\d+)/.exec(text) ?? []
      return { status: Number(status), headers: new Headers(), text: '', body: '' }
    },
  ],
)

export const connectionCases = tableOf('Hosts and connections', 'connection-cases.ts', [
  ...nameRows,
  ...others,
  ...smuggledRows,
])
