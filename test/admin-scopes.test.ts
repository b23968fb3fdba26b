import { getNamedType, isObjectType } from 'graphql'
import { sql } from 'kysely'

import { makeAdminSchema } from '../src/api/admin-api/admin-api.ts'
import { scopesOfField } from '../src/api/admin-api/field-scopes.ts'
import { schemaText } from '../src/api/admin-api/schema-text.ts'
import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { eventActions } from '../src/platform/audit/audit-actions.ts'
import { paths } from '../src/platform/http/paths.ts'
import { mutationOf, type Operator, operatorSite, startOperator } from './support/admin-api.ts'
import { remove } from './support/database.ts'
import { pdf, sendFile } from './support/files.ts'
import { amir, type RunningService, startService } from './support/gatehouse.ts'
import { withoutAnyLimit } from './support/limits.ts'
import { partsOf, schemaSuite } from './support/schema-suite.ts'
import { exampleOf, operationsOf, slotsOf } from './support/schema-walk.ts'
import { cached } from './support/shared.ts'
import { forEachDatabase } from './support/storages.ts'
import { expectText, refusalOf } from './support/wire.ts'

const schema = makeAdminSchema()
const operations = operationsOf(schema)
const everyScope = scopeNames('operator')
const { fields, inputs } = partsOf(schema)

/** Matches the scopes of the areas that a platform serves itself (docs/how-to/serve-your-own-api.md). */
const servedByThePlatform = /^(membership_plans|coupons|subscriptions|comments|forms|pages):/

