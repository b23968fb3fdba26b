import { expect } from 'chai'
import { getNamedType, isObjectType } from 'graphql'
import { auditServer } from 'graphql-http'

import { makeAdminSchema } from '../src/api/admin-api/admin-api.ts'
import { schemaText, scopesOfField } from '../src/api/admin-api/published-schema.ts'
import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { eventActions } from '../src/platform/audit/audit-actions.ts'
import { paths } from '../src/platform/http/paths.ts'
import { type Operator, startOperator } from './support/admin-api.ts'
import { amir, type RunningService, startService } from './support/gatehouse.ts'
import { partsOf, schemaSuite } from './support/schema-suite.ts'
import { exampleOf, operationsOf, slotsOf } from './support/schema-walk.ts'
import { forEachDatabase } from './support/storages.ts'

const schema = makeAdminSchema()
const operations = operationsOf(schema)
const everyScope = scopeNames('operator')

const { fields, inputs } = partsOf(schema)

/** What a platform serves itself, behind a mapping of `config/service.json` (docs/how-to/serve-your-own-api.md). */
const servedByThePlatform = [
  'membership_plans',
  'coupons',
  'subscriptions',
  'comments',
  'forms',
  'pages',
]

describe('the schema of the Admin API', () => {
  schemaSuite(schema, /\bnull\b/i)

  // [Not shown 9; threat 16]
  it('opens an operation by every operator scope that is not the platform’s own', () => {
    const opened = new Set(fields.flatMap((field) => scopesOfField(field)))
    const expected = everyScope.filter(
      (scope) => !servedByThePlatform.includes(scope.replace(/:.*/, '')),
    )
    expect([...opened].sort()).to.deep.equal(expected.sort())
  })

  it('names a scope of the catalogue for each of its operations, a write scope for each change', () => {
    for (const { kind, field } of operations) {
      const needed = scopesOfField(field)
      expect(needed, field.name).to.not.deep.equal([])
      expect(everyScope, field.name).to.include.members([...needed])
      if (kind === 'mutation') {
        expect(
          needed.some((scope) => scope.endsWith(':write')),
          field.name,
        ).to.equal(true)
      }
    }
  })

  it('says of every list without pages how long it is assumed to be', () => {
    const lists = fields.filter(
      ({ type, args, name }) =>
        /^\[/.test(String(type)) &&
        isObjectType(getNamedType(type)) &&
        !['nodes', 'edges'].includes(name) &&
        !args.some((argument) => argument.name === 'first'),
    )
    expect(lists.length).to.be.above(5)
    const silent = lists.filter(
      ({ astNode }) => !astNode?.directives?.some(({ name }) => name.value === 'listSize'),
    )
    expect(silent.map(({ at }) => at)).to.deep.equal([])
  })

  it('says of everything that reads a whole list what it costs', () => {
    const costs = (node: { readonly astNode?: unknown }) =>
      JSON.stringify((node.astNode as { directives?: unknown }).directives).includes('"cost"')
    const totals = fields.filter(({ name }) => name === 'totalCount')
    const searches = fields.flatMap(({ args }) => args).filter(({ name }) => name === 'search')
    expect([totals.length, searches.length].every((count) => count > 5)).to.equal(true)
    expect([...totals, ...searches].filter((node) => !costs(node))).to.deep.equal([])
  })

  it('takes no site as an argument', () => {
    const given = [...fields.flatMap(({ args }) => args), ...inputs].map(({ name }) => name)
    expect(given.filter((name) => /site|school/i.test(name))).to.deep.equal([])
  })
})

describe('the Admin API over HTTP', () => {
  let running: RunningService
  let operator: Operator
  before(async () => {
    running = await startService()
    operator = await startOperator(running)
  })
  after(async () => await running?.[Symbol.asyncDispose]())

  it('counts what reads a whole list when it is asked for, and words that are none not at all', async () => {
    const query = `query ($s: String) { courses(first: 1, search: $s) { nodes { id } totalCount } }`
    const costs = []
    for (const s of ['x', null, undefined]) {
      costs.push((await operator.ask(query, { s })).body.extensions?.['cost'])
    }
    const nothing = await operator.ask('{ courses(first: 1, search: null) { nodes { id } } }')
    expect([...costs, nothing.body.extensions?.['cost']]).to.deep.equal([1003, 503, 503, 3])
  })

  it('publishes its schema as it stands', async () => {
    const response = await fetch(running.url + paths.adminSchema)
    expect(await response.text()).to.equal(schemaText)
  })

  it('passes every audit of GraphQL over HTTP: no MUST and no SHOULD fails [design 21]', async () => {
    const results = await auditServer({
      url: running.url + paths.adminGraphql,
      fetchFn: async (url: string, init?: RequestInit) => {
        const headers = new Headers(init?.headers)
        headers.set('authorization', `Bearer ${operator.token}`)
        return await fetch(url, { ...init, headers })
      },
    })
    expect(results).to.have.length.above(50)
    const failed = results.filter(
      ({ status, name }) => status === 'error' || (status === 'warn' && /SHOULD|MUST/.test(name)),
    )
    expect(failed.map(({ id, name }) => `${id} ${name}`)).to.deep.equal([])
  })

  it('reads no cookie', async () => {
    const response = await fetch(running.url + paths.adminGraphql, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: `token=${operator.token}` },
      body: JSON.stringify({ query: '{ site { id } }' }),
    })
    expect(response.status).to.equal(401)
  })

  it('counts what lists without pages, expensive fields and defaults of variables cost', async () => {
    for (const query of [
      '{ courses(first: 100) { nodes { lectures { id } } } }',
      `{ courses(first: 5) { nodes { ${Array.from({ length: 20 }, (_, i) => `a${i}: lectures { id title }`).join(' ')} } } }`,
      'query ($n: Int = 100) { courses(first: $n) { nodes { lectures { id } } } }',
      '{ students(first: 100) { nodes { enrolments { progress { lectureCount } } } } }',
      `{ ${Array.from({ length: 4 }, (_, i) => `a${i}: analytics { courses(first: 100) { nodes { completions activeMembers } } }`).join(' ')} }`,
      '{ courses(first: 100) { ... on CourseConnection { nodes { lectures { id } } } } }',
    ]) {
      const { status, body } = await operator.ask(query)
      expect([status, body.errors?.[0]?.extensions?.['limit']], query).to.deep.equal([400, 'cost'])
    }
    const fine = '{ courses(first: 20) { nodes { slug lectures { id title } } } }'
    expect((await operator.ask(fine)).status).to.equal(200)
  })

  it('needs the scopes of all fields of a document, and names them', async () => {
    const reader = await startOperator(running, {
      scopes: everyScope.filter((name) => name === 'courses:read'),
    })
    const { status, body, headers } = await reader.ask(
      '{ courses { nodes { id lectures { id } } } site { id } }',
    )
    expect([status, body.error]).to.deep.equal([403, 'insufficient_scope'])
    expect(headers.get('www-authenticate')).to.include(
      'scope="openid courses:read curriculum:read school:read"',
    )
  })

  for (const { kind, field } of operations) {
    it(`${kind} ${field.name} is refused without its scope, before anything runs`, async () => {
      const needed = scopesOfField(field)
      const without = await limited(running, needed)
      const { query, variables } = exampleOf({ kind, field }, new Map())
      const { status, body, headers } = await without.ask(query, variables)
      expect([status, body.error], JSON.stringify(body)).to.deep.equal([403, 'insufficient_scope'])
      for (const scope of needed) expect(headers.get('www-authenticate')).to.include(scope)
    })
  }

  it('ends with the role of the person', async () => {
    const { kysely } = running.service.stores.database
    const own = kysely.deleteFrom('site_role').where('person_id', '=', 'per_amir')
    const person = { ...amir, site: 'sit_northlight' }
    const other = await startOperator(running, { person })
    expect((await other.ask('{ site { id } }')).status).to.equal(200)
    await own.where('site_id', '=', 'sit_northlight').execute()
    for (const operation of operations) {
      const { query, variables } = exampleOf(operation, new Map())
      expect((await other.ask(query, variables)).status, operation.field.name).to.equal(401)
    }
  })
})

