import { insert, rowOf, watched, withDatabases } from './support/database.ts'
import {
  memberApiOver,
  memberReader,
  memberToken,
  readMember,
  samAtNorthlight,
  withCampus,
} from './support/member-api.ts'
import { shared } from './support/shared.ts'
import { sharedService } from './support/storages.ts'
import type { Json } from './support/wire.ts'

const pageInfo = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount'

const CAMPUS_MS = Date.UTC(2026, 0, 15, 12)

withDatabases('the purchases and notifications of a member', (open) => {
  const database = shared(async () => await withCampus(await open()))

  const walk = async (list: string, args: string, fields: string) => {
    const { read } = memberApiOver(database(), () => CAMPUS_MS)
    const inside = `{ nodes { ${fields} } totalCount pageInfo { hasNextPage endCursor } }`
    const field = `${list}(first: 1, after: $after${args && `, ${args}`}) ${inside}`
    const selected = list === 'notifications' ? field : `viewer { ${field} }`
    const query = `query ($after: String) { ${selected} }`
    const nodes: Json[] = []
    let after: string | null = null
    for (;;) {
      const answer = await read(query, { after })
      const page = (answer.viewer ?? answer)[list]
      nodes.push(...page.nodes)
      if (!page.pageInfo.hasNextPage) return { nodes, totalCount: page.totalCount as number }
      after = page.pageInfo.endCursor
    }
  }

  for (const [list, sort, field, direction] of [
    ['enrolledCourses', 'PURCHASED', 'purchasedAt', 'descending'],
    ['enrolledCourses', 'EXPIRE_DATE', 'expireDate', 'ascending'],
    ['enrolledCourses', 'TITLE', 'title', 'ascending'],
    ['eventRegistrations', 'REGISTERED', 'registeredAt', 'descending'],
    ['eventRegistrations', 'START', 'startsAt', 'ascending'],
    ['digitalProducts', 'TITLE', 'title', 'ascending'],
    ['consultingServices', 'TITLE', 'title', 'ascending'],
  ] as const) {
    it(`${list} sorts by ${sort}, page by page, each row once`, async () => {
      const { nodes, totalCount } = await walk(list, `sort: ${sort}`, `id ${field}`)
      expect(new Set(nodes.map(({ id }) => id)).size).to.equal(totalCount)
      expect(totalCount).to.be.above(1)
      const keys = nodes.map((node) => node[field] ?? 'never')
      const sorted = keys.toSorted()
      expect(keys).to.deep.equal(direction === 'ascending' ? sorted : sorted.toReversed())
    })
  }

  it('filter and count the rows', async () => {
    const courses = async (args: string) => await walk('enrolledCourses', args, 'id expireDate')
    const hasEnded = ({ expireDate }: Json) => Date.parse(expireDate) <= CAMPUS_MS
    const all = await courses('')
    const active = await courses('access: ACTIVE')
    const ended = await courses('access: ENDED, sort: EXPIRE_DATE')
    expect(active.nodes).to.deep.equal(all.nodes.filter((course) => !hasEnded(course)))
    expect(ended.nodes).to.have.deep.members(all.nodes.filter(hasEnded))
    expect([active.totalCount, ended.totalCount]).to.deep.equal([4, 1])

    for (const [args, ...slugs] of [
      ['when: UPCOMING', 'dawn-walk'],
      ['when: PAST', 'print-evening'],
      ['cancelled: true', 'print-evening'],
      ['cancelled: false, when: PAST'],
    ] as const) {
      const { nodes } = await walk('eventRegistrations', args, 'slug')
      expect(nodes, args).to.deep.equal(slugs.map((slug) => ({ slug })))
    }

    const inbox = await walk('notifications', 'topic: "replies"', 'topic knownTopic')
    expect(inbox.totalCount).to.be.above(0)
    for (const node of inbox.nodes)
      expect(node).to.deep.equal({ topic: 'replies', knownTopic: 'replies' })
    expect((await walk('notifications', 'topic: "\\u0000"', 'id')).totalCount).to.equal(0)
  })

  it('accept a cursor of the same sequence only, with any filter, and pages of 1 to 100 rows', async () => {
    const { execute, read } = memberApiOver(database())
    const page = (args: string) =>
      `{ viewer { enrolledCourses(${args}) { pageInfo { endCursor } } } }`
    const { viewer } = await read(page('first: 1, sort: TITLE'))
    const after = `after: "${viewer.enrolledCourses.pageInfo.endCursor}"`
    await read(page(`sort: TITLE, ${after}`))
    await read(page(`sort: TITLE, access: ENDED, ${after}`))
    await read(page('first: null'))
    for (const [args, argument] of [
      [`sort: PURCHASED, ${after}`, 'after'],
      [`sort: EXPIRE_DATE, ${after}`, 'after'],
      ...[0, -1, 101].map((first) => [`first: ${first}`, 'first'] as const),
    ] as const) {
      const { errors } = await execute(page(args), {}, samAtNorthlight)
      expect(errors?.[0]?.extensions, args).to.deep.equal({ code: 'BAD_ARGUMENT', argument })
    }
  })

  it('give the progress of each course, and the lecture that was watched last, or null [Viewer 3]', async () => {
    const watching = 'lastWatchedLecture { lectureId positionSeconds }'
    const { nodes } = await walk('enrolledCourses', '', `slug progressPercent ${watching}`)
    expect(nodes.map((node) => Object.values(node))).to.deep.equal([
      ['street-corner', 0, null],
      ['three-minute-film', 20, { lectureId: 'lec_film_sound', positionSeconds: 615 }],
      ['quiet-colour', 0, { lectureId: 'lec_color_white', positionSeconds: 47 }],
      ['portraits-with-patience', 25, { lectureId: 'lec_portrait_hands', positionSeconds: 120 }],
      ['reading-light', 33, { lectureId: 'lec_light_hard_soft', positionSeconds: 431 }],
    ])
  })

  // [What the service does 5; Viewer 0.5; Viewer 0.6; Viewer 0.7; Viewer 0.8; Viewer 1.1]
  it('lists the purchases of the member at the site of the token', async () => {
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
    const courses: Json[] = viewer.enrolledCourses.nodes
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

  it('needs the same number of statements for one nested node and for many', async () => {
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
    const row = (place: number, created_at: number) => ({
      id: `not_walk_${place}`,
      ...{ person_id: 'per_lena', site_id: 'sit_northlight', topic: 'replies' },
      ...{ title: 't', body: 'b', created_at },
    })
    const rows = Array.from({ length: 25 }, (_, place) => row(10 + place, place < 20 ? 1000 : 2000))
    await insert(kysely, 'notification', rows)
    const seen: string[] = []
    let after: string | null = null
    for (let pages = 0; pages < 10; pages += 1) {
      const { notifications } = await memberApiOver(database()).read(
        `query ($after: String) { notifications(first: 7, after: $after) { nodes { id } edges { cursor } ${pageInfo} } }`,
        { after },
        { ...samAtNorthlight, personId: 'per_lena' },
      )
      const { nodes, edges } = notifications
      seen.push(...nodes.map(({ id }: { id: string }) => id))
      const { hasNextPage, ...rest } = notifications.pageInfo
      expect(rest).to.deep.equal({
        hasPreviousPage: after !== null,
        startCursor: edges[0].cursor,
        endCursor: edges.at(-1).cursor,
      })
      after = rest.endCursor
      if (pages === 1) await insert(kysely, 'notification', row(99, 3000))
      if (!hasNextPage) break
    }
    expect(seen).to.deep.equal(rows.toReversed().map(({ id }) => id))
  })

  it('has no cursors on an empty page', async () => {
    const nobody = { ...samAtNorthlight, personId: 'per_nobody' }
    const query = `{ notifications { nodes { id } ${pageInfo} } }`
    expect((await memberApiOver(database()).read(query, {}, nobody)).notifications).to.deep.equal({
      nodes: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
      totalCount: 0,
    })
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

describe('a purchase on the demo campus', () => {
  const running = sharedService()
  const nodesOf = async (list: string, fields: string) => {
    const reads = await memberReader(running().url)
    return (await reads(`{ viewer { ${list} { nodes { ${fields} } } } }`)).viewer[list].nodes
  }

  it('of a course has a page and a picture, of a product a file, and of an event a join address while the registration stands', async () => {
    for (const { slug, url, imageUrl } of await nodesOf('enrolledCourses', 'slug url imageUrl')) {
      expect(url).to.equal(`https://northlight.example/courses/${slug}`)
      expect(imageUrl).to.match(/^https:\/\/northlight\.example\/images\//)
    }
    const products: Json[] = await nodesOf('digitalProducts', 'files { sizeBytes downloadUrl }')
    const [file, ...others] = products.flatMap(({ files }) => files)
    expect(others).to.deep.equal([])
    const bytes = await (await fetch(file.downloadUrl)).arrayBuffer()
    expect(bytes.byteLength).to.equal(file.sizeBytes)
    expect(await nodesOf('eventRegistrations', 'slug joinUrl')).to.have.deep.members([
      { slug: 'dawn-walk', joinUrl: 'https://live.northlight.example/dawn-walk' },
      { slug: 'print-evening', joinUrl: null },
    ])
    const { join_url } = await rowOf(running().kysely, 'event', { slug: 'print-evening' })
    expect(join_url).to.be.a('string')
  })

  it('is a node with its type, like the viewer and the school', async () => {
    const address = { url: running().url, token: await memberToken(running().url) }
    const all = await readMember(
      address,
      `{ viewer { id
      schools { id } enrolledCourses { nodes { id } } digitalProducts { nodes { id } }
      consultingServices { nodes { id } } eventRegistrations { nodes { id } }
    } notifications { nodes { id } } notificationSubscriptions { id } }`,
    )
    const query = `query ($id: ID!) { node(id: $id) { __typename id
      ... on Viewer { email } ... on School { roles } ... on EnrolledCourse { progressPercent }
      ... on DigitalProduct { files { name } } ... on ConsultingService { durationMinutes }
      ... on EventRegistration { joinUrl } ... on Notification { knownTopic }
      ... on NotificationSubscription { channel enabled }
    } }`
    const types = new Set<string>()
    for (const [, id] of JSON.stringify(all).matchAll(/"id":"([^"]+)"/g)) {
      const { node } = await readMember(address, query, { id })
      expect(node.id).to.equal(id)
      expect(Object.keys(node)).to.have.length.above(2)
      types.add(node['__typename'])
    }
    expect(types.size).to.equal(8)
  })
})
