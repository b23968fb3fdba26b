import { expect } from 'chai'

import type { Database } from '../src/platform/store/database.ts'
import { withDatabases } from './support/database.ts'
import { type RunningService, startService } from './support/gatehouse.ts'
import {
  memberApiOver,
  memberToken,
  readMember,
  readOnly,
  samAtNorthlight,
  withCampus,
} from './support/member-api.ts'

interface Walked {
  readonly nodes: readonly Record<string, unknown>[]
  readonly totalCount: number
}

/** All nodes of a list of Sam's, walked one at a time. */
async function walk(database: Database, list: string, [args, fields]: readonly [string, string]) {
  const { execute } = memberApiOver(database, () => CAMPUS_MS)
  const inside = `{ nodes { ${fields} } totalCount pageInfo { hasNextPage endCursor } }`
  const isViewers = list !== 'notifications'
  const field = `${list}(first: 1, after: $after${args && `, ${args}`}) ${inside}`
  const query = `query ($after: String) { ${isViewers ? `viewer { ${field} }` : field} }`
  const nodes: Record<string, unknown>[] = []
  let after: string | null = null
  for (;;) {
    const { data, errors } = await execute(query, { after }, samAtNorthlight)
    expect(errors).to.equal(undefined)
    const answer = JSON.parse(JSON.stringify(data))
    const page = (isViewers ? answer.viewer : answer)[list]
    nodes.push(...page.nodes)
    if (!page.pageInfo.hasNextPage) return { nodes, totalCount: page.totalCount } satisfies Walked
    after = page.pageInfo.endCursor
  }
}

/** When the campus of these tests was loaded. */
const CAMPUS_MS = Date.UTC(2026, 0, 15, 12)

withDatabases('the lists of a member', (open) => {
  it('come in the sequence that is asked for, page by page, each row once', async () => {
    await using database = await withCampus(await open())
    const keys = {
      enrolledCourses: {
        PURCHASED: (course) => -Date.parse(String(course['purchasedAt'])),
        EXPIRE_DATE: ({ expireDate }) =>
          expireDate === null ? Number.POSITIVE_INFINITY : Date.parse(String(expireDate)),
        TITLE: ({ title }) => String(title),
      },
      eventRegistrations: {
        REGISTERED: (event) => -Date.parse(String(event['registeredAt'])),
        START: ({ startsAt }) => Date.parse(String(startsAt)),
      },
      digitalProducts: { TITLE: ({ title }) => String(title) },
      consultingServices: { TITLE: ({ title }) => String(title) },
    } satisfies Record<string, Record<string, (node: Record<string, unknown>) => string | number>>
    const fields = {
      enrolledCourses: 'id title purchasedAt expireDate',
      eventRegistrations: 'id title startsAt registeredAt',
      digitalProducts: 'id title',
      consultingServices: 'id title',
    }
    for (const [list, sorts] of Object.entries(keys)) {
      for (const [sort, key] of Object.entries(sorts)) {
        const shown = fields[list as keyof typeof fields]
        const { nodes, totalCount } = await walk(database, list, [`sort: ${sort}`, shown])
        expect(new Set(nodes.map(({ id }) => id)).size, sort).to.equal(totalCount)
        expect(totalCount).to.be.above(1)
        const keyOf: (node: Record<string, unknown>) => string | number = key
        const sorted = nodes.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
        expect(nodes.map(keyOf), sort).to.deep.equal(sorted.map(keyOf))
      }
    }
  })

  it('are filtered by what they are about, and counted so', async () => {
    await using database = await withCampus(await open())
    const courses = async (args: string) =>
      await walk(database, 'enrolledCourses', [args, 'id expireDate'])
    const hasEnded = ({ expireDate }: Record<string, unknown>) =>
      expireDate !== null && Date.parse(String(expireDate)) <= CAMPUS_MS
    const [all, active, ended] = [
      await courses(''),
      await courses('access: ACTIVE'),
      await courses('access: ENDED, sort: EXPIRE_DATE'),
    ]
    expect(active.nodes).to.deep.equal(all.nodes.filter((course) => !hasEnded(course)))
    expect(ended.nodes).to.have.deep.members(all.nodes.filter(hasEnded))
    expect([active.totalCount, ended.totalCount]).to.deep.equal([4, 1])

    const events = async (args: string) =>
      (await walk(database, 'eventRegistrations', [args, 'slug'])).nodes.map(({ slug }) => slug)
    expect(await events('when: UPCOMING')).to.deep.equal(['dawn-walk'])
    expect(await events('when: PAST')).to.deep.equal(['print-evening'])
    expect(await events('cancelled: true')).to.deep.equal(['print-evening'])
    expect(await events('cancelled: false, when: PAST')).to.deep.equal([])

    const inbox = await walk(database, 'notifications', ['topic: "replies"', 'topic knownTopic'])
    expect(inbox.totalCount).to.be.above(0)
    for (const node of inbox.nodes) {
      expect(node).to.deep.equal({ topic: 'replies', knownTopic: 'replies' })
    }
    expect((await walk(database, 'notifications', ['topic: "\\u0000"', 'id'])).totalCount).to.equal(
      0,
    )
  })

  it('take a cursor of the same sequence only', async () => {
    await using database = await withCampus(await open())
    const { execute } = memberApiOver(database)
    const ask = async (args: string) =>
      JSON.parse(
        JSON.stringify(
          await execute(
            `{ viewer { enrolledCourses(${args}) { pageInfo { endCursor } } } }`,
            {},
            samAtNorthlight,
          ),
        ),
      )
    const { data } = await ask('first: 1, sort: TITLE')
    const cursor = data.viewer.enrolledCourses.pageInfo.endCursor
    expect((await ask(`sort: TITLE, after: "${cursor}"`)).errors).to.equal(undefined)
    // What a filter leaves is in the same sequence.
    expect((await ask(`sort: TITLE, access: ENDED, after: "${cursor}"`)).errors).to.equal(undefined)
    for (const sort of ['PURCHASED', 'EXPIRE_DATE']) {
      const { errors } = await ask(`sort: ${sort}, after: "${cursor}"`)
      expect(errors[0].extensions).to.deep.equal({ code: 'BAD_ARGUMENT', argument: 'after' })
    }
  })

  it('say how much of a course was watched to the end, in one statement for all of them', async () => {
    await using database = await withCampus(await open())
    const { kysely } = database
    const lectures = await kysely
      .selectFrom('lecture')
      .innerJoin('course', 'course.id', 'lecture.course_id')
      .leftJoin('watch_position as watched', (join) =>
        join.onRef('watched.lecture_id', '=', 'lecture.id').on('watched.person_id', '=', 'per_sam'),
      )
      .select(['course.slug', 'lecture.duration_seconds', 'watched.position_seconds'])
      .execute()
    const { nodes } = await walk(database, 'enrolledCourses', ['', 'slug progressPercent'])
    const percents = nodes.map(({ slug, progressPercent }) => {
      const own = lectures.filter((lecture) => lecture.slug === slug)
      const done = own.filter((one) => Number(one.position_seconds) >= one.duration_seconds).length
      expect(progressPercent, String(slug)).to.equal(Math.floor((100 * done) / own.length))
      return progressPercent
    })
    expect(new Set(percents).size, 'the demo shows several').to.be.above(2)
  })
})

