import { paths } from '../../src/platform/http/paths.ts'
import { type Answer, bearer, send } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import type { World } from './world.ts'

/** Both APIs, with a list of each. */
interface Api {
  readonly first: number
  readonly at: string
  readonly path: string
  readonly token: (world: World) => Promise<string>
  /** A list, its field of one row, and a field that is an object and has an id. */
  readonly list: string
  readonly inside: string
}

const apis: readonly Api[] = [
  {
    first: 2500,
    at: 'at the Member API',
    path: paths.graphql,
    token: async (world) => (await world.shared()).accessToken,
    list: 'notifications',
    inside: 'nodes { id }',
  },
  {
    first: 2540,
    at: 'at the Admin API',
    path: paths.adminGraphql,
    token: async (world) => await world.operator(),
    list: 'courses',
    inside: 'nodes { id }',
  },
]

interface Sending {
  readonly body: unknown
  readonly headers?: readonly string[] | undefined
}

async function query(world: World, api: Api, { body, headers }: Sending): Promise<Answer> {
  const type = headers ?? ['Content-Type', 'application/json']
  return await send(world.url, {
    method: 'POST',
    path: api.path,
    // By this type an answer says with 400 that a document was not executed (GraphQL over HTTP §6.4.2).
    headers: [
      ...type,
      'Accept',
      'application/graphql-response+json',
      ...bearer(await api.token(world)),
    ],
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const LIMIT = '400 LIMIT_EXCEEDED'
const NOT_VALID = '400 not valid'
const many = (count: number, one: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => one(at)).join(' ')

type Body = (api: Api) => unknown

/** Expensive, malformed and misleading documents. */
const documents: readonly (readonly [
  what: string,
  answer: string,
  body: Body,
  headers?: readonly string[],
])[] = [
  [
    'overlapping fields (CVE-2023-26144)',
    LIMIT,
    () => ({ query: `{ ${many(1000, () => '__typename')} }` }),
  ],
  [
    'nested inline fragments (GHSA-fc86-6rv6-2jpm)',
    LIMIT,
    () => ({ query: `{ ${'... { '.repeat(60)} __typename ${'} '.repeat(60)} }` }),
  ],
  [
    'fragments that spread the next one twice',
    LIMIT,
    () => ({
      query: `{ ...f0 } ${many(25, (at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`)} fragment f25 on Query { __typename }`,
    }),
  ],
  [
    'circular fragments',
    NOT_VALID,
    () => ({ query: '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }' }),
  ],
  [
    'forty aliases of a list',
    LIMIT,
    ({ list, inside }) => ({
      query: `{ ${many(40, (at) => `a${at}: ${list}(first: 100) { ${inside} }`)} }`,
    }),
  ],
  [
    'first: 2147483648',
    NOT_VALID,
    ({ list, inside }) => ({ query: `{ ${list}(first: 2147483648) { ${inside} } }` }),
  ],
  [
    'first: -1',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({ query: `{ ${list}(first: -1) { ${inside} } }` }),
  ],
  [
    'first: 0',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({ query: `{ ${list}(first: 0) { ${inside} } }` }),
  ],
  [
    'first: 101',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({ query: `{ ${list}(first: 101) { ${inside} } }` }),
  ],
  [
    'first as a string',
    NOT_VALID,
    ({ list, inside }) => ({ query: `{ ${list}(first: "5") { ${inside} } }` }),
  ],
  [
    'forged cursor with SQL (CVE-2026-33503)',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({
      query: `{ ${list}(first: 1, after: "${btoa("1' or 1=1 --")}") { ${inside} } }`,
    }),
  ],
  [
    'empty cursor',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({ query: `{ ${list}(first: 1, after: "") { ${inside} } }` }),
  ],
  [
    'cursor with a line break',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({ query: `{ ${list}(first: 1, after: "\\n") { ${inside} } }` }),
  ],
  [
    'cursor of 10,000 characters',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({
      query: `query($c: String) { ${list}(first: 1, after: $c) { ${inside} } }`,
      variables: { c: 'x'.repeat(10_000) },
    }),
  ],
  [
    '300 directives on a field',
    LIMIT,
    () => ({ query: `{ __typename ${many(300, () => '@include(if: true)')} }` }),
  ],
  [
    '5,000 opening brackets',
    LIMIT,
    ({ list }) => ({ query: `{ ${list}(first: ${'['.repeat(5000)}` }),
  ],
  ['2,001 tokens', LIMIT, () => ({ query: `{ ${'__typename '.repeat(2001)} }` })],
  [
    'document of 250 kB',
    '413 invalid_request',
    () => ({ query: `{ __typename } # ${'x'.repeat(250_000)}` }),
  ],
  [
    'several operations without operationName',
    NOT_VALID,
    () => ({ query: 'query A { __typename } query B { __typename }' }),
  ],
  [
    'unknown operationName',
    NOT_VALID,
    () => ({ query: 'query A { __typename }', operationName: '__proto__' }),
  ],
  [
    'list of documents',
    NOT_VALID,
    () => [{ query: '{ __typename }' }, { query: '{ __typename }' }],
  ],
  ['variables as a list', NOT_VALID, () => ({ query: '{ __typename }', variables: [1] })],
  ['query as a list', NOT_VALID, () => ({ query: ['{ __typename }'] })],
  [
    'hash of a persisted query',
    '200 PERSISTED_QUERY_NOT_SUPPORTED',
    () => ({ extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } }),
  ],
  ['subscription', NOT_VALID, () => ({ query: 'subscription { __typename }' })],
  [
    'text/plain, which foreign pages may send',
    '415 invalid_request',
    () => '{"query":"{ __typename }"}',
    ['Content-Type', 'text/plain'],
  ],
  [
    'form, which foreign pages may send',
    '415 invalid_request',
    () => 'query={__typename}',
    ['Content-Type', 'application/x-www-form-urlencoded'],
  ],
  [
    'multipart with a file',
    '415 invalid_request',
    () => '--x--',
    ['Content-Type', 'multipart/form-data; boundary=x'],
  ],
  [
    'UTF-16',
    '415 invalid_request',
    () => '{"query":"{ __typename }"}',
    ['Content-Type', 'application/json; charset=utf-16'],
  ],
  ['truncated JSON', NOT_VALID, () => '{"query":"{ __type'],
  ['NUL in the document', NOT_VALID, () => ({ query: '{ __typename \0 }' })],
  [
    'lone surrogate in a string',
    NOT_VALID,
    ({ list, inside }) => `{"query":"{ ${list}(first: 1, after: \\"\\\\ud800\\") { ${inside} } }"}`,
  ],
  ['__proto__ as a field', NOT_VALID, () => ({ query: '{ __proto__ { constructor } }' })],
  [
    'undeclared variable',
    NOT_VALID,
    ({ list, inside }) => ({ query: `{ ${list}(first: $x) { ${inside} } }`, variables: { x: 1 } }),
  ],
  ['unknown field', NOT_VALID, () => ({ query: '{ passwords { hash } }' })],
]

const documentRows = apis.flatMap((api) =>
  documents.map(
    ([what, answer, body, headers], position): Row => [
      api.first + position,
      [what, api.at],
      answer,
      async (world) => await query(world, api, { body: body(api), headers }),
    ],
  ),
)

const [member, admin] = apis as [Api, Api]

async function ask(world: World, api: Api, body: unknown): Promise<Answer> {
  return await query(world, api, { body })
}

async function readBy(world: World, api: Api, address: string): Promise<Answer> {
  return await send(world.url, {
    path: api.path + address,
    headers: ['Accept', 'application/json', ...bearer(await api.token(world))],
  })
}

/** Data of others, and methods. */
const others: readonly Row[] = [
  [
    2610,
    'cursor with a NUL at the Member API',
    '200 BAD_ARGUMENT',
    async (world) =>
      await ask(world, member, { query: '{ notifications(after: "\\u0000") { nodes { id } } }' }),
  ],
  [
    2611,
    'cursor with a NUL at the Admin API',
    '200 BAD_INPUT',
    async (world) =>
      await ask(world, admin, { query: '{ courses(after: "\\u0000") { nodes { id } } }' }),
  ],
  [
    2612,
    'id with a NUL',
    '200',
    async (world) => await ask(world, member, { query: '{ node(id: "\\u0000") { id } }' }),
  ],
  [
    2600,
    'mutation by GET',
    '405 invalid_request',
    async (world) =>
      await readBy(
        world,
        member,
        `?query=${encodeURIComponent('mutation { markAllNotificationsRead { __typename } }')}`,
      ),
  ],
  [
    2601,
    'mutation by GET after a query',
    '405 invalid_request',
    async (world) =>
      await readBy(
        world,
        member,
        `?operationName=B&query=${encodeURIComponent('query A { __typename } mutation B { markAllNotificationsRead { __typename } }')}`,
      ),
  ],
  [
    2602,
    'id of a notification of another person (CVE-2025-64431)',
    '200 NOT_FOUND',
    async (world) => [
      await ask(world, member, {
        query: 'mutation { markNotificationRead(id: "not_of_somebody_else") { __typename } }',
      }),
      await ask(world, member, {
        query:
          'mutation { updateNotificationSubscription(id: "x", enabled: false) { __typename } }',
      }),
    ],
  ],
  [
    2603,
    'id of another person in variables (CVE-2025-61928)',
    '200',
    async (world) => {
      const answer = await ask(world, member, {
        query: 'query($userId: ID!) { viewer { id } node(id: $userId) { id } }',
        variables: { userId: 'per_olivia' },
      })
      if (answer.body.data.viewer.id !== 'per_sam') throw new Error(answer.text)
      return answer
    },
  ],
  [
    2604,
    'mutation with a read-only operator token',
    '403 insufficient_scope',
    async (world) =>
      await ask(world, admin, { query: 'mutation { publishCourse(id: "x") { __typename } }' }),
  ],
  [
    2605,
    'field beyond the scopes beside an allowed one',
    '403 insufficient_scope',
    async (world) =>
      await ask(world, admin, {
        query: '{ courses(first: 1) { nodes { id } } orders(first: 1) { nodes { id } } }',
      }),
  ],
  [
    2606,
    'field beyond the scopes in a fragment',
    '403 insufficient_scope',
    async (world) =>
      await ask(world, admin, {
        query: '{ ...a } fragment a on Query { orders(first: 1) { nodes { id } } }',
      }),
  ],
  [
    2607,
    'field beyond the scopes behind @include',
    '403 insufficient_scope',
    async (world) =>
      await ask(world, admin, {
        query:
          'query($no: Boolean = false) { courses(first: 1) { nodes { id } } orders(first: 1) @include(if: $no) { nodes { id } } }',
        variables: { no: true },
      }),
  ],
  [
    2608,
    'PUT, DELETE and PATCH',
    '405 invalid_request',
    async ({ url }) => [
      await send(url, { method: 'PUT', path: paths.graphql }),
      await send(url, { method: 'DELETE', path: paths.adminGraphql }),
      await send(url, { method: 'PATCH', path: paths.graphql }),
    ],
  ],
  [
    3702,
    'thirty aliases of totalCount (CVE-2026-35441)',
    LIMIT,
    async (world) =>
      await ask(world, admin, {
        query: `{ ${many(30, (at) => `a${at}: courses(first: 1) { totalCount }`)} }`,
      }),
  ],
  [
    3703,
    'thirty aliases of a search (CVE-2026-35441)',
    LIMIT,
    async (world) =>
      await ask(world, admin, {
        query: `query($s: String) { ${many(30, (at) => `a${at}: courses(first: 1, search: $s) { nodes { id } }`)} }`,
        variables: { s: 'x' },
      }),
  ],
  [
    2609,
    'query of 9,000 characters by GET',
    '414 invalid_request',
    async (world) => [
      await readBy(world, member, `?query=${'x'.repeat(9000)}`),
      await readBy(world, admin, `?query=${'x'.repeat(9000)}`),
    ],
  ],
]

export const apiCases = tableOf('GraphQL', 'api-cases.ts', [...documentRows, ...others])
