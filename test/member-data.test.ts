import { expect } from 'chai'
import type { Kysely, KyselyPlugin } from 'kysely'

import type { Schema } from '../src/platform/store/schema.ts'
import { withDatabases } from './support/database.ts'
import { memberApiOver, samAtNorthlight, withCampus } from './support/member-api.ts'

interface Connection<Node> {
  readonly nodes: readonly Node[]
  readonly edges: readonly { cursor: string; node: Node }[]
  readonly pageInfo: {
    hasNextPage: boolean
    hasPreviousPage: boolean
    startCursor: string | null
    endCursor: string | null
  }
  readonly totalCount: number
}

const page = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount'

/** Counts what is sent to the database, however it was made. */
function counting(kysely: Kysely<Schema>) {
  const count = { statements: 0 }
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      count.statements += 1
      return result
    },
  }
  return { counted: kysely.withPlugin(plugin), count }
}

withDatabases('the member data', (open) => {
  // [What the service does 5; Viewer 0.5; Viewer 0.6; Viewer 0.7; Viewer 0.8; Viewer 1.1]
  it('reads what the member bought at the site of the token, the latest first', async () => {
    await using database = await withCampus(await open())
    const { execute } = memberApiOver(database)
    const { data, errors } = await execute(
      `{ viewer {
        id name email schools { id slug name roles }
        enrolledCourses { nodes {
          slug expireDate hasLifetimeAccess purchasedAt
          lastWatchedLecture { lectureId positionSeconds title durationSeconds watchedAt }
        } }
        digitalProducts { nodes { slug title fileName } }
        consultingServices { nodes { slug durationMinutes scheduledAt } }
        eventRegistrations { nodes { slug location startsAt endsAt cancelledAt } }
      } }`,
      {},
      samAtNorthlight,
    )
    expect(errors).to.equal(undefined)
    const viewer = JSON.parse(JSON.stringify(data)).viewer
    expect(viewer).to.include({ id: 'per_sam', name: 'Sam Student' })
    expect(viewer.schools).to.deep.equal([
      { id: 'sit_northlight', slug: 'northlight', name: 'Northlight Academy', roles: ['student'] },
    ])
    const courses = viewer.enrolledCourses.nodes
    const moments = courses.map(({ purchasedAt }: { purchasedAt: string }) => purchasedAt)
    expect(moments).to.deep.equal([...moments].sort().reverse())
    expect(
      courses.every((course: Record<string, unknown>) => {
        return course['hasLifetimeAccess'] === (course['expireDate'] === null)
      }),
    ).to.equal(true)
    const light = courses.find(({ slug }: { slug: string }) => slug === 'reading-light')
    expect(light).to.include({ expireDate: null, hasLifetimeAccess: true })
    const dated = courses.find(({ expireDate }: { expireDate: string | null }) => expireDate)
    expect(dated.expireDate).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(viewer.digitalProducts.nodes.length).to.be.above(0)
    expect(viewer.consultingServices.nodes.length).to.be.above(0)
    expect(viewer.eventRegistrations.nodes.length).to.be.above(0)
  })

  // [Viewer 3]
  it('gives of each course the lecture that was watched last, and null when none was', async () => {
    await using database = await withCampus(await open())
    const { execute } = memberApiOver(database)
    const { data } = await execute(
      '{ viewer { enrolledCourses { nodes { slug lastWatchedLecture { lectureId positionSeconds } } } } }',
      {},
      samAtNorthlight,
    )
    const { kysely } = database
    const rows = await kysely
      .selectFrom('watch_position')
      .innerJoin('lecture', 'lecture.id', 'watch_position.lecture_id')
      .innerJoin('course', 'course.id', 'lecture.course_id')
      .select(['course.slug', 'lecture.id', 'position_seconds', 'watched_at'])
      .where('person_id', '=', 'per_sam')
      .orderBy('watched_at')
      .execute()
    const last = new Map(
      rows.map((row) => [row.slug, { lectureId: row.id, positionSeconds: row.position_seconds }]),
    )
    const { nodes } = JSON.parse(JSON.stringify(data)).viewer.enrolledCourses
    expect(last.size).to.be.above(1)
    for (const { slug, lastWatchedLecture } of nodes) {
      expect(lastWatchedLecture, slug).to.deep.equal(last.get(slug) ?? null)
    }
    expect(
      nodes.some((node: Record<string, unknown>) => node['lastWatchedLecture'] === null),
    ).to.equal(true)
  })

  it('costs the same number of statements for one nested node and for many', async () => {
    await using database = await withCampus(await open())
    const { counted, count } = counting(database.kysely)
    const { execute } = memberApiOver({ ...database, kysely: counted })
    const query = `query ($first: Int) { viewer {
      schools { name }
      enrolledCourses(first: $first) { totalCount nodes { slug lastWatchedLecture { lectureId } } }
      eventRegistrations(first: $first) { edges { node { slug } } }
    } notifications(first: $first) { nodes { title } } unreadNotificationCount }`
    const statementsFor = async (first: number) => {
      count.statements = 0
      const { errors } = await execute(query, { first }, samAtNorthlight)
      expect(errors).to.equal(undefined)
      return count.statements
    }
    const forOne = await statementsFor(1)
    // Schools, courses, their count, last lectures, registrations, notifications, the unread count.
    expect(forOne).to.equal(7)
    expect(await statementsFor(100)).to.equal(forOne)
  })

  it('walks a list in a stable order, without gaps or repeats, while rows are added', async () => {
    await using database = await withCampus(await open())
    const { kysely } = database
    // Many at one moment: only the id is left to order them by.
    const rows = Array.from({ length: 25 }, (_, place) => ({
      id: `not_walk_${String(place).padStart(2, '0')}`,
      person_id: 'per_lena',
      site_id: 'sit_northlight',
      topic: 'replies',
      title: 't',
      body: 'b',
      link: null,
      created_at: place < 20 ? 1000 : 2000,
      read_at: null,
    }))
    await kysely.insertInto('notification').values(rows).execute()
    const { execute } = memberApiOver(database)
    const seen: string[] = []
    let after: string | null = null
    for (let pages = 0; pages < 10; pages += 1) {
      const { data, errors } = await execute(
        `query ($after: String) { notifications(first: 7, after: $after) { nodes { id } edges { cursor } ${page} } }`,
        { after },
        { ...samAtNorthlight, personId: 'per_lena' },
      )
      expect(errors).to.equal(undefined)
      const found = (data as unknown as { notifications: Connection<{ id: string }> }).notifications
      seen.push(...found.nodes.map(({ id }) => id))
      expect(found.pageInfo.hasPreviousPage).to.equal(after !== null)
      expect(found.pageInfo.startCursor).to.equal(found.edges[0]?.cursor)
      expect(found.pageInfo.endCursor).to.equal(found.edges.at(-1)?.cursor)
      after = found.pageInfo.endCursor
      if (pages === 1) {
        const [added] = rows
        if (added)
          await kysely
            .insertInto('notification')
            .values({ ...added, id: 'not_walk_99', created_at: 3000 })
            .execute()
      }
      if (!found.pageInfo.hasNextPage) break
    }
    expect(seen).to.deep.equal(
      rows
        .toSorted((one, other) => other.created_at - one.created_at || (one.id < other.id ? 1 : -1))
        .map(({ id }) => id),
    )
  })

  it('has no cursors on an empty page, and says so', async () => {
    await using database = await withCampus(await open())
    const { data } = await memberApiOver(database).execute(
      `{ notifications { nodes { id } ${page} } }`,
      {},
      { ...samAtNorthlight, personId: 'per_nobody' },
    )
    expect(JSON.parse(JSON.stringify(data)).notifications).to.deep.equal({
      nodes: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
      totalCount: 0,
    })
  })

  // [Not shown 14]
  it('refuses a page of none, of less and of more than 100', async () => {
    await using database = await withCampus(await open())
    const { execute } = memberApiOver(database)
    for (const first of [0, -1, 101, 2 ** 31 - 1]) {
      const { errors } = await execute(
        'query ($first: Int) { viewer { enrolledCourses(first: $first) { totalCount } } }',
        { first },
        samAtNorthlight,
      )
      expect(errors?.[0]?.message, String(first)).to.equal('first must be from 1 to 100')
      expect(errors?.[0]?.extensions).to.include({ code: 'BAD_ARGUMENT', argument: 'first' })
    }
    const { data } = await execute(
      '{ viewer { enrolledCourses(first: null) { totalCount } } }',
      {},
      samAtNorthlight,
    )
    expect(data).not.to.equal(null)
  })

  it('finds nothing, and fails at nothing, for an id that no row could have', async () => {
    await using database = await withCampus(await open())
    const { execute } = memberApiOver(database)
    for (const id of ['', '\0', 'not_sam_14\0', "' or 1=1 --", 'x'.repeat(5000), '😀']) {
      const { errors } = await execute(
        'mutation ($id: ID!) { markNotificationRead(id: $id) { notification { id } } }',
        { id },
        samAtNorthlight,
      )
      expect(errors?.[0]?.message, JSON.stringify(id.slice(0, 20))).to.equal(
        'there is no such notification',
      )
    }
  })

  // [109]
  it('marks everything read once, however many ask at the same time', async () => {
    await using database = await withCampus(await open())
    const { execute } = memberApiOver(database, () => 5000)
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        execute(
          'mutation { markAllNotificationsRead { markedCount unreadNotificationCount } }',
          {},
          samAtNorthlight,
        ),
      ),
    )
    const marked = answers.map(
      ({ data }) => JSON.parse(JSON.stringify(data)).markAllNotificationsRead,
    )
    expect(marked.map((one) => one.markedCount).filter((count) => count > 0)).to.have.length(1)
    expect(marked.every((one) => one.unreadNotificationCount === 0)).to.equal(true)
  })
})
