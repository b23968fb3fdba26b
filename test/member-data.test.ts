import { insert, watched, withDatabases } from './support/database.ts'
import { memberApiOver, samAtNorthlight, withCampus } from './support/member-api.ts'
import { shared } from './support/shared.ts'

const page = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount'

withDatabases('the member data', (open) => {
  const database = shared(async () => await withCampus(await open()))

  // [What the service does 5; Viewer 0.5; Viewer 0.6; Viewer 0.7; Viewer 0.8; Viewer 1.1]
  it('lists the purchases of the member at the site of the token, the latest first', async () => {
    const { viewer } = await memberApiOver(database()).read(
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
    )
    expect(viewer).to.include({ id: 'per_sam', name: 'Sam Student' })
    expect(viewer.schools).to.deep.equal([
      { id: 'sit_northlight', slug: 'northlight', name: 'Northlight Academy', roles: ['student'] },
    ])
    const courses: Record<string, unknown>[] = viewer.enrolledCourses.nodes
    const times = courses.map((course) => course['purchasedAt'])
    expect(times).to.deep.equal(times.toSorted().toReversed())
    for (const { hasLifetimeAccess, expireDate } of courses) {
      expect(hasLifetimeAccess).to.equal(expireDate === null)
      if (expireDate !== null)
        expect(expireDate).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    }
    const light = courses.find(({ slug }) => slug === 'reading-light')
    expect(light).to.include({ expireDate: null, hasLifetimeAccess: true })
    expect(courses.some(({ expireDate }) => expireDate !== null)).to.equal(true)
    for (const list of ['digitalProducts', 'consultingServices', 'eventRegistrations'])
      expect(viewer[list].nodes, list).to.not.be.empty
  })

  it('gives for each course the lecture that was watched last, or null [Viewer 3]', async () => {
    const { viewer } = await memberApiOver(database()).read(
      '{ viewer { enrolledCourses { nodes { slug lastWatchedLecture { lectureId positionSeconds } } } } }',
    )
    const rows = await database()
      .kysely.selectFrom('watch_position')
      .innerJoin('lecture', 'lecture.id', 'watch_position.lecture_id')
      .innerJoin('course', 'course.id', 'lecture.course_id')
      .select(['course.slug', 'lecture.id', 'position_seconds'])
      .where('person_id', '=', 'per_sam')
      .orderBy('watched_at')
      .execute()
    const last = new Map(
      rows.map((row) => [row.slug, { lectureId: row.id, positionSeconds: row.position_seconds }]),
    )
    expect(last.size).to.be.above(1)
    const { nodes } = viewer.enrolledCourses
    for (const { slug, lastWatchedLecture } of nodes)
      expect(lastWatchedLecture, slug).to.deep.equal(last.get(slug) ?? null)
    expect(nodes.length).to.be.above(last.size)
  })

  it('costs the same number of statements for one nested node and for many', async () => {
    const counts: number[] = []
    const { read } = memberApiOver(watched(database(), [], counts))
    const query = `query ($first: Int) { viewer {
      schools { name }
      enrolledCourses(first: $first) { totalCount nodes { slug lastWatchedLecture { lectureId } } }
      eventRegistrations(first: $first) { edges { node { slug } } }
    } notifications(first: $first) { nodes { title } } unreadNotificationCount }`
    // One statement each: schools, courses, their count, last lectures, registrations, notifications, the unread count.
    for (const first of [1, 100]) {
      counts.length = 0
      await read(query, { first })
      expect(counts).to.have.length(7)
    }
  })

  it('walks a list in a stable order, without gaps or repeats, while rows are added', async () => {
    const { kysely } = database()
    const rows = Array.from({ length: 25 }, (_, place) => ({
      id: `not_walk_${String(place).padStart(2, '0')}`,
      ...{ person_id: 'per_lena', site_id: 'sit_northlight', topic: 'replies' },
      ...{ title: 't', body: 'b', created_at: place < 20 ? 1000 : 2000 },
    }))
    await insert(kysely, 'notification', rows)
    const seen: string[] = []
    let after: string | null = null
    for (let pages = 0; pages < 10; pages += 1) {
      const { notifications } = await memberApiOver(database()).read(
        `query ($after: String) { notifications(first: 7, after: $after) { nodes { id } edges { cursor } ${page} } }`,
        { after },
        { ...samAtNorthlight, personId: 'per_lena' },
      )
      const { nodes, edges, pageInfo } = notifications
      seen.push(...nodes.map(({ id }: { id: string }) => id))
      const { hasNextPage, ...rest } = pageInfo
      expect(rest).to.deep.equal({
        hasPreviousPage: after !== null,
        startCursor: edges[0].cursor,
        endCursor: edges.at(-1).cursor,
      })
      after = pageInfo.endCursor
      if (pages === 1 && rows[0])
        await insert(kysely, 'notification', { ...rows[0], id: 'not_walk_99', created_at: 3000 })
      if (!hasNextPage) break
    }
    const newest = rows.toSorted(
      (one, other) => other.created_at - one.created_at || (one.id < other.id ? 1 : -1),
    )
    expect(seen).to.deep.equal(newest.map(({ id }) => id))
  })

  it('has no cursors on an empty page', async () => {
    const nobody = { ...samAtNorthlight, personId: 'per_nobody' }
    const query = `{ notifications { nodes { id } ${page} } }`
    expect((await memberApiOver(database()).read(query, {}, nobody)).notifications).to.deep.equal({
      nodes: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
      totalCount: 0,
    })
  })

  it('refuses a page of fewer than 1 or more than 100 [Not shown 14]', async () => {
    const { execute, read } = memberApiOver(database())
    const query = 'query ($first: Int) { viewer { enrolledCourses(first: $first) { totalCount } } }'
    for (const first of [0, -1, 101, 2 ** 31 - 1]) {
      const { errors } = await execute(query, { first }, samAtNorthlight)
      expect(errors?.[0]?.message, String(first)).to.equal('first must be from 1 to 100')
      expect(errors?.[0]?.extensions).to.include({ code: 'BAD_ARGUMENT', argument: 'first' })
    }
    await read(query, { first: null })
  })

  it('finds nothing for an id that no row can have', async () => {
    const query = 'mutation ($id: ID!) { markNotificationRead(id: $id) { notification { id } } }'
    for (const id of ['', '\0', 'not_sam_14\0', "' or 1=1 --", 'x'.repeat(5000), '😀']) {
      const { errors } = await memberApiOver(database()).execute(query, { id }, samAtNorthlight)
      const problem = 'there is no notification with this id'
      expect(errors?.[0]?.message, id.slice(0, 20)).to.equal(problem)
    }
  })

  it('marks everything read once, however many requests come at once [109]', async () => {
    const { read } = memberApiOver(database(), () => 5000)
    const query = 'mutation { markAllNotificationsRead { markedCount unreadNotificationCount } }'
    const answers = await Promise.all(Array.from({ length: 20 }, () => read(query)))
    const marked = answers.map(({ markAllNotificationsRead }) => markAllNotificationsRead)
    expect(marked.filter(({ markedCount }) => markedCount > 0)).to.have.length(1)
    for (const { unreadNotificationCount } of marked) expect(unreadNotificationCount).to.equal(0)
  })
})
