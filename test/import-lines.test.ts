import { expect } from 'chai'
import { sql } from 'kysely'

import { kindNames } from '../src/ops/import/record-kinds.ts'
import type { Database } from '../src/platform/store/database.ts'
import { withDatabases } from './support/database.ts'
import { exportRecords, importRecords } from './support/import.ts'

const createdAt = '2026-01-01T00:00:00.000Z'
const site = { type: 'site', id: 'sit_pottery', slug: 'pottery', name: 'Pottery', createdAt }
const person = (id: string, more: object = {}) => ({
  ...{ type: 'person', id: `per_${id}`, email: `${id}@pottery.example`, name: id, createdAt },
  ...more,
})
const course = (id: string, more: object = {}) => ({
  ...{ type: 'course', id: `crs_${id}`, site: 'sit_pottery', slug: id, title: id, summary: id },
  ...{ createdAt, ...more },
})
const order = (id: string, buyer: string) => ({
  ...{ type: 'order', id: `ord_${id}`, site: 'sit_pottery', person: `per_${buyer}`, number: id },
  ...{ totalCents: 1, currency: 'EUR', placedAt: createdAt },
})
const purchase = (id: string, more: object = {}) => ({
  ...{ type: 'coursePurchase', id: `pur_${id}`, person: 'per_ada', course: 'crs_wheel' },
  ...{ purchasedAt: createdAt, expiresAt: null, ...more },
})
const position = (lecture: string) => ({
  ...{ type: 'watchPosition', person: 'per_ada', lecture, positionSeconds: 1 },
  ...{ watchedAt: createdAt },
})

/** Adds a person as an operator does, without an id of the platform. */
async function addByOperator({ kysely }: Database, email: string, more: object = {}) {
  const row = { id: 'per_operators', email, email_canonical: email, name: 'Typed', created_at: 1 }
  await kysely
    .insertInto('person')
    .values({ ...row, ...more })
    .execute()
  await kysely
    .insertInto('site_role')
    .values({
      ...{ person_id: 'per_operators', site_id: 'sit_pottery', role: 'student', granted_at: 1 },
    })
    .execute()
}

const actionsOf = async ({ kysely }: Database) =>
  (await kysely.selectFrom('audit_event').select(['action', 'before', 'after']).execute()).map(
    ({ action, before, after }) => [action, before, after],
  )

withDatabases('import of wrong lines', (open) => {
  it('rejects wrong lines and what needs their records, and writes all others', async () => {
    await using database = await open()
    const rejects: string[] = []
    const lines = [
      ...[site, person('ada'), course('wheel'), { type: 'vase' }],
      ...[person('bob', { email: 'nowhere' }), person('eve', { email: 'ADA@pottery.example' })],
      ...[order('1', 'bob'), order('2', 'ada'), order('3', 'eve')],
      purchase('1', { person: 'per_bob', order: 'ord_1' }),
      ...[purchase('2', { order: 'ord_2' }), purchase('3', { course: 'crs_nothing' })],
      course('glaze', { lectures: [{ id: 'lec_1', title: '1' }] }),
      ...[position('lec_1'), position('lec_2')],
    ]
    const report = await importRecords(database, lines, { onReject: (text) => rejects.push(text) })
    expect(report).to.deep.equal({
      written: { site: 1, person: 1, course: 1, order: 1, coursePurchase: 1 },
      rejected: [
        [4, `type: must be one of ${kindNames.join(', ')}`],
        [5, 'email: must be a valid email'],
        [6, 'another record has the same email canonical'],
        [12, 'course: no course has the id crs_nothing'],
        [13, 'lectures[0].durationSeconds: is missing'],
        [15, 'lecture: no lecture has the id lec_2'],
      ].map(([line, problem]) => ({ source: 'records.ndjson', line, problem })),
      rejectedCount: 6,
      dependents: { order: 2, coursePurchase: 1, watchPosition: 1 },
      skipped: 0,
      absent: undefined,
    })
    const wrong = [4, 5, 6, 7, 9, 10, 12, 13, 14, 15].map((line) => lines[line - 1])
    expect(rejects.map((text) => JSON.parse(text))).to.have.deep.members(wrong)
  })

  it('writes what refers to a stored record whose new line is wrong', async () => {
    await using database = await open()
    await importRecords(database, [site, person('ada'), course('wheel')])
    const report = await importRecords(database, [person('ada', { email: '' }), purchase('1')])
    expect([report.written, report.rejectedCount]).to.deep.equal([{ coursePurchase: 1 }, 1])
  })

  it('rejects a text with NUL by its line, and a slug that an operator took', async () => {
    await using database = await open()
    await importRecords(database, [site])
    const taken = { site_id: 'sit_pottery', slug: 'wheel', title: 'Taken', summary: 'Taken' }
    await database.kysely
      .insertInto('course')
      .values({ id: 'crs_operators', ...taken, created_at: 1 })
      .execute()
    const lines = [person('a\0b'), person('ada', { name: 'A\0da' }), person('bob')]
    const report = await importRecords(database, [
      ...[...lines, course('wheel'), course('glaze')],
      person('eve', { picture: 'https://pottery.example/\0.png' }),
    ])
    expect(report.rejected.map(({ line, problem }) => [line, problem])).to.deep.equal([
      [
        1,
        'id: must be an id like per_…; email: must be a valid email; name: must not contain a NUL character',
      ],
      [2, 'name: must not contain a NUL character'],
      [4, 'another record has the same site id, slug'],
      [6, 'picture: must not contain a NUL character'],
    ])
    expect(report.written).to.deep.equal({ person: 1, course: 1 })
  })

  it('isolates ten wrong lines among a thousand', async () => {
    await using database = await open()
    const wrong = (at: number) => at % 100 === 99
    const lines = Array.from({ length: 1000 }, (_, at) =>
      person(`p${at}`, wrong(at) ? { email: 'p0@pottery.example' } : {}),
    )
    const report = await importRecords(database, lines)
    expect(report.rejected.map(({ line }) => line)).to.deep.equal(
      Array.from({ length: 10 }, (_, at) => at * 100 + 100),
    )
    expect(report.written).to.deep.equal({ person: 990 })
  })

  it('rethrows errors that no line causes', async () => {
    await using database = await open()
    await importRecords(database, [site])
    await sql`drop table course_lecturer`.execute(database.kysely)
    const failed = importRecords(database, [course('wheel', { lecturers: [] })])
    expect(await failed.then(String, String)).to.match(/course_lecturer/)
  })
})