describe('the schema of the Admin API', () => {
  schemaSuite(schema, /\bnull\b/i)

  // [Not shown 9; threat 16]
  it('has an operation for every operator scope except the platform’s own', () => {
    const opened = new Set(fields.flatMap((field) => scopesOfField(field)))
    const expected = everyScope.filter((scope) => !servedByThePlatform.test(scope))
    expect([...opened]).to.have.members(expected)
  })

  it('requires a scope of the catalogue for each operation, and a write scope for each change', () => {
    for (const { kind, field } of operations) {
      const needed = scopesOfField(field)
      expect(needed, field.name).to.not.deep.equal([])
      expect(everyScope, field.name).to.include.members([...needed])
      const writes = needed.some((scope) => scope.endsWith(':write'))
      expect(kind === 'query' || writes, field.name).to.equal(true)
    }
  })

  it('has an assumed size for every list without pages, and a cost for everything that reads a whole list', () => {
    const lists = fields.filter(
      ({ type, args, name }) =>
        /^\[/.test(String(type)) &&
        isObjectType(getNamedType(type)) &&
        !['nodes', 'edges'].includes(name) &&
        !args.some((argument) => argument.name === 'first'),
    )
    expect(lists.length).to.be.above(5)
    const unsized = lists.filter(
      ({ astNode }) => !astNode?.directives?.some(({ name }) => name.value === 'listSize'),
    )
    expect(unsized.map(({ at }) => at)).to.deep.equal([])
    const costs = (node: { readonly astNode?: unknown }) =>
      JSON.stringify((node.astNode as { directives?: unknown }).directives).includes('"cost"')
    const totals = fields.filter(({ name }) => name === 'totalCount')
    const searches = fields.flatMap(({ args }) => args).filter(({ name }) => name === 'search')
    for (const found of [totals, searches]) expect(found).to.have.length.above(5)
    expect([...totals, ...searches].filter((node) => !costs(node))).to.deep.equal([])
  })

  it('does not take a site as an argument', () => {
    const given = [...fields.flatMap(({ args }) => args), ...inputs].map(({ name }) => name)
    expect(given.filter((name) => /site|school/i.test(name))).to.deep.equal([])
  })
})

describe('the Admin API over HTTP', () => {
  const { running, ask } = operatorSite(startService)

  it('counts the cost of selected totals and searches, lists without pages, expensive fields and defaults of variables', async () => {
    const query = `query ($s: String) { courses(first: 1, search: $s) { nodes { id } totalCount } }`
    const without = '{ courses(first: 1, search: null) { nodes { id } } }'
    const costs = []
    for (const [text, s] of [[query, 'x'], [query, null], [query], [without]] as const)
      costs.push((await ask(text, { s })).body.extensions?.['cost'])
    expect(costs).to.deep.equal([1003, 503, 503, 3])
    const aliases = (count: number, field: string) =>
      Array.from({ length: count }, (_, index) => `a${index}: ${field}`).join(' ')
    for (const query of [
      '{ courses(first: 100) { nodes { lectures { id } } } }',
      `{ courses(first: 5) { nodes { ${aliases(20, 'lectures { id title }')} } } }`,
      'query ($n: Int = 100) { courses(first: $n) { nodes { lectures { id } } } }',
      '{ students(first: 100) { nodes { enrolments { progress { lectureCount } } } } }',
      `{ ${aliases(4, 'analytics { courses(first: 100) { nodes { completions activeMembers } } }')} }`,
      '{ courses(first: 100) { ... on CourseConnection { nodes { lectures { id } } } } }',
    ]) {
      const { status, body } = await ask(query)
      expect([status, body.errors?.[0]?.extensions?.['limit']], query).to.deep.equal([400, 'cost'])
    }
    const fine = '{ courses(first: 20) { nodes { slug lectures { id title } } } }'
    expect((await ask(fine)).status).to.equal(200)
  })

  it('publishes its schema', async () => {
    expect(await (await fetch(running().url + paths.adminSchema)).text()).to.equal(schemaText)
  })

  it('needs the scopes of all fields of a document, and names them; for a change, the write scope alone', async () => {
    const reader = await startOperator(running(), { scopes: ['courses:read'] })
    const query = '{ courses { nodes { id lectures { id } lecturers { id } } } site { id } }'
    const answer = await reader.ask(query)
    expect(refusalOf(answer)).to.equal('403 insufficient_scope')
    const named = 'scope="openid courses:read curriculum:read school:read lecturers:read"'
    expect(answer.headers.get('www-authenticate')).to.include(named)
    const writer = await startOperator(running(), { scopes: ['members:write'] })
    const removed = await writer.value('mutation { removeMember(id: "per_theo") { deletedId } }')
    expect(removed).to.deep.equal({ deletedId: 'per_theo' })
  })

  const operatorWithout = cached(async (...needed: string[]) => {
    const scopes = everyScope.filter((scope) => !needed.includes(scope))
    return await startOperator(running(), { scopes })
  })
  for (const { kind, field } of operations) {
    it(`${kind} ${field.name} is refused without its scope, before anything runs`, async () => {
      const needed = scopesOfField(field)
      const without = await operatorWithout(...needed)
      const { query, variables } = exampleOf({ kind, field }, new Map())
      const answer = await without.ask(query, variables)
      expect(refusalOf(answer), answer.text).to.equal('403 insufficient_scope')
      expectText(answer.headers.get('www-authenticate') ?? '', ...needed)
    })
  }

  it('denies access when the person loses the role', async () => {
    const other = await startOperator(running(), { person: { ...amir, site: 'sit_northlight' } })
    expect((await other.ask('{ site { id } }')).status).to.equal(200)
    const here = { person_id: 'per_amir', site_id: 'sit_northlight' }
    await remove(running().kysely, 'site_role', here)
    for (const operation of operations) {
      const { query, variables } = exampleOf(operation, new Map())
      expect((await other.ask(query, variables)).status, operation.field.name).to.equal(401)
    }
  })
})

/** Arguments that are valid at the operator's site. The test replaces one id at a time with one from another site. */
const ownArguments = {
  personId: 'per_noor',
  courseId: 'crs_color',
  eventId: 'evt_dawn_walk',
  productId: 'dig_shot_list',
  fileId: 'fil_shot_list',
  hasLifetimeAccess: true,
  type: 'course.published',
}
const own = ['', 'input.'].flatMap((within) =>
  Object.entries(ownArguments).map(([name, value]): [string, unknown] => [within + name, value]),
)

forEachDatabase('what another site has', (start) => {
  const { running, ask, value, refused } = operatorSite(start, { policy: withoutAnyLimit })
  let neighbour: Operator
  let rowsBefore: unknown
  before(async () => {
    neighbour = await startOperator(running(), { person: { ...amir, site: 'sit_open_kitchen' } })
    await neighbour.run(mutationOf('createPost'), { input: { title: 'Soup', body: 'Hot.' } })
    const endpoint = { url: 'https://hooks.example/', types: ['course.published'] }
    await neighbour.run(mutationOf('createWebhookEndpoint'), { input: endpoint })
    await sendFile({ ...neighbour, name: 'theirs.pdf', bytes: pdf })
    rowsBefore = await kitchenRows(running())
  })
  afterEach(async () => expect(await kitchenRows(running())).to.deep.equal(rowsBefore))

  it('is null in every query by slug or number, and for a lecturer who has another role here', async () => {
    for (const query of ['order(number: "OK-0211")', 'lecturer(id: "per_marco")', 'order'])
      expect(await value(`{ ${query} { id } }`), query).to.equal(null)
  })

  it('is unknown to every operation that takes an id, like an id that does not exist', async () => {
    const rows = await kitchenRows(running())
    const values = rows.flatMap(Object.values).map(String)
    const found = values.filter((value) => /^[a-z]{3}_[\w-]+$/.test(value))
    const kinds = Map.groupBy(found, (id) => id.slice(0, 3))
    const known = ['crs', 'lec', 'dig', 'evt', 'ord', 'per', 'pur', 'reg', 'pst', 'fil', 'whe']
    expect([...kinds.keys()]).to.include.members(known)
    const ids = [...kinds.values()].flatMap(([id]) => id ?? [])
    const tried = operations.flatMap((operation) =>
      slotsOf(operation)
        .filter(({ type }) => type === 'ID')
        .map(({ path }) => ({ operation, place: path.join('.') })),
    )
    expect(tried.length).to.be.above(30)
    const others: string[] = []
    for (const { operation, place } of tried) {
      const answerFor = async (id: string) => {
        const { query, variables } = exampleOf(operation, new Map([...own, [place, id]]))
        const { data, errors } = (await ask(query, variables)).body
        return JSON.stringify({ data, errors }).replaceAll(id, 'sent')
      }
      const { kind, field } = operation
      const absent = await answerFor('xxx_none')
      expect(ids.filter((id) => absent.includes(`"${id}"`))).to.deep.equal([])
      for (const id of ids)
        expect(await answerFor(id), `${field.name}(${place}: ${id})`).to.equal(absent)
      if (!absent.includes(kind === 'mutation' ? 'NOT_FOUND' : '{"data":{'))
        others.push(`${field.name} ${place}`)
    }
    // An unknown logo is an invalid argument, and unassigning a person who does not teach the course is a no-op.
    expect(others).to.deep.equal([
      'updateAppearance input.logoFileId',
      'unassignLecturer input.personId',
    ])
  })

  it('cannot be reached with text that PostgreSQL cannot store; the error names the argument', async () => {
    for (const operation of operations) {
      for (const { path, type } of slotsOf(operation)) {
        if (type !== 'ID' && type !== 'String') continue
        const { query, variables } = exampleOf(operation, new Map([[path.join('.'), 'a\0b']]))
        const said = await refused(query, variables)
        expect(said, operation.field.name).to.equal(`BAD_INPUT ${path.at(-1)}`)
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
      const after = (await neighbour.value(query)).pageInfo.endCursor
      if (after === null) continue
      expect(await refused(query, { after }), field.name).to.equal('BAD_ARGUMENT after')
    }
  })
})

async function kitchenRows({ kysely }: RunningService): Promise<Record<string, unknown>[]> {
  const ofSite = (table: string) => `${table} where site_id = 'sit_open_kitchen'`
  const idsOf = (table: string) => `(select id from ${ofSite(table)})`
  const tables = [
    ...['course', 'digital_product', 'event', 'customer_order', 'post', 'stored_file'],
    ...['webhook_endpoint', 'notification'],
  ]
  const own = eventActions.map((action) => `'${action}'`)
  const found = await Promise.all(
    [
      ...tables.map((table) => `* from ${ofSite(table)} order by id`),
      `* from lecture where course_id in ${idsOf('course')} order by id`,
      `* from course_purchase where course_id in ${idsOf('course')} order by id`,
      `* from event_registration where event_id in ${idsOf('event')} order by id`,
      `* from ${ofSite('site_role')} and person_id not in
        (select person_id from site_role where site_id <> 'sit_open_kitchen') order by person_id`,
      `action from ${ofSite('audit_event')} and action not in (${own}) order by occurred_at`,
    ].map((query) => sql.raw<Record<string, unknown>>(`select ${query}`).execute(kysely)),
  )
  return found.flatMap(({ rows }) => rows)
}
