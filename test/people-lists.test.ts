import { CompiledQuery, sql } from 'kysely'

import type { Database } from '../src/platform/store/database.ts'
import { listOrders } from '../src/school/commerce/order-list.ts'
import { listPeople, listStudents } from '../src/school/members/people-list.ts'
import { watched, withDatabases } from './support/database.ts'
import { shared } from './support/shared.ts'

const PEOPLE = 60_000
const siteId = 'sit_1'
type List = ReturnType<typeof listStudents | typeof listPeople | typeof listOrders>
/** Matches the index of words in a query plan. On SQLite, the index is the table itself, which is WITHOUT ROWID. */
const WORDS = /person_word_pkey|SEARCH person_word USING PRIMARY KEY/

withDatabases('the lists of a site with very many people', (open) => {
  const database = shared(async function () {
    this.timeout(120_000)
    const filled = await open({ answerWithinMs: 60_000 })
    await fill(filled)
    return filled
  })

  const planOf = async (list: (database: Database) => List) => {
    const asked: CompiledQuery[] = []
    const seen = list(watched(database(), asked))
    const { places } = await seen.page({ first: 50, after: undefined })
    expect(places).not.to.be.empty
    await seen.page({ first: 20, after: places.at(-1) })
    const page = asked.at(-1)
    if (!page) throw new Error('nothing was asked')
    const explain = database().engine === 'sqlite' ? 'explain query plan ' : 'explain '
    const query = CompiledQuery.raw(explain + page.sql, [...page.parameters])
    return JSON.stringify((await database().kysely.executeQuery(query)).rows)
  }

  const orderOfPerson = /customer_order_by_person_and_time/
  for (const [name, list, filter, index] of [
    ['students', listStudents, {}, /site_role_by_(time|age)/],
    ['lecturers', listPeople, { role: 'lecturer' }, /site_role_by_time/],
    ['students of a course', listStudents, { courseId: 'crs_1' }, /course_purchase_by_time/],
    ['students by word', listStudents, { search: 'person' }, WORDS],
    ['students by two words', listStudents, { search: 'person p0@' }, WORDS],
    ['members', listPeople, {}, /site_role_by_age/],
    ['members by a word', listPeople, { search: 'example' }, WORDS],
    ['orders', listOrders, {}, /customer_order_by_time/],
    ['orders of a person', listOrders, { personId: 'per_7' }, orderOfPerson],
  ] as const) {
    it(`read ${name} in the order of an index, without sorting`, async () => {
      const plan = await planOf((seen) => list(seen, { siteId, ...filter }))
      for (const [lookUp] of plan.matchAll(/SEARCH (earlier|held) [^"]*/g))
        expect(lookUp).to.match(index.test(lookUp) ? index : /person_id=\?/)
      expect(plan).to.match(index)
      expect(plan).not.to.match(
        /TEMP B-TREE|"Sort|-> {2}Sort|SCAN (person|found|person_word)\b|Seq Scan on (person|person_word|site_role|course_purchase|customer_order)/,
      )
    })
  }

  it('continue a search where its page before ended', async () => {
    for (const search of ['person', 'p0@ person', '7']) {
      const list = listStudents(database(), { siteId, search })
      const whole = await list.page({ first: 60, after: undefined })
      const begin = await list.page({ first: 30, after: undefined })
      const rest = await list.page({ first: 30, after: begin.places.at(-1) })
      expect([...begin.rows, ...rest.rows]).to.deep.equal(whole.rows)
      expect(whole.rows).to.have.length(60)
      expect(new Set(whole.rows.map(({ id }) => id)).size).to.equal(60)
    }
  })

  it('count each person once', async () => {
    expect(await listPeople(database(), { siteId }).count()).to.equal(PEOPLE)
    expect(await listPeople(database(), { siteId, role: 'lecturer' }).count()).to.equal(2)
    expect(await listPeople(database(), { siteId, search: 'person' }).count()).to.equal(500)
    expect(await listPeople(database(), { siteId: 'sit_2' }).count()).to.equal(1)
  })
})

async function fill({ kysely, engine }: Database): Promise<void> {
  const numbers = sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(PEOPLE)})`
  const statements = [
    sql`insert into site (id, slug, name, created_at) values ('sit_1', 'one', 'One', 1), ('sit_2', 'two', 'Two', 1)`,
    sql`insert into course (id, site_id, slug, title, summary, created_at) values ('crs_1', 'sit_1', 'c', 'C', 'C', 1)`,
    sql`insert into person (id, email, email_canonical, name, created_at) ${numbers}
      select 'per_' || i, 'p0@' || i || '.example', 'p0@' || i || '.example', 'Person 0' || i, 1 from n`,
    sql`update person set name = 'Person 7' where id = 'per_7'`,
    sql`insert into site_role (person_id, site_id, role, granted_at) ${numbers}
      select 'per_' || i, 'sit_1', 'student', i from n`,
    sql`insert into site_role (person_id, site_id, role, granted_at)
      values ('per_7', 'sit_1', 'lecturer', 1), ('per_8', 'sit_1', 'lecturer', 1000000), ('per_7', 'sit_2', 'owner', 1)`,
    sql`insert into course_purchase (id, person_id, course_id, purchased_at) ${numbers}
      select 'pur_' || i, 'per_' || i, 'crs_1', i from n`,
    sql`insert into customer_order (id, site_id, person_id, number, total_cents, currency, placed_at) ${numbers}
      select 'ord_' || i, 'sit_1', 'per_' || i, 'N' || i, 1, 'EUR', i from n`,
  ]
  for (const statement of statements) await statement.execute(kysely)
  if (engine === 'postgres') await sql`analyze`.execute(kysely)
}
