import { expect } from 'chai'

import { paths } from '../../src/platform/http/paths.ts'
import { type Answer, bearer, get, send, sendBytes } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'

/** Repeated, because headers are collected into lists. */
const everyObjectHas = ['__proto__', '__proto__', 'constructor', 'toString'].flatMap((name) => [
  name,
  'x',
])

/** Documents that contain the address of this service. */
const documents = [
  paths.openidConfiguration,
  paths.authorizationServer,
  paths.protectedResource,
  paths.protectedResourceMcp,
  paths.openApi,
  paths.authMd,
  paths.llmsTxt,
  paths.aiCatalog,
  paths.serverCard,
] as const

/** Headers that name another host (CVE-2025-64101, GHSA-93m4-mfpg-c3xf, CVE-2026-33495). */
const names: readonly (readonly [what: string, headers: readonly string[]])[] = [
  ['Host', ['Host', 'evil.example']],
  [
    'X-Forwarded-Host',
    ['X-Forwarded-Host', 'evil.example', 'X-Forwarded-Port', '666', 'X-Forwarded-Proto', 'https'],
  ],
  ['Forwarded', ['Forwarded', 'host=evil.example;proto=https;for=1.2.3.4']],
  [
    'X-Original-URL and X-Rewrite-URL',
    ['X-Original-URL', '//evil.example/', 'X-Rewrite-URL', '//evil.example/'],
  ],
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

/** Challenges and redirects that a foreign host could change, and odd request targets. */
const others: readonly Row[] = [
  [
    3450,
    'foreign Host before the challenge of the Member API',
    '401 invalid_token',
    async ({ url }) =>
      ours(
        await send(url, { method: 'POST', path: paths.graphql, headers: ['Host', 'evil.example'] }),
      ),
  ],
  [
    3451,
    'foreign Host before the challenge of UserInfo',
    '401 invalid_token',
    async ({ url }) =>
      ours(
        await send(url, {
          path: paths.userinfo,
          headers: ['Host', 'evil.example', ...bearer('x')],
        }),
      ),
  ],
  [
    3452,
    'foreign Host before a page that redirects',
    'to /oauth/authorize',
    async ({ url }) =>
      ours(
        await send(url, {
          path: '/account',
          headers: ['Host', 'evil.example', 'Accept', 'text/html'],
        }),
      ),
  ],
  [
    3453,
    'absolute URL of a foreign host as request target',
    '200',
    async ({ url }) =>
      ours(await send(url, { path: `http://evil.example${paths.openidConfiguration}` })),
  ],
  [
    3454,
    'absolute URL of another service, as for a proxy',
    '404 not_found',
    async ({ url }) => ours(await send(url, { path: 'http://169.254.169.254/latest/meta-data' })),
  ],
  [
    3455,
    'line break in the path (header injection)',
    '404 not_found',
    async ({ url }) => ours(await send(url, { path: '/%0d%0aSet-Cookie:%20x=1' })),
  ],
  [
    3456,
    'invalid percent-encoding',
    '404 not_found',
    async ({ url }) => [
      await send(url, { path: '/interaction/%/login' }),
      await send(url, { path: '/interaction/%zz/login' }),
      await send(url, { path: '/interaction/%e0%a4%a/consent' }),
    ],
  ],
  [
    3704,
    'fragment in the request target (CVE-2025-32395)',
    '404 not_found',
    async ({ url }) => [
      await send(url, { path: '/member/graphql#/../public' }),
      await send(url, { path: '/api/oauth/userinfo?a=1#b' }),
      await send(url, { path: '/admin/api/orders#/public' }),
      await send(url, { method: 'POST', path: '/mcp#x', headers: ['Content-Type', 'text/plain'] }),
    ],
  ],
  [
    3705,
    'header named like an inherited property (CVE-2026-21710)',
    '401 invalid_token',
    async ({ url }) => [
      await send(url, { path: '/api/oauth/userinfo', headers: everyObjectHas }),
      await send(url, { path: '/member/graphql', headers: everyObjectHas }),
      await send(url, { method: 'POST', path: '/mcp/member', headers: everyObjectHas }),
    ],
  ],
  [
    3706,
    'so many headers that the last are dropped (CVE-2026-58044)',
    '431',
    async ({ url }) =>
      await send(url, {
        path: '/api/oauth/userinfo',
        headers: [
          ...Array.from({ length: 2500 }, () => ['a', 'b']).flat(),
          'X-Forwarded-For',
          '::1',
        ],
      }),
  ],
  [
    3457,
    'path of 15,000 characters',
    '404 not_found',
    async ({ url }) => await send(url, { path: `/${'x'.repeat(15_000)}` }),
  ],
  [
    3458,
    'OPTIONS of a foreign page at an endpoint without CORS',
    '404 not_found',
    async ({ url }) =>
      await send(url, {
        method: 'OPTIONS',
        path: paths.authorization,
        headers: ['Origin', 'https://evil.example', 'Access-Control-Request-Method', 'POST'],
      }),
  ],
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
  [
    3460,
    'tenant in the path of discovery',
    '404 not_found',
    async ({ url }) => [
      await get(`${url}${paths.openidConfiguration}/evil`),
      await get(`${url}/evil${paths.openidConfiguration}`),
      await get(`${url}${paths.authorizationServer}/..%2fevil`),
    ],
  ],
]

function ours(answer: Answer): Answer {
  const { headers, text } = answer
  expect(text + JSON.stringify([...headers])).to.not.include('evil.example')
  return answer
}

/** Request smuggling: the connection closes after the refusal. */
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