withDatabases('import of people whom operators added', (open) => {
  it('gives a person who never had a credential the id of the platform, with their roles', async () => {
    await using database = await open()
    await importRecords(database, [site])
    await addByOperator(database, 'ada@pottery.example')
    const { rejected, written } = await importRecords(database, [person('ada'), person('bob')])
    expect([rejected, written]).to.deep.equal([[], { person: 2 }])
    const people = (await exportRecords(database)).filter(({ type }) => type === 'person')
    expect(people.map(({ id, name, roles }) => [id, name, roles])).to.deep.equal([
      [
        'per_ada',
        'ada',
        [{ site: 'sit_pottery', role: 'student', grantedAt: new Date(1).toISOString() }],
      ],
      ['per_bob', 'bob', []],
    ])
    expect(await actionsOf(database)).to.deep.equal([
      ['person.adopted', '{"id":"per_operators"}', '{"id":"per_ada"}'],
    ])
  })

  for (const [what, row] of [
    ['has a password', { password_hash: 'hash' }],
    ['was imported', { imported_at: 1 }],
  ] as const) {
    it(`takes over no person who ${what}`, async () => {
      await using database = await open()
      await importRecords(database, [site])
      await addByOperator(database, 'ada@pottery.example', row)
      const { rejected, written } = await importRecords(database, [person('ada'), person('bob')])
      expect(rejected.map(({ line, problem }) => [line, problem])).to.deep.equal([
        [1, 'another record has the same email canonical'],
      ])
      expect([written, await actionsOf(database)]).to.deep.equal([{ person: 1 }, []])
    })
  }

  it('does not join a known person with another one of that address', async () => {
    await using database = await open()
    await importRecords(database, [site, person('ada')])
    await addByOperator(database, 'bob@pottery.example')
    const moved = person('ada', { email: 'bob@pottery.example' })
    const { rejected } = await importRecords(database, [moved])
    expect(rejected.map(({ problem }) => problem)).to.deep.equal([
      'another record has the same email canonical',
    ])
  })
})

withDatabases('import with --missing', (open) => {
  const all = [site, person('ada'), person('bob'), person('eve')]
  const disabled = async ({ kysely }: Database) =>
    (
      await kysely.selectFrom('person').select('id').where('disabled_at', 'is not', null).execute()
    ).map(({ id }) => id)

  it('counts absent people with keep, and disables them with end', async () => {
    await using database = await open()
    await importRecords(database, all)
    await addByOperator(database, 'guest@pottery.example')
    // A rejected line still names a person who is present.
    const lines = [person('ada'), person('bob', { email: '' })]
    const kept = await importRecords(database, lines, { missing: 'keep' })
    expect([kept.absent, await disabled(database)]).to.deep.equal([1, []])
    const ended = await importRecords(database, lines, { missing: 'end' })
    expect([ended.absent, await disabled(database)]).to.deep.equal([1, ['per_eve']])
    expect(await actionsOf(database)).to.deep.equal([
      ['person.absent', '{"disabled":false}', '{"disabled":true}'],
    ])
    expect((await importRecords(database, lines, { missing: 'end' })).absent).to.equal(0)
  })

  for (const [why, lines] of [
    ['the import does not contain people', [course('wheel')]],
    [
      'a rejected line does not identify its record',
      [person('ada'), { type: 'person', name: 'Eve' }],
    ],
    ['a rejected line does not identify its record', [person('ada'), { id: 'per_eve' }]],
  ] as const) {
    it(`ends no access if ${why}`, async () => {
      await using database = await open()
      await importRecords(database, all)
      const { absent } = await importRecords(database, lines, { missing: 'end' })
      expect([absent, await disabled(database)]).to.deep.equal([why, []])
    })
  }
})
