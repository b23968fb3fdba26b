import { paths } from '../../src/platform/http/paths.ts'
import { type Answer, bearer, send } from '../support/wire.ts'
import { type Entries, numbered, type Row, tableOf } from './case.ts'
import type { World } from './world.ts'

/** The Member API as a target. Cases query one of its lists, and are numbered from `first`. */
const member = {
  first: 2500,
  at: 'at the Member API',
  path: paths.graphql,
  token: async (world: World) => (await world.shared()).accessToken,
  list: 'notifications',
}
type Api = Omit<typeof member, 'path'> & { readonly path: string }
const admin: Api = {
  first: 2540,
  at: 'at the Admin API',
  path: paths.adminGraphql,
  token: async (world) => await world.operator(),
  list: 'courses',
}

async function post(world: World, api: Api, body: unknown, headers?: readonly string[]) {
  return await send(world.url, {
    method: 'POST',
    path: api.path,
    headers: [
      ...(headers ?? ['Content-Type', 'application/json']),
      // With this media type, the status is 400 if the document was not executed (GraphQL over HTTP §6.4.2).
      ...['Accept', 'application/graphql-response+json'],
      ...bearer(await api.token(world)),
    ],
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const LIMIT = '400 LIMIT_EXCEEDED'
const NOT_VALID = '400 not valid'
const BAD = '200 BAD_ARGUMENT'
const UNSUPPORTED = '415 invalid_request'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const asText = () => '{"query":"{ __typename }"}'
const many = (count: number, one: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => one(at)).join(' ')

/** Returns a function that creates a query of an API's list with these arguments. */
const list =
  (args: string, variables?: object) =>
  ({ list: name }: Api) => ({
    query: `${variables ? 'query($c: String) ' : ''}{ ${name}(${args}) { nodes { id } } }`,
    variables,
  })
const doubling = (at: number) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`
const doubled = `{ ...f0 } ${many(25, doubling)} fragment f25 on Query { __typename }`
const nested = `{ ${'... { '.repeat(60)} __typename ${'} '.repeat(60)} }`
const cycle = '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }'
const twoOperations = 'query A { __typename } query B { __typename }'

const fortyLists = (api: Api) => ({
  query: `{ ${many(40, (at) => `a${at}: ${api.list}(first: 100) { nodes { id } }`)} }`,
})
const surrogate = (api: Api) =>
  `{"query":"{ ${api.list}(after: \\"\\\\ud800\\") { nodes { id } } }"}`
const persisted = { extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } }
const unnamed = { query: 'query A { __typename }', operationName: '__proto__' }

/** Expensive, malformed and misleading requests. Each has a query, or a function that creates the whole body. */
const documents: Entries<[body: string | ((api: Api) => unknown), type?: string]> = [
  ['overlapping fields (CVE-2023-26144)', LIMIT, `{ ${many(1000, () => '__typename')} }`],
  ['nested inline fragments (GHSA-fc86-6rv6-2jpm)', LIMIT, nested],
  ['fragments that spread the next one twice', LIMIT, doubled],
  ['circular fragments', NOT_VALID, cycle],
  ['forty aliases of a list', LIMIT, fortyLists],
  ['first: 2147483648', NOT_VALID, list('first: 2147483648')],
  ['first: -1', BAD, list('first: -1')],
  ['first: 0', BAD, list('first: 0')],
  ['first: 101', BAD, list('first: 101')],
  ['first as a string', NOT_VALID, list('first: "5"')],
  ['forged cursor with SQL (CVE-2026-33503)', BAD, list(`after: "${btoa("1' or 1=1 --")}"`)],
  ['empty cursor', BAD, list('after: ""')],
  ['cursor with a line break', BAD, list('after: "\\n"')],
  ['cursor of 10,000 characters', BAD, list('after: $c', { c: 'x'.repeat(10_000) })],
  ['300 directives on a field', LIMIT, `{ __typename ${many(300, () => '@include(if: true)')} }`],
  ['5,000 opening brackets', LIMIT, list(`first: ${'['.repeat(5000)}`)],
  ['2,001 tokens', LIMIT, `{ ${'__typename '.repeat(2001)} }`],
  ['document of 250 kB', '413 invalid_request', `{ __typename } # ${'x'.repeat(250_000)}`],
  ['several operations without operationName', NOT_VALID, twoOperations],
  ['unknown operationName', NOT_VALID, () => unnamed],
  ['list of documents', NOT_VALID, () => [1, 2].map(() => ({ query: '{ __typename }' }))],
  ['variables as a list', NOT_VALID, () => ({ query: '{ __typename }', variables: [1] })],
  ['query as a list', NOT_VALID, () => ({ query: ['{ __typename }'] })],
  ['hash of a persisted query', '200 PERSISTED_QUERY_NOT_SUPPORTED', () => persisted],
  ['subscription', NOT_VALID, 'subscription { __typename }'],
  ['text/plain, which foreign pages may send', UNSUPPORTED, asText, 'text/plain'],
  ['form, which foreign pages may send', UNSUPPORTED, () => 'query={__typename}', FORM_TYPE],
  ['multipart with a file', UNSUPPORTED, () => '--x--', 'multipart/form-data; boundary=x'],
  ['UTF-16', UNSUPPORTED, asText, 'application/json; charset=utf-16'],
  ['truncated JSON', NOT_VALID, () => '{"query":"{ __type'],
  ['NUL in the document', NOT_VALID, '{ __typename \0 }'],
  ['lone surrogate in a string', NOT_VALID, surrogate],
  ['__proto__ as a field', NOT_VALID, '{ __proto__ { constructor } }'],
  ['undeclared variable', NOT_VALID, list('first: $x')],
  ['unknown field', NOT_VALID, '{ passwords { hash } }'],
]

const documentRows = [member, admin].flatMap((api) => {
  const at = { first: api.first, attack: (what: string) => [what, api.at] as const }
  return numbered(at, documents, async (world, [body, type]) => {
    const sent = typeof body === 'string' ? { query: body } : body(api)
    return await post(world, api, sent, type === undefined ? type : ['Content-Type', type])
  })
})

const asked =
  (api: Api, ...queries: string[]) =>
  async (world: World): Promise<Answer[]> =>
    await Promise.all(queries.map((query) => post(world, api, { query })))

const readBy =
  (api: Api, query: string, rest = '') =>
  async (world: World): Promise<Answer> =>
    await send(world.url, {
      path: `${api.path}?${rest}query=${encodeURIComponent(query)}`,
      headers: ['Accept', 'application/json', ...bearer(await api.token(world))],
    })

const change = 'markAllNotificationsRead { __typename }'
const [FORBIDDEN, METHOD] = ['403 insufficient_scope', '405 invalid_request']
const after = (name: string) => `{ ${name}(after: "\\u0000") { nodes { id } } }`
const [courses, orders] = ['courses', 'orders'].map((name) => `${name}(first: 1) { nodes { id } }`)
const hidden = ['true', 'false'].map(
  (no) =>
    `query($no: Boolean = ${no}) { ${courses} orders(first: 1) @include(if: $no) { nodes { id } } }`,
)
const published = 'mutation { publishCourse(id: "x") { __typename } }'
const beside = `{ ${courses} ${orders} }`
const inFragment = `{ ...a } fragment a on Query { ${orders} }`
const secondOfTwo = `query A { __typename } mutation B { ${change} }`
const changesOfAnother = asked(
  member,
  'mutation { markNotificationRead(id: "not_of_somebody_else") { __typename } }',
  'mutation { updateNotificationSubscription(id: "x", enabled: false) { __typename } }',
)
const totals = many(30, (at) => `a${at}: courses(first: 1) { totalCount }`)
const searches = many(30, (at) => `a${at}: courses(first: 1, search: "x") { nodes { id } }`)

async function withForeignVariable(world: World): Promise<Answer> {
  const query = 'query($userId: ID!) { viewer { id } node(id: $userId) { id } }'
  const answer = await post(world, member, { query, variables: { userId: 'per_olivia' } })
  if (answer.body.data.viewer.id !== 'per_sam') throw new Error(answer.text)
  return answer
}

const byOtherMethods = async ({ url }: World) => [
  await send(url, { method: 'PUT', path: paths.graphql }),
  await send(url, { method: 'DELETE', path: paths.adminGraphql }),
  await send(url, { method: 'PATCH', path: paths.graphql }),
]
const byLongQuery = async (world: World) => [
  await readBy(member, 'x'.repeat(9000))(world),
  await readBy(admin, 'x'.repeat(9000))(world),
]

/** Requests for other people's data or for more than the scopes allow, and requests with other methods. */
const others: Entries<[request: Row[3]]> = [
  ['mutation by GET', METHOD, readBy(member, `mutation { ${change} }`)],
  ['mutation by GET after a query', METHOD, readBy(member, secondOfTwo, 'operationName=B&')],
  ['id of a notification of another person (CVE-2025-64431)', '200 NOT_FOUND', changesOfAnother],
  ['id of another person in variables (CVE-2025-61928)', '200', withForeignVariable],
  ['mutation with a read-only operator token', FORBIDDEN, asked(admin, published)],
  ['field beyond the scopes beside an allowed one', FORBIDDEN, asked(admin, beside)],
  ['field beyond the scopes in a fragment', FORBIDDEN, asked(admin, inFragment)],
  ['field beyond the scopes behind @include', FORBIDDEN, asked(admin, ...hidden)],
  ['PUT, DELETE and PATCH', METHOD, byOtherMethods],
  ['query of 9,000 characters by GET', '414 invalid_request', byLongQuery],
  ['cursor with a NUL at the Member API', BAD, asked(member, after('notifications'))],
  ['cursor with a NUL at the Admin API', '200 BAD_INPUT', asked(admin, after('courses'))],
  ['id with a NUL', '200', asked(member, '{ node(id: "\\u0000") { id } }')],
]
const aliases: typeof others = [
  ['thirty aliases of totalCount (CVE-2026-35441)', LIMIT, asked(admin, `{ ${totals} }`)],
  ['thirty aliases of a search (CVE-2026-35441)', LIMIT, asked(admin, `{ ${searches} }`)],
]
const otherRows = [[2600, others] as const, [3702, aliases] as const].flatMap(([first, entries]) =>
  numbered(first, entries, async (world, [request]) => await request(world)),
)

export const apiCases = tableOf('GraphQL', 'api-cases.ts', [...documentRows, ...otherRows])