describe('what the demo campus shows of a purchase', () => {
  let running: RunningService
  let token = ''
  before(async () => {
    running = await startService()
    token = await memberToken(running.url, readOnly)
  })
  after(async () => await running[Symbol.asyncDispose]())

  it('is the page and the picture of a course', async () => {
    const query = '{ viewer { enrolledCourses { nodes { slug url imageUrl } } } }'
    const data = await readMember<Answer>({ url: running.url, token }, query)
    const { nodes } = data.viewer['enrolledCourses'] as Walked
    for (const { slug, url, imageUrl } of nodes) {
      expect(url).to.equal(`https://northlight.example/courses/${slug}`)
      expect(imageUrl).to.match(/^https:\/\/northlight\.example\/images\//)
    }
  })

  it('is a file of a product, with its size and type, which can be fetched', async () => {
    const query = `{ viewer { digitalProducts { nodes {
      slug downloadUrl files { name sizeBytes mediaType downloadUrl }
    } } } }`
    const data = await readMember<Answer>({ url: running.url, token }, query)
    const { nodes } = data.viewer['digitalProducts'] as Walked
    const bySlug = Object.fromEntries(nodes.map((node) => [node['slug'], node['files']]))
    const [file] = bySlug['twelve-shot-list'] as { [Field: string]: string }[]
    expect(file).to.include({
      name: 'northlight-twelve-shot-list.pdf',
      mediaType: 'application/pdf',
    })
    const response = await fetch(String(file?.['downloadUrl']))
    expect(response.status).to.equal(200)
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(bytes.subarray(0, 5).toString()).to.equal('%PDF-')
    expect(bytes.length).to.equal(file?.['sizeBytes'])
    expect(Object.values(bySlug).filter((files) => (files as unknown[]).length === 0)).to.not.be
      .empty
  })

  it('is where an event is joined, while the registration stands', async () => {
    const query = '{ viewer { eventRegistrations { nodes { slug joinUrl cancelledAt } } } }'
    const data = await readMember<Answer>({ url: running.url, token }, query)
    const { nodes } = data.viewer['eventRegistrations'] as Walked
    const bySlug = Object.fromEntries(nodes.map(({ slug, joinUrl }) => [slug, joinUrl]))
    expect(bySlug).to.deep.equal({
      'dawn-walk': 'https://live.northlight.example/dawn-walk',
      'print-evening': null,
    })
    const event = await running.service.stores.database.kysely
      .selectFrom('event')
      .select('join_url')
      .where('slug', '=', 'print-evening')
      .executeTakeFirstOrThrow()
    expect(event.join_url).to.be.a('string')
  })

  it('is found again by its id, as what it is, and so are the viewer and the school', async () => {
    const lists = `{ viewer { id
      schools { id } enrolledCourses { nodes { id } } digitalProducts { nodes { id } }
      consultingServices { nodes { id } } eventRegistrations { nodes { id } }
    } notifications { nodes { id } } notificationSubscriptions { id } }`
    const all = JSON.stringify(await readMember({ url: running.url, token }, lists))
    const ids = [...all.matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id ?? '')
    const query = `query ($id: ID!) { node(id: $id) { __typename id
      ... on Viewer { email } ... on School { roles } ... on EnrolledCourse { progressPercent }
      ... on DigitalProduct { files { name } } ... on ConsultingService { durationMinutes }
      ... on EventRegistration { joinUrl } ... on Notification { knownTopic }
      ... on NotificationSubscription { channel enabled }
    } }`
    const types = new Set<string>()
    for (const id of ids) {
      const { node } = await readMember<{ node: Record<string, unknown> }>(
        { url: running.url, token },
        query,
        { id },
      )
      expect(node['id']).to.equal(id)
      expect(Object.keys(node)).to.have.length.above(2)
      types.add(String(node['__typename']))
    }
    expect(types.size).to.equal(8)
  })
})

interface Answer {
  readonly viewer: Readonly<Record<string, unknown>>
}
