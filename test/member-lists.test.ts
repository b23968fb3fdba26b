import { withDatabases } from './support/database.ts'
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

type Node = Record<string, unknown>

const CAMPUS_MS = Date.UTC(2026, 0, 15, 12)

const timeOf = (time: unknown) => Date.parse(String(time))

const sequences: readonly (readonly [list: string, sort: string, key: (node: Node) => unknown])[] =
  [
    ['enrolledCourses', 'PURCHASED', (course) => -timeOf(course['purchasedAt'])],
    [
      'enrolledCourses',
      'EXPIRE_DATE',
      ({ expireDate }) => (expireDate === null ? Number.POSITIVE_INFINITY : timeOf(expireDate)),
    ],
    ['enrolledCourses', 'TITLE', ({ title }) => title],
    ['eventRegistrations', 'REGISTERED', (event) => -timeOf(event['registeredAt'])],
    ['eventRegistrations', 'START', ({ startsAt }) => timeOf(startsAt)],
    ['digitalProducts', 'TITLE', ({ title }) => title],
    ['consultingServices', 'TITLE', ({ title }) => title],
  ]
const fieldsOf: Record<string, string> = {
  enrolledCourses: 'id title purchasedAt expireDate',
  eventRegistrations: 'id title startsAt registeredAt',
}

withDatabases('the lists of a member', (open) => {
  const database = shared(async () => await withCampus(await open()))

  const walk = async (list: string, args: string, fields: string) => {
    const { read } = memberApiOver(database(), () => CAMPUS_MS)
    const inside = `{ nodes { ${fields} } totalCount pageInfo { hasNextPage endCursor } }`
    const field = `${list}(first: 1, after: $after${args && `, ${args}`}) ${inside}`
    const isViewers = list !== 'notifications'
    const query = `query ($after: String) { ${isViewers ? `viewer { ${field} }` : field} }`
    const nodes: Node[] = []
    let after: string | null = null
    for (;;) {
      const answer = await read(query, { after })
      const page = (isViewers ? answer.viewer : answer)[list]
      nodes.push(...page.nodes)
      if (!page.pageInfo.hasNextPage) return { nodes, totalCount: page.totalCount as number }
      after = page.pageInfo.endCursor
    }
  }

  for (const [list, sort, key] of sequences) {
    it(`${list} sorts by ${sort}, page by page, each row once`, async () => {
      const { nodes, totalCount } = await walk(list, `sort: ${sort}`, fieldsOf[list] ?? 'id title')
      expect(new Set(nodes.map(({ id }) => id)).size).to.equal(totalCount)
      expect(totalCount).to.be.above(1)
      const keys = nodes.map(key) as number[]
      expect(keys).to.deep.equal(keys.toSorted((one, other) => (one < other ? -1 : 1)))
    })
  }

  it('filter and count the rows', async () => {
    const courses = async (args: string) => await walk('enrolledCourses', args, 'id expireDate')
    const hasEnded = ({ expireDate }: Node) =>
      expireDate !== null && timeOf(expireDate) <= CAMPUS_MS
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
      const found = nodes.map(({ slug }) => slug)
      expect(found, args).to.deep.equal(slugs)
    }

    const inbox = await walk('notifications', 'topic: "replies"', 'topic knownTopic')
    expect(inbox.totalCount).to.be.above(0)
    for (const node of inbox.nodes)
      expect(node).to.deep.equal({ topic: 'replies', knownTopic: 'replies' })
    expect((await walk('notifications', 'topic: "\\u0000"', 'id')).totalCount).to.equal(0)
  })

  it('accept a cursor of the same sequence only, with any filter', async () => {
    const { execute, read } = memberApiOver(database())
    const page = (args: string) =>
      `{ viewer { enrolledCourses(${args}) { pageInfo { endCursor } } } }`
    const { viewer } = await read(page('first: 1, sort: TITLE'))
    const after = `after: "${viewer.enrolledCourses.pageInfo.endCursor}"`
    await read(page(`sort: TITLE, ${after}`))
    await read(page(`sort: TITLE, access: ENDED, ${after}`))
    for (const sort of ['PURCHASED', 'EXPIRE_DATE']) {
      const { errors } = await execute(page(`sort: ${sort}, ${after}`), {}, samAtNorthlight)
      expect(errors?.[0]?.extensions).to.deep.equal({ code: 'BAD_ARGUMENT', argument: 'after' })
    }
  })

  it('give the progress of each course', async () => {
    const lectures = await database()
      .kysely.selectFrom('lecture')
      .innerJoin('course', 'course.id', 'lecture.course_id')
      .leftJoin('watch_position as watched', (join) =>
        join.onRef('watched.lecture_id', '=', 'lecture.id').on('watched.person_id', '=', 'per_sam'),
      )
      .select(['course.slug', 'lecture.duration_seconds', 'watched.position_seconds'])
      .execute()
    const { nodes } = await walk('enrolledCourses', '', 'slug progressPercent')
    for (const { slug, progressPercent } of nodes) {
      const own = lectures.filter((lecture) => lecture.slug === slug)
      const done = own.filter((one) => Number(one.position_seconds) >= one.duration_seconds).length
      expect(progressPercent, String(slug)).to.equal(Math.floor((100 * done) / own.length))
    }
    expect(new Set(nodes.map(({ progressPercent }) => progressPercent)).size).to.be.above(2)
  })
})

describe('a purchase on the demo campus', () => {
  const running = sharedService()
  const nodesOf = async (list: string, fields: string) => {
    const reads = await memberReader(running().url)
    return (await reads(`{ viewer { ${list} { nodes { ${fields} } } } }`)).viewer[list].nodes
  }

  it('of a course has a page and a picture', async () => {
    for (const { slug, url, imageUrl } of await nodesOf('enrolledCourses', 'slug url imageUrl')) {
      expect(url).to.equal(`https://northlight.example/courses/${slug}`)
      expect(imageUrl).to.match(/^https:\/\/northlight\.example\/images\//)
    }
  })

  it('of a product has a file to download, with its size and type', async () => {
    const fields = 'slug files { name sizeBytes mediaType downloadUrl }'
    const nodes: { slug: string; files: Node[] }[] = await nodesOf('digitalProducts', fields)
    const [file] = nodes.find(({ slug }) => slug === 'twelve-shot-list')?.files ?? []
    const name = 'northlight-twelve-shot-list.pdf'
    expect(file).to.include({ name, mediaType: 'application/pdf' })
    const response = await fetch(String(file?.['downloadUrl']))
    expect(response.status).to.equal(200)
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(bytes.subarray(0, 5).toString()).to.equal('%PDF-')
    expect(bytes.length).to.equal(file?.['sizeBytes'])
    expect(nodes.some(({ files }) => files.length === 0)).to.equal(true)
  })

  it('of an event has a join address while the registration stands', async () => {
    const nodes: Node[] = await nodesOf('eventRegistrations', 'slug joinUrl')
    const bySlug = Object.fromEntries(nodes.map(({ slug, joinUrl }) => [slug, joinUrl]))
    const joinUrl = 'https://live.northlight.example/dawn-walk'
    expect(bySlug).to.deep.equal({ 'dawn-walk': joinUrl, 'print-evening': null })
    const events = running().kysely.selectFrom('event').select('join_url')
    const cancelled = await events.where('slug', '=', 'print-evening').executeTakeFirst()
    expect(cancelled?.join_url).to.be.a('string')
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