const withoutScopes = new WeakMap<RunningService, Map<string, Promise<Operator>>>()

/** An operator with every scope but some. */
async function limited(running: RunningService, missing: readonly string[]): Promise<Operator> {
  const known = withoutScopes.get(running) ?? new Map<string, Promise<Operator>>()
  withoutScopes.set(running, known)
  const key = missing.join(' ')
  const scopes = everyScope.filter((scope) => !missing.includes(scope))
  const found = known.get(key) ?? startOperator(running, { scopes })
  known.set(key, found)
  return await found
}

forEachDatabase('what another site has', (start) => {
  let running: RunningService
  let operator: Operator
  let neighbour: Operator
  before(async () => {
    running = await start()
    operator = await startOperator(running)
    neighbour = await startOperator(running, { person: { ...amir, site: 'sit_open_kitchen' } })
  })
  after(async () => await running?.[Symbol.asyncDispose]())

  it('is neither told nor changed, by any id that any operation takes', async () => {
    const { kysely } = running.service.stores.database
    const before = await kitchenRows(running)
    // One id of each kind is enough, and there are many operations.
    const kinds = Map.groupBy(before.flatMap((row) => Object.values(row)).filter(isId), (id) =>
      id.slice(0, 3),
    )
    const ids = [...kinds.values()].flatMap(([id]) => id ?? [])
    const tried = operations.flatMap((operation) =>
      slotsOf(operation)
        .filter(({ type }) => type === 'ID')
        .map((slot) => ({ operation, slot })),
    )
    expect(tried.length).to.be.above(5)
    for (const { operation, slot } of tried) {
      for (const id of ids) {
        const { query, variables } = exampleOf(operation, new Map([[slot.path.join('.'), id]]))
        const { body } = await operator.ask(query, variables)
        // An operation that was not run would tell nothing, and prove nothing.
        expect(body.errors?.[0]?.extensions?.['code'], query).to.not.equal('LIMIT_EXCEEDED')
        const told = JSON.stringify({ ...body, data: withoutIds(body.data ?? null, id) })
        const others = ids.filter((other) => other !== id && told.includes(`"${other}"`))
        expect(
          others,
          `${operation.field.name}(${slot.path.join('.')}: ${id}): ${told}`,
        ).to.deep.equal([])
      }
    }
    expect(await kitchenRows(running)).to.deep.equal(before)
    expect(
      await kysely
        .selectFrom('audit_event')
        .selectAll()
        .where('site_id', '=', 'sit_open_kitchen')
        // Its own operator signed in and consented, for the tokens above.
        .where('action', 'not in', ['consent.given', ...Object.keys(eventActions)])
        .execute(),
    ).to.deep.equal([])
  })

  it('is not reached by a text that no database takes: each is refused, and named', async () => {
    for (const operation of operations) {
      for (const { path, type } of slotsOf(operation)) {
        if (type !== 'ID' && type !== 'String') continue
        const { query, variables } = exampleOf(operation, new Map([[path.join('.'), 'a\0b']]))
        const { status, body } = await operator.ask(query, variables)
        const said = `${operation.field.name}(${path.join('.')}): ${JSON.stringify(body)}`
        expect([status, body.errors?.[0]?.extensions?.['code']], said).to.deep.equal([
          ...[200, 'BAD_INPUT'],
        ])
        expect(body.errors?.[0]?.extensions?.['argument'], said).to.equal(path.at(-1))
      }
    }
  })

  it('is not shown by a cursor of one of its lists', async () => {
    const lists = operations.filter((operation) =>
      slotsOf(operation).some(({ path }) => path.join('.') === 'after'),
    )
    expect(lists.length).to.be.above(0)
    for (const { field } of lists) {
      const query = `query ($after: String) { ${field.name}(first: 1, after: $after) { edges { cursor } pageInfo { endCursor } } }`
      const theirs = (await neighbour.run(query))[field.name].pageInfo.endCursor
      if (theirs === null) continue
      expect(await operator.refused(query, { after: theirs }), field.name).to.deep.equal({
        code: 'BAD_ARGUMENT',
        argument: 'after',
      })
    }
  })
})

