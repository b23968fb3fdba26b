import { join } from 'node:path'

import { expect } from 'chai'
import type { CompiledQuery, KyselyPlugin, RootOperationNode } from 'kysely'

import { makeGrantLists } from '../../src/oauth/grants/grant-lists.ts'
import { listEvents } from '../../src/platform/audit/audit-list.ts'
import { recordAuditEvent } from '../../src/platform/audit/record-audit-event.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import type { SiteRole } from '../../src/platform/store/schema.ts'
import type { SiteActor } from '../../src/school/changes/change.ts'
import { ChangeRefused } from '../../src/school/changes/refusals.ts'
import { listRegistrations, registerForEvent } from '../../src/school/commerce/events.ts'
import { addMember, removeMember } from '../../src/school/members/change-members.ts'
import { enrolStudent } from '../../src/school/members/enrolments.ts'
import { assignLecturer, listCourseLecturers } from '../../src/school/members/lecturers.ts'
import { listPeople } from '../../src/school/members/people-list.ts'
import { findMember } from '../../src/school/members/site-roles.ts'
import type { WorkerResult, WorkerTask } from '../store-worker.ts'
import { cleanUpAt } from '../support/clean-up.ts'
import { insert, patiently, withEveryDatabase } from '../support/database.ts'
import { exportRecords, importRecords } from '../support/import.ts'
import { race } from '../support/programs.ts'
import { rejection } from '../support/rejection.ts'

const DAY_MS = 86_400_000
const nowMs = 1_800_000_000_000
const MAX = 4
const sqliteInMemory = { kind: 'sqlite', file: ':memory:' } as const
const page = { first: 20, after: undefined }
const createdAt = '2026-01-01T00:00:00.000Z'
const worker = join(import.meta.dirname, '../store-worker.ts')

const site = (id: string) => ({ type: 'site', id: `sit_${id}`, slug: id, name: id, createdAt })
const role = (at: string, name: SiteRole = 'student') => ({
  roles: [{ site: `sit_${at}`, role: name, grantedAt: createdAt }],
})
const person = (id: string, more: object = {}) => ({
  ...{ type: 'person', id: `per_${id}`, email: `${id}@Home.example`, name: `Own ${id}`, createdAt },
  ...{ picture: `https://home.example/${id}.jpg`, ...more },
})
const item = { site: 'sit_a', slug: 'x', title: 'X', summary: 'X', createdAt }
const records = [
  ...[site('a'), site('b')],
  person('owner', role('a', 'owner')),
  person('boss', role('b', 'owner')),
  person('june', { ...role('b'), password: 'correct-horse' }),
  person('theo', { disabledAt: createdAt }),
  { type: 'course', id: 'crs_x', ...item },
  { type: 'event', id: 'evt_x', ...item, startsAt: createdAt, durationMinutes: 60 },
]
const order = {
  ...{ type: 'order', id: 'ord_1', site: 'sit_a', person: 'per_june', number: '1' },
  ...{ totalCents: 1, currency: 'EUR', placedAt: createdAt },
}
/** Addresses as an attacker writes them: of an account, of a disabled one, and of nobody. */
const addresses = ['June@home.example', 'Theo@home.example', 'Nobody@home.example']

const actorAt = (id = 'a', now = nowMs): SiteActor => {
  const personId = id === 'a' ? 'per_owner' : 'per_boss'
  return { siteId: `sit_${id}`, personId, clientId: 'c', requestId: 'r', now }
}

