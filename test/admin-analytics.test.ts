import { sql } from 'kysely'

import type { Database } from '../src/platform/store/database.ts'
import { operatorSite } from './support/admin-api.ts'
import { insert } from './support/database.ts'
import { forEachDatabase } from './support/storages.ts'

const at = (moment: string) => Date.parse(`${moment}Z`)
const between = (from: string, until: string) =>
  `from: "${from}T00:00:00Z", until: "${until}T00:00:00Z"`

/** A period for which the demo has no data. */
const days = 'from: "2015-03-01T23:59:00Z", until: "2015-03-04T00:00:00Z"'

const nothing = {
  ...{ enrolments: 0, activeMembers: 0, completedCourses: 0 },
  ...{ signIns: 0, connectedApplications: 0, calls: 0 },
}

type Order = readonly [placed: string, cents: number, currency: string, refunded?: string]

const orders: readonly Order[] = [
  ['2015-01-31T23:59:59', 1000, 'EUR'],
  ['2015-02-01T00:00:00', 2000, 'EUR', '2015-03-01T12:00:00'],
  ['2015-02-28T23:59:59', 700, 'USD'],
  ['2015-02-28T10:00:00', 300, 'USD', '2015-02-28T11:00:00'],
  ['2015-03-01T00:00:00', 2_000_000_000, 'EUR'],
  ['2015-03-31T00:00:00', 2_000_000_000, 'EUR'],
]

forEachDatabase('the Admin API: analytics', (start) => {
  const { running, kysely, value, refused } = operatorSite(start)
  before(async () => {
    await happenInMarch(running().service.stores.database)
    for (const [index, [placed, total_cents, currency, refunded]] of orders.entries()) {
      const order = {
        ...{ person_id: 'per_sam', number: `R${index}`, coupon_code: null, invoice_number: null },
        ...{ currency, placed_at: at(placed), refunded_at: refunded ? at(refunded) : null },
      }
      await insert(kysely(), 'customer_order', [
        { ...order, id: `ord_here_${index}`, site_id: 'sit_northlight', total_cents },
        { ...order, id: `ord_other_${index}`, site_id: 'sit_open_kitchen', total_cents: 9 },
      ])
    }
  })

  it('counts by UTC day, including the whole first and last day, for this site only', async () => {
    const analytics = await value(
      `{ analytics(${days}) { from until days { date ${Object.keys(nothing).join(' ')} } } }`,
    )
    expect(analytics).to.deep.equal({
      from: '2015-03-01T00:00:00.000Z',
      until: '2015-03-04T00:00:00.000Z',
      days: [
        { ...nothing, date: '2015-03-01', enrolments: 1, activeMembers: 2 },
        {
          ...{ date: '2015-03-02', enrolments: 1, activeMembers: 1, completedCourses: 1 },
          ...{ signIns: 2, connectedApplications: 1, calls: 7 },
        },
        { ...nothing, date: '2015-03-03', connectedApplications: 1, signIns: 1 },
      ],
    })
  })

  it('counts by course for enrolled people, page by page', async () => {
    const selected =
      'totalCount nodes { slug enrolments activeMembers completions } pageInfo { endCursor }'
    const page = async (args: string) =>
      (await value(`{ analytics(${days}) { courses(${args}) { ${selected} } } }`)).courses
    const { nodes, totalCount } = await page('first: 100')
    expect(totalCount).to.equal(nodes.length)
    const slugs = nodes.map(({ slug }: { slug: string }) => slug)
    expect(slugs).to.deep.equal(slugs.toSorted()).and.not.include('march-kitchen')
    const march = { slug: 'march', enrolments: 2, activeMembers: 2, completions: 1 }
    expect(nodes).to.deep.include(march)
    const first = await page('first: 1')
    const second = await page(`first: 1, after: "${first.pageInfo.endCursor}"`)
    expect([...first.nodes, ...second.nodes]).to.deep.equal(nodes.slice(0, 2))
  })

  it('counts all enrolments with the same time, even if one statement cannot read them all', async () => {
    await enrolTwentyThousand(running().service.stores.database, at('2015-05-05T05:05:05'))
    const { days, courses } = await value(
      `{ analytics(${between('2015-05-04', '2015-05-07')}) {
        days { enrolments } courses(first: 100) { nodes { slug enrolments } } } }`,
    )
    expect(days).to.deep.equal([0, 20_000, 0].map((enrolments) => ({ enrolments })))
    expect(courses.nodes).to.deep.include({ slug: 'march', enrolments: 20_000 })
  })

  it('covers the last thirty days by default, the sign-in of the caller included, and at most 92 days', async () => {
    const { days } = await value('{ analytics { days { signIns connectedApplications } } }')
    expect(days).to.have.length(30)
    expect(days.at(-1).signIns).to.be.above(0)
    expect(days.at(-1).connectedApplications).to.be.above(0)
    const ask = (...period: [string, string]) =>
      `{ analytics(${between(...period)}) { days { date } } }`
    expect((await value(ask('2015-01-01', '2015-04-03'))).days).to.have.length(92)
    expect(await refused(ask('2015-01-01', '2015-04-04'))).to.equal('BAD_ARGUMENT from')
    expect(await refused(ask('2015-01-02', '2015-01-02'))).to.equal('BAD_ARGUMENT until')
  })

  const fields = 'period currency orderCount grossCents refundCount refundedCents netCents'
  const february = between('2015-02-01', '2015-03-01')

  for (const [args, sums] of [
    [february, [' EUR 1 2000 0 0 2000', ' USD 2 1000 1 300 700']],
    [
      `${between('2015-01-01', '2015-04-01')}, by: MONTH`,
      [
        '2015-01 EUR 1 1000 0 0 1000',
        '2015-02 EUR 1 2000 0 0 2000',
        '2015-02 USD 2 1000 1 300 700',
        '2015-03 EUR 2 4000000000 1 2000 3999998000',
      ],
    ],
    [`${february}, by: DAY`, ['2015-02-01 EUR 1 2000 0 0 2000', '2015-02-28 USD 2 1000 1 300 700']],
    [between('2015-03-15', '2015-04-01'), [' EUR 1 2000000000 0 0 2000000000']],
  ] as const) {
    it(`counts revenue of orders when placed and refunds when made: ${args}`, async () => {
      const revenue = await value(`{ revenue(${args}) { sums { ${fields} } } }`)
      const found = revenue.sums.map((sum: object) => Object.values(sum).join(' '))
      expect(found).to.deep.equal(sums)
    })
  }

  it('counts the revenue of the last thirty days by default, and refuses a period that is too long', async () => {
    const { from, until } = await value('{ revenue { from until } }')
    expect(Date.parse(until) - Date.parse(from)).to.equal(30 * 86_400_000)
    const ask = (until: string, by = 'TOTAL') =>
      `{ revenue(by: ${by}, ${between('2015-01-01', until)}) { from } }`
    expect(await refused(ask('2015-01-01'))).to.equal('BAD_ARGUMENT until')
    expect(await refused(ask('2018-02-01'))).to.equal('BAD_ARGUMENT from')
    expect(await refused(ask('2015-05-01', 'DAY'))).to.equal('BAD_ARGUMENT from')
  })
})