/** Ids have a prefix of their kind. */
function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z]{3}_\w+$/.test(value)
}

/** The data without the id that was asked with, which an answer may repeat. */
function withoutIds(data: unknown, id: string): unknown {
  return JSON.parse(JSON.stringify(data).replaceAll(`"${id}"`, '"asked"'))
}

/** All that belongs to the other site: its own rows, what it offers, and what was bought of it. */
async function kitchenRows({ service }: RunningService): Promise<Record<string, unknown>[]> {
  const { kysely } = service.stores.database
  const site = 'sit_open_kitchen'
  const ofSite = await Promise.all(
    (
      [
        'course',
        'digital_product',
        'event',
        'customer_order',
        'post',
        'stored_file',
        'notification',
      ] as const
    ).map(
      async (table) =>
        await kysely
          .selectFrom(table)
          .selectAll()
          .where('site_id', '=', site)
          .orderBy('id')
          .execute(),
    ),
  )
  const lectures = await kysely
    .selectFrom('lecture')
    .selectAll()
    .where('course_id', 'in', kysely.selectFrom('course').select('id').where('site_id', '=', site))
    .orderBy('id')
    .execute()
  const purchases = await kysely
    .selectFrom('course_purchase')
    .selectAll()
    .where('course_id', 'in', kysely.selectFrom('course').select('id').where('site_id', '=', site))
    .orderBy('id')
    .execute()
  const roles = await kysely
    .selectFrom('site_role')
    .selectAll()
    .where('site_id', '=', site)
    // Who belongs to both sites is known at both.
    .where(
      'person_id',
      'not in',
      kysely.selectFrom('site_role').select('person_id').where('site_id', '<>', site),
    )
    .orderBy('person_id')
    .execute()
  return [...ofSite.flat(), ...lectures, ...purchases, ...roles].map((row) => ({ ...row }))
}