withEveryDatabase('Adding members', (open, newPlace) => {
  let database: Database
  beforeEach(async () => {
    database = await open()
    await importRecords(database, records)
  })
  afterEach(() => database[Symbol.asyncDispose]())

  const add = async (email: string, actor = actorAt(), roles: SiteRole[] = ['student']) =>
    await addMember(database, actor, { email, name: `Given ${email.charAt(0)}`, roles }, MAX)
  const seen = async (id: string, siteId = 'sit_a') =>
    await findMember(database.kysely, siteId, { id })
  const names = async (search?: string) => {
    const { rows } = await listPeople(database, { siteId: 'sit_a', search }).page(page)
    return rows.map(({ name }) => name).sort()
  }
  const refusal = async (adding: Promise<unknown>) => {
    const error = await rejection(adding)
    expect(error).to.be.instanceOf(ChangeRefused)
    return `${(error as ChangeRefused).code}: ${error.message}`
  }
  const people = async () => {
    const rows = await database.kysely.selectFrom('person').select('id').execute()
    return rows.map(({ id }) => id)
  }

  // [202]
  it('shows operators what they entered, whoever has the address', async () => {
    for (const email of addresses) {
      const id = await add(email)
      const name = `Given ${email.charAt(0)}`
      const shown = { id, name, email: email.toLowerCase(), picture: null }
      expect(await seen(id)).to.deep.equal(shown)
    }
    expect(await names()).to.deep.equal(['Given J', 'Given N', 'Given T', 'Own owner'])
    expect((await seen('per_june', 'sit_b'))?.name).to.equal('Own june')
    const own = database.kysely.selectFrom('person').select(['name', 'email', 'picture'])
    const known = { name: 'Own june', email: 'june@Home.example' }
    expect(await own.where('id', '=', 'per_june').executeTakeFirst()).to.include(known)
  })

  // [203]
  it('finds added people by the name that the operator entered, and sorts them by it', async () => {
    for (const email of addresses) await add(email, actorAt(), ['lecturer'])
    expect(await names('own')).to.deep.equal(['Own owner'])
    expect(await names('gIVEN')).to.deep.equal(['Given J', 'Given N', 'Given T'])
    expect(await names('JUNE@')).to.deep.equal(['Given J'])
    const [nobody = ''] = (await people()).filter((id) => id.length > 20)
    for (const personId of ['per_june', nobody]) {
      await assignLecturer(database, actorAt(), { courseId: 'crs_x', personId })
    }
    const lecturers = await listCourseLecturers(database.kysely, ['crs_x'], 'sit_a')
    expect(lecturers.get('crs_x')?.map(({ name }) => name)).to.deep.equal(['Given J', 'Given N'])
  })

  // [204]
  it('runs the same statements for every address', async () => {
    const asked: string[][] = []
    for (const email of addresses) {
      const statements: string[] = []
      const kysely = database.kysely.withPlugin(watching(database, statements))
      const addition = { email, name: 'Given', roles: ['student' as const] }
      const id = await addMember({ ...database, kysely }, actorAt(), addition, MAX)
      await findMember(kysely, 'sit_a', { id })
      asked.push(statements)
    }
    const [first = [], ...others] = asked
    expect(first).to.have.length.above(5)
    for (const other of others) expect(other).to.deep.equal(first)
  })

  // [205]
  it('stops at the limit of the site, until the first addition is a day old', async () => {
    for (const index of [0, 1, 2, 3])
      await add(`p${index}@home.example`, actorAt('a', nowMs + index))
    const later = (ms: number) => actorAt('a', nowMs + ms)
    expect(await refusal(add(addresses[0] ?? '', later(DAY_MS - 1)))).to.equal(
      `LIMIT_REACHED: a site can add 4 people in 24 hours; add more after ${new Date(nowMs + DAY_MS).toISOString()}`,
    )
    expect(await people()).to.have.length(8)
    await add('p1@home.example', actorAt(), ['lecturer'])
    await add('p9@home.example', actorAt('b'))
    await add('p8@home.example', later(DAY_MS))
    expect(await refusal(add('p7@home.example', later(DAY_MS)))).to.match(/^LIMIT_REACHED/)
  })

  // [206]
  it('frees no addition when members are removed, cleaned up or added again', async () => {
    const ids: string[] = []
    for (const index of [0, 1, 2, 3]) ids.push(await add(`p${index}@home.example`))
    for (const id of ids) await removeMember(database, actorAt(), id)
    await cleanUpAt(database, nowMs + DAY_MS - 1)
    for (const email of ['p0@home.example', 'new@home.example']) {
      expect(await refusal(add(email, actorAt('a', nowMs + DAY_MS - 1)))).to.match(/^LIMIT_REACHED/)
    }
    const nextDay = actorAt('a', nowMs + DAY_MS)
    expect(await add('p0@home.example', nextDay)).to.equal(ids[0])
    for (const index of [5, 6, 7]) await add(`p${index}@home.example`, nextDay)
    expect(await refusal(add('p8@home.example', nextDay))).to.match(/^LIMIT_REACHED/)
  })

  // [207]
  it('shows the entered name wherever operators see the person, also after the removal', async () => {
    const id = await add(addresses[0] ?? '')
    await registerForEvent(database, actorAt(), { eventId: 'evt_x', personId: id })
    const change = { action: 'site.update', subject: { kind: 'site', id: 'sit_a' } } as const
    const event = { ...change, siteId: 'sit_a', personId: id }
    await recordAuditEvent(database.kysely, { personId: id, now: nowMs }, event)
    await insert(database.kysely, 'oauth_grant', {
      ...{ id: 'g', person_id: id, client_id: 'app', client_name: 'App', client_origin: 'site' },
      ...{ site_id: 'sit_a', allowed: '{}', granted_at: 1, expires_at: nowMs + DAY_MS },
    })
    const look = async () => {
      const lists = makeGrantLists(database, () => nowMs)
      const registered = await listRegistrations(database, 'sit_a', 'evt_x').page(page)
      const connected = await lists.listPeople('sit_a', 'app', page)
      const audited = await listEvents(database, { siteId: 'sit_a', personId: id }, page)
      const [{ name, email } = {}, grant] = [registered.rows[0], connected.rows[0]]
      const found = await lists.findPerson('sit_a', 'app', id)
      const [{ actorName, aboutName } = {}] = audited.rows
      return [name, email, grant?.name, grant?.email, found?.name, actorName, aboutName]
    }
    const [name, email] = ['Given J', 'june@home.example']
    expect(await look()).to.deep.equal([name, email, name, email, name, name, name])
    await removeMember(database, actorAt(), id)
    expect((await look()).slice(0, 2)).to.deep.equal([name, email])
    expect((await look()).slice(-2)).to.deep.equal([name, name])
  })

  for (const [what, confirmation] of [
    ['role', person('june', role('a'))],
    ['order', order],
  ] as const) {
    it(`shows the own name once the platform imports a ${what} at the site`, async () => {
      await add(addresses[0] ?? '')
      await importRecords(database, [person('june', role('b')), person('theo', role('a'))])
      await add(addresses[0] ?? '')
      expect((await seen('per_june'))?.name).to.equal('Given J')
      await importRecords(database, [confirmation])
      await add(addresses[0] ?? '')
      expect(await seen('per_june')).to.include({ name: 'Own june', email: 'june@Home.example' })
    })
  }

  it('keeps entered names in an export', async () => {
    await add(addresses[0] ?? '')
    const exported = await exportRecords(database)
    await using other = await open()
    expect((await importRecords(other, exported)).rejected).to.deep.equal([])
    expect(await exportRecords(other)).to.deep.equal(exported)
    expect((await findMember(other.kysely, 'sit_a', { id: 'per_june' }))?.name).to.equal('Given J')
  })

  // [208]
  it('adds no more people in two processes at once than the limit allows', async () => {
    await using place = await newPlace()
    await using shared = await openDatabase(place.location, patiently)
    await importRecords(shared, records)
    const tasks = [0, 1].map((number): WorkerTask => {
      const emails = Array.from({ length: 6 }, (_, index) => `p${number}-${index}@home.example`)
      return { task: 'add', location: place.location, actor: actorAt(), emails, max: MAX }
    })
    expect(await race<WorkerResult>(worker, tasks)).to.deep.equal([
      { outcomes: [] },
      { outcomes: [] },
    ])
    const added = await shared.kysely.selectFrom('member_addition').selectAll().execute()
    expect(added).to.have.length(MAX)
    expect(await listPeople(shared, { siteId: 'sit_a' }).count()).to.equal(MAX + 1)
  })

  it('removes people of whom nothing is left a week after their removal, and nobody else', async () => {
    const [june, theo] = [await add(addresses[0] ?? ''), await add(addresses[1] ?? '')]
    const [gone, enrolled] = [await add('gone@home.example'), await add('kept@home.example')]
    const [elsewhere] = [await add('two@home.example', actorAt('b'))]
    await enrolStudent(database, actorAt(), {
      ...{ personId: enrolled, courseId: 'crs_x', hasLifetimeAccess: true },
    })
    const later = actorAt('a', nowMs + 2 * DAY_MS)
    await add('two@home.example', later)
    for (const id of [june, theo, gone, enrolled, elsewhere]) {
      await removeMember(database, later, id)
    }
    // As if the other site had added the person at the moment of the removal.
    const marked = database.kysely.updateTable('person').set({ unused_at: later.now })
    await marked.where('id', '=', elsewhere).execute()
    const before = await people()
    await cleanUpAt(database, later.now + 7 * DAY_MS - 1)
    expect(await people()).to.deep.equal(before)
    await cleanUpAt(database, later.now + 7 * DAY_MS)
    expect(await people()).to.have.members(before.filter((id) => id !== gone))
    await removeMember(database, actorAt('b', later.now + 7 * DAY_MS), elsewhere)
    await cleanUpAt(database, later.now + 14 * DAY_MS)
    expect(await people()).not.to.include(elsewhere)
  })

  // [209]
  it('keeps people who are added again while they are cleaned up', async () => {
    await using place = await newPlace()
    await using one = await openDatabase(place.location, patiently)
    // Two connections of one process to a SQLite file would block each other.
    const location = one.engine === 'sqlite' ? sqliteInMemory : place.location
    await using second = await openDatabase(location, patiently)
    const other = one.engine === 'sqlite' ? one : second
    await importRecords(one, records)
    const emails = Array.from({ length: 40 }, (_, index) => `p${index}@home.example`)
    const addAll = async (now: number) => {
      const ids: string[] = []
      for (const email of emails) {
        const addition = { email, name: 'P', roles: ['student' as const] }
        ids.push(await addMember(one, actorAt('a', now), addition, 1000))
      }
      return ids
    }
    for (const id of await addAll(nowMs)) await removeMember(one, actorAt(), id)
    const now = nowMs + 8 * DAY_MS
    const cleaning = Array.from({ length: 20 }, async () => await cleanUpAt(other, now))
    const [ids] = await Promise.all([addAll(now), ...cleaning])
    const members = one.kysely
      .selectFrom('site_role')
      .select('person_id')
      .where('site_id', '=', 'sit_a')
    expect((await members.execute()).map((row) => row.person_id)).to.include.members(ids)
  })
})

function watching({ kysely }: Database, statements: string[]): KyselyPlugin {
  return {
    transformQuery({ node, queryId }) {
      const query: CompiledQuery = kysely
        .getExecutor()
        .compileQuery<RootOperationNode>(node, queryId)
      statements.push(query.sql)
      return node
    },
    transformResult: async ({ result }) => result,
  }
}
