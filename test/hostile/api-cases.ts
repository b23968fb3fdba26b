import { paths } from '../../src/platform/http/paths.ts'
import { type Answer, bearer, send } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import type { World } from './world.ts'

/** Both schemas, with a list of each. */
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
    at: 'the Member API',
    path: paths.graphql,
    token: async (world) => (await world.shared()).accessToken,
    list: 'notifications',
    inside: 'nodes { id }',
  },
  {
    first: 2540,
    at: 'the Admin API',
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

/** Documents that cost more than they look, or mean something else. */
const documents: readonly (readonly [
  what: string,
  answer: string,
  body: Body,
  headers?: readonly string[],
])[] = [
  [
    'fields that overlap, to be compared with one another (CVE-2023-26144)',
    LIMIT,
    () => ({ query: `{ ${many(1000, () => '__typename')} }` }),
  ],
  [
    'inline fragments in one another, to be compared (GHSA-fc86-6rv6-2jpm)',
    LIMIT,
    () => ({ query: `{ ${'... { '.repeat(60)} __typename ${'} '.repeat(60)} }` }),
  ],
  [
    'fragments that spread one another twice, each',
    LIMIT,
    () => ({
      query: `{ ...f0 } ${many(25, (at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`)} fragment f25 on Query { __typename }`,
    }),
  ],
  [
    'a fragment in a circle of its own',
    NOT_VALID,
    () => ({ query: '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }' }),
  ],
  [
    'a list in a list in a list of aliases',
    LIMIT,
    ({ list, inside }) => ({
      query: `{ ${many(40, (at) => `a${at}: ${list}(first: 100) { ${inside} }`)} }`,
    }),
  ],
  [
    'a page of 2,147,483,648',
    NOT_VALID,
    ({ list, inside }) => ({ query: `{ ${list}(first: 2147483648) { ${inside} } }` }),
  ],
  [
    'a page of minus one',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({ query: `{ ${list}(first: -1) { ${inside} } }` }),
  ],
  [
    'a page of nothing',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({ query: `{ ${list}(first: 0) { ${inside} } }` }),
  ],
  [
    'a page of 101',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({ query: `{ ${list}(first: 101) { ${inside} } }` }),
  ],
  [
    'a page of a text',
    NOT_VALID,
    ({ list, inside }) => ({ query: `{ ${list}(first: "5") { ${inside} } }` }),
  ],
  [
    'a cursor of somebody’s own making (CVE-2026-33503)',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({
      query: `{ ${list}(first: 1, after: "${btoa("1' or 1=1 --")}") { ${inside} } }`,
    }),
  ],
  [
    'a cursor that is empty',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({ query: `{ ${list}(first: 1, after: "") { ${inside} } }` }),
  ],
  [
    'a cursor with a line break',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({ query: `{ ${list}(first: 1, after: "\\n") { ${inside} } }` }),
  ],
  [
    'a cursor of 10,000 letters',
    '200 BAD_ARGUMENT',
    ({ list, inside }) => ({
      query: `query($c: String) { ${list}(first: 1, after: $c) { ${inside} } }`,
      variables: { c: 'x'.repeat(10_000) },
    }),
  ],
  [
    '300 directives at a field',
    LIMIT,
    () => ({ query: `{ __typename ${many(300, () => '@include(if: true)')} }` }),
  ],
  [
    'brackets in brackets without an end',
    LIMIT,
    ({ list }) => ({ query: `{ ${list}(first: ${'['.repeat(5000)}` }),
  ],
  ['2,001 tokens', LIMIT, () => ({ query: `{ ${'__typename '.repeat(2001)} }` })],
  [
    'a document of 250 kB',
    '413 invalid_request',
    () => ({ query: `{ __typename } # ${'x'.repeat(250_000)}` }),
  ],
  [
    'several operations and the name of none',
    NOT_VALID,
    () => ({ query: 'query A { __typename } query B { __typename }' }),
  ],
  [
    'an operation that is not in the document',
    NOT_VALID,
    () => ({ query: 'query A { __typename }', operationName: '__proto__' }),
  ],
  [
    'several documents in a list',
    NOT_VALID,
    () => [{ query: '{ __typename }' }, { query: '{ __typename }' }],
  ],
  ['variables that are a list', NOT_VALID, () => ({ query: '{ __typename }', variables: [1] })],
  ['a query that is a list', NOT_VALID, () => ({ query: ['{ __typename }'] })],
  [
    'the hash of somebody else’s document',
    '200 PERSISTED_QUERY_NOT_SUPPORTED',
    () => ({ extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } }),
  ],
  ['a subscription', NOT_VALID, () => ({ query: 'subscription { __typename }' })],
  [
    'a query as text, which a page of another site may send',
    '415 invalid_request',
    () => '{"query":"{ __typename }"}',
    ['Content-Type', 'text/plain'],
  ],
  [
    'a query as a form, which a page of another site may send',
    '415 invalid_request',
    () => 'query={__typename}',
    ['Content-Type', 'application/x-www-form-urlencoded'],
  ],
  [
    'a query as multipart with a file',
    '415 invalid_request',
    () => '--x--',
    ['Content-Type', 'multipart/form-data; boundary=x'],
  ],
  [
    'a query in UTF-16',
    '415 invalid_request',
    () => '{"query":"{ __typename }"}',
    ['Content-Type', 'application/json; charset=utf-16'],
  ],
  ['half a document', NOT_VALID, () => '{"query":"{ __type'],
  ['a NUL in the document', NOT_VALID, () => ({ query: '{ __typename \0 }' })],
  [
    'a lone surrogate in a text',
    NOT_VALID,
    ({ list, inside }) => `{"query":"{ ${list}(first: 1, after: \\"\\\\ud800\\") { ${inside} } }"}`,
  ],
  [
    'the prototype of every object as a field',
    NOT_VALID,
    () => ({ query: '{ __proto__ { constructor } }' }),
  ],
  [
    'a variable that nobody declared',
    NOT_VALID,
    ({ list, inside }) => ({ query: `{ ${list}(first: $x) { ${inside} } }`, variables: { x: 1 } }),
  ],
  [
    'a field that is nearly one (the schema is public)',
    NOT_VALID,
    () => ({ query: '{ passwords { hash } }' }),
  ],
]