/** Stores activity in March 2015. Sam completes a course. Noor and June complete a lecture; June has no role at the site. */
async function happenInMarch({ kysely }: Database): Promise<void> {
  const march = (time: string) => at(`2015-03-${time}`)
  const day = Math.floor(march('02T00:00:00') / 86_400_000)
  const grant = `'per_sam', 'x', 'X', 'site', '{}', ${march('02T01:00:00')},
    ${at('2015-06-01T00:00:00')}, ${march('03T09:00:00')}`
  const family = `'s', '{}', 1, '', ${Date.now() + 86_400_000}`
  for (const rows of [
    `course (id, site_id, slug, title, summary, created_at) values
      ('crs_march', 'sit_northlight', 'march', 'March', 'Mud.', 1),
      ('crs_kitchen', 'sit_open_kitchen', 'march-kitchen', 'March', 'Mud.', 1)`,
    `lecture (id, course_id, position, title, duration_seconds) values
      ('lec_1', 'crs_march', 1, 'L', 100), ('lec_2', 'crs_march', 2, 'L', 100),
      ('lec_kitchen', 'crs_kitchen', 1, 'L', 100)`,
    `course_purchase (id, person_id, course_id, purchased_at) values
      ('e1', 'per_sam', 'crs_march', ${march('01T00:00:00.000')}),
      ('e2', 'per_noor', 'crs_march', ${march('02T23:59:59.999')}),
      ('e3', 'per_june', 'crs_kitchen', ${march('02T12:00:00')})`,
    `watch_position (person_id, lecture_id, position_seconds, watched_at) values
      ('per_sam', 'lec_1', 100, ${march('01T10:00:00')}),
      ('per_sam', 'lec_2', 90, ${march('02T10:00:00')}),
      ('per_noor', 'lec_1', 95, ${march('01T10:00:00')}),
      ('per_noor', 'lec_2', 89, ${march('01T11:00:00')}),
      ('per_june', 'lec_1', 100, ${march('03T10:00:00')}),
      ('per_june', 'lec_kitchen', 100, ${march('03T10:00:00')})`,
    `oauth_grant (id, site_id, person_id, client_id, client_name, client_origin, allowed, granted_at,
      expires_at, ended_at) values
      ('gra_march', 'sit_northlight', ${grant}), ('gra_kitchen', 'sit_open_kitchen', ${grant})`,
    `refresh_token_family (id, grant_id, started_at, seed, token, generation, steps, kept_until) values
      ('f0', 'gra_march', ${march('02T01:00:00')}, ${family}),
      ('f1', 'gra_march', ${march('02T02:00:00')}, ${family}),
      ('f2', 'gra_march', ${march('03T03:00:00')}, ${family}),
      ('f3', 'gra_kitchen', ${march('03T03:00:00')}, ${family})`,
    `oauth_grant_day (grant_id, day, calls) values ('gra_march', ${day}, 7), ('gra_kitchen', ${day}, 70)`,
  ])
    await sql.raw(`insert into ${rows}`).execute(kysely)
}

/** Enrols 20,000 people at the same instant, so even the shortest period contains all of them. */
async function enrolTwentyThousand({ kysely }: Database, purchasedAt: number): Promise<void> {
  const digits = sql.raw(Array.from({ length: 10 }, (_, i) => `select ${i} i`).join(' union all '))
  const numbers = sql`with digit as (${digits}), number as (
    select a.i + 10 * b.i + 100 * c.i + 1000 * d.i + 10000 * e.i as n
    from digit a, digit b, digit c, digit d, digit e where e.i < 2)`
  const people = sql`${numbers}
    insert into person (id, email, email_canonical, name, created_at)
    select 'per_' || n, n || '@example.org', n || '@example.org', 'N', 1 from number`
  const purchases = sql`${numbers}
    insert into course_purchase (id, person_id, course_id, purchased_at)
    select 'enr_' || n, 'per_' || n, 'crs_march', ${sql.lit(purchasedAt)} from number`
  for (const insertion of [people, purchases]) await insertion.execute(kysely)
}