const documentRows = apis.flatMap((api) =>
  documents.map(
    ([what, answer, body, headers], position): Row => [
      api.first + position,
      `${what}, at ${api.at}`,
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

/** Whose data, and by which method. */
const others: readonly Row[] = [
  [
    2610,
    'a cursor with a NUL, at the Member API',
    '200 BAD_ARGUMENT',
    async (world) =>
      await ask(world, member, { query: '{ notifications(after: "\\u0000") { nodes { id } } }' }),
  ],
  [
    2611,
    'a cursor with a NUL, at the Admin API',
    '200 BAD_INPUT',
    async (world) =>
      await ask(world, admin, { query: '{ courses(after: "\\u0000") { nodes { id } } }' }),
  ],
  [
    2612,
    'an id with a NUL',
    '200',
    async (world) => await ask(world, member, { query: '{ node(id: "\\u0000") { id } }' }),
  ],
  [
    2600,
    'a mutation in the address, at the Member API',
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
    'a mutation in the address behind a query, at the Member API',
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
    'an id of a notification of somebody else (CVE-2025-64431)',
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
    'a person of the caller’s choice in variables (CVE-2025-61928)',
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
    'a mutation with a token of operators that may read',
    '403 insufficient_scope',
    async (world) =>
      await ask(world, admin, { query: 'mutation { publishCourse(id: "x") { __typename } }' }),
  ],
  [
    2605,
    'a read beyond the scopes beside one within (all or nothing)',
    '403 insufficient_scope',
    async (world) =>
      await ask(world, admin, {
        query: '{ courses(first: 1) { nodes { id } } orders(first: 1) { nodes { id } } }',
      }),
  ],
  [
    2606,
    'a read beyond the scopes by a fragment',
    '403 insufficient_scope',
    async (world) =>
      await ask(world, admin, {
        query: '{ ...a } fragment a on Query { orders(first: 1) { nodes { id } } }',
      }),
  ],
  [
    2607,
    'a read beyond the scopes behind a directive that may be false',
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
    'thirty counts of a list by aliases, each of which reads all of it (CVE-2026-35441)',
    LIMIT,
    async (world) =>
      await ask(world, admin, {
        query: `{ ${many(30, (at) => `a${at}: courses(first: 1) { totalCount }`)} }`,
      }),
  ],
  [
    3703,
    'thirty searches by aliases, each of which reads every row (CVE-2026-35441)',
    LIMIT,
    async (world) =>
      await ask(world, admin, {
        query: `query($s: String) { ${many(30, (at) => `a${at}: courses(first: 1, search: $s) { nodes { id } }`)} }`,
        variables: { s: 'x' },
      }),
  ],
  [
    2609,
    'a query of 9,000 letters in the address',
    '414 invalid_request',
    async (world) => [
      await readBy(world, member, `?query=${'x'.repeat(9000)}`),
      await readBy(world, admin, `?query=${'x'.repeat(9000)}`),
    ],
  ],
]

export const apiCases = tableOf('GraphQL', 'api-cases.ts', [...documentRows, ...others])
