import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'

import { parseCampus, readCampusFolder } from '../src/ops/import/campus-folder.ts'
import { isTime, resolveTime } from '../src/ops/import/campus-time.ts'
import { demoPeople, holdsDemoCampus, loadDemo } from '../src/ops/import/demo-campus.ts'
import type { Campus } from '../src/ops/import/record-kinds.ts'
import type { Database } from '../src/platform/store/database.ts'
import { openDatabase } from '../src/platform/store/open-stores.ts'
import { insert, patiently, rowOf } from './support/database.ts'
import { configFolder } from './support/gatehouse.ts'
import { temporaryFolder } from './support/programs.ts'
import { rejection } from './support/rejection.ts'
import { fresh } from './support/shared.ts'

const NOW_MS = Date.UTC(2026, 2, 10, 12, 30)
const DAY_MS = 86_400_000

const demo = await readCampusFolder(join(configFolder, 'demo'))

describe('demo campus: the data', () => {
  it('has two sites with the beta feature on and people of every role', () => {
    expect(demo.sites.map(({ slug }) => slug)).to.deep.equal(['northlight', 'open-kitchen'])
    for (const { features } of demo.sites)
      expect(features.map(({ feature }) => feature)).to.include('mcp_connections')
    const roles = demo.people.flatMap((person) => person.roles.map(({ role }) => role))
    expect(roles).to.include.members(['owner', 'admin', 'lecturer', 'student'])
    expect(demo.people.filter(({ disabledAt }) => disabledAt !== null)).to.have.lengthOf(1)
  })

  it('keeps every address under a reserved domain (RFC 2606 §2)', () => {
    const addresses = demo.people.flatMap(({ email, picture }) => [email, picture ?? []].flat())
    for (const address of addresses) expect(address).to.match(/@[a-z]+\.example$|\.example\//)
  })

  it('gives Sam lifetime, ending and ended access to courses, and every other purchase', () => {
    const sams = <T extends { person: string }>(list: readonly T[]) =>
      list.filter(({ person }) => person === 'per_sam')
    const access = sams(demo.coursePurchases).map(
      ({ expiresAt }) => expiresAt && Math.sign(resolveTime(expiresAt, 0)),
    )
    expect(access).to.include.members([null, 1, -1])
    const { digitalProductPurchases, consultingServicePurchases } = demo
    expect(sams(digitalProductPurchases)).to.not.deep.equal([])
    expect(sams(consultingServicePurchases)).to.not.deep.equal([])
    expect(sams(demo.eventRegistrations)).to.not.deep.equal([])
    expect(sams(demo.watchPositions)).to.not.deep.equal([])
    expect(demo.eventRegistrations.filter(({ cancelledAt }) => cancelledAt)).to.have.lengthOf(1)

    const inbox = sams(demo.notifications)
    expect(inbox.length).to.be.greaterThan(12)
    expect(new Set(inbox.map(({ readAt }) => readAt === null)).size, 'read and unread').to.equal(2)
    const topics = sams(demo.notificationSubscriptions).map((one) => `${one.topic} ${one.channel}`)
    for (const { topic } of inbox)
      expect(topics).to.include.members([`${topic} inbox`, `${topic} email`])
  })

  it('marks its client secrets as secrets of the demo', () => {
    const secrets = demo.applications.flatMap(({ secret }) => secret ?? [])
    expect(secrets).to.have.lengthOf(2)
    for (const secret of secrets) expect(secret).to.match(/^demo-only-/)
  })

  it('lists the accounts with their roles', () => {
    const accounts = demoPeople(demo)
    expect(accounts).to.have.lengthOf(8)
    const what = 'student at Northlight Academy'
    const password = 'correct-horse-sam'
    expect(accounts[0]).to.deep.equal({ login: 'sam@northlight.example', password, what })
    expect(accounts.map((account) => account.what)).to.include.members([
      'owner at Northlight Academy',
      'owner and lecturer at Open Kitchen School, student at Northlight Academy',
      'student at Northlight Academy; disabled',
    ])
  })
})

describe('campus: the shape', () => {
  it('gives the same campus when it is read twice', () => {
    expect([parseCampus(demo), parseCampus({}).people]).to.deep.equal([demo, []])
  })

  const addSite = ({ applications }: Campus) =>
    Object.assign(applications[2] ?? {}, { site: 'sit_northlight' })
  const rows: [title: string, change: (campus: Campus) => void, problems: string[]][] = [
    [
      'names all malformed fields with their paths',
      (campus) => {
        first(campus.sites).slug = 'North Light'
        first(campus.people).createdAt = 'last summer'
        first(first(campus.courses).lectures).durationSeconds = -1
        Object.assign(first(campus.events), { colour: 'blue' })
      },
      [
        'sites[0].slug: must be a slug like slow-bread',
        'people[0].createdAt: must be a time such as "2026-03-01T09:00:00Z", "30 days ago" or "in 14 days at 18:00"',
        'courses[0].lectures[0].durationSeconds: must be at least 0',
        'events[0]: has unknown fields: colour',
      ],
    ],
    [
      'refuses a site with the name of a path of the service',
      (campus) =>
        ['graphql', 'api'].map((slug, at) => Object.assign(campus.sites[at] ?? {}, { slug })),
      [0, 1].map((at) => `sites[${at}].slug: is reserved; choose another slug`),
    ],
    ['accepts a resource server of a site', addSite, []],
  ]
  for (const [title, change, problems] of rows)
    it(title, () => expect(problemsWith(change)).to.have.members(problems))

  it('refuses an application that the engine or the policy would refuse', () => {
    const problems = problemsWith(({ applications: [notes, portal, server] }) => {
      const redirectUris = ['http://notes.example/callback', 'https://127.0.0.1/callback']
      Object.assign(notes ?? {}, { redirectUris })
      Object.assign(portal ?? {}, { secret: null, scopes: ['courses:read'] })
      Object.assign(server ?? {}, { authMethod: 'none' })
    })
    const fields = [
      ...['[0].redirectUris', '[0].redirectUris', '[1].scopes', '[1].secret'],
      ...['[2].authMethod', '[2].secret'],
    ].map((field) => `applications${field}`)
    expect(problems.map((problem) => problem.split(':')[0])).to.have.members(fields)
  })

  it('reads instants and times relative to the moment of loading', () => {
    const offset = (moment: string) => resolveTime(moment, NOW_MS) - NOW_MS
    expect([offset('now'), offset('30 days ago')]).to.deep.equal([0, -30 * DAY_MS])
    expect(offset('in 1 hour')).to.equal(3_600_000)
    expect(offset('in 14 days at 18:00')).to.equal(14 * DAY_MS + 5.5 * 3_600_000)
    expect(offset('2026-03-10T12:30:00+01:00')).to.equal(-3_600_000)
    const wrong = ['', 'yesterday', '-3 days ago', 'in 3 days at 24:00', '2026-13-01T00:00Z']
    for (const text of wrong) expect(isTime(text), text).to.equal(false)
  })
})

it('campus: a folder joins the lists of all files, and names a file that is not JSON', async () => {
  const folder = temporaryFolder()
  const put = (name: string, text: string) => writeFileSync(join(folder, name), text)
  const site = { slug: 'one', name: 'One', createdAt: 'now' }
  put('a.json', JSON.stringify({ sites: [{ ...site, id: 'sit_1' }] }))
  put('b.json', JSON.stringify({ sites: [{ ...site, id: 'sit_2', slug: 'two' }] }))
  expect((await readCampusFolder(folder)).sites.map(({ id }) => id)).to.have.lengthOf(2)

  put('c.json', '{"sites": [')
  expect((await rejection(readCampusFolder(folder))).message).to.match(/c\.json is not valid JSON$/)
})

describe('campus: loading the demo', () => {
  const open = () => openDatabase({ kind: 'sqlite', file: ':memory:' }, patiently)
  const database = fresh(open)

  it('writes every row with its id and time, the marker, and no secret in plain text', async () => {
    expect(await holdsDemoCampus(database())).to.equal(false)
    expect(await load(database(), demo)).to.equal(true)
    const counts = { site: 2, person: 8, course: 12, lecture: 50, oauth_application: 3, setting: 1 }
    expect(await countRows(database())).to.include(counts)
    expect(await holdsDemoCampus(database())).to.equal(true)

    const at = (days: number) => NOW_MS - days * DAY_MS
    for (const [id, purchased_at, expires_at] of [
      ['pur_sam_light', at(419), null],
      ['pur_sam_portrait', at(400), at(35)],
    ] as const) {
      const purchase = await rowOf(database().kysely, 'course_purchase', { id })
      expect(purchase).to.include({ purchased_at, expires_at })
    }

    const everything = JSON.stringify(await dump(database()))
    const passwords = demo.people.flatMap(({ password }) => password ?? [])
    const secrets = demo.applications.flatMap(({ secret }) => secret ?? [])
    expect(passwords.length + secrets.length).to.equal(10)
    for (const value of [...passwords, ...secrets]) expect(everything).not.to.include(value)
    for (const password of passwords) expect(everything).to.include(hashed(password))
    for (const secret of secrets)
      expect(everything).to.include(createHash('sha256').update(secret).digest('base64url'))
  })

  it('changes nothing the second time, or in a database with people', async () => {
    await load(database(), demo)
    await using other = await open()
    const person = { id: 'per_other', email: 'Sam@northlight.example', name: 'Sam', created_at: 1 }
    await insert(other.kysely, 'person', { ...person, email_canonical: 'sam@northlight.example' })
    for (const full of [database(), other]) {
      const before = await dump(full)
      expect([await load(full, demo), await dump(full)]).to.deep.equal([false, before])
    }
    expect(await holdsDemoCampus(other)).to.equal(false)
  })

  it('names records that contradict others, and writes nothing', async () => {
    const broken = structuredClone(demo)
    const { email } = first(broken.people)
    Object.assign(broken.people.at(-1) ?? {}, { email: email.toUpperCase() })
    Object.assign(broken.courses.at(-1) ?? {}, { lecturers: ['per_nobody'] })
    first(broken.coursePurchases).expiresAt = '500 days ago'
    first(broken.digitalProductPurchases).order = 'ord_noor_1'
    first(broken.watchPositions).positionSeconds = 755
    const before = await dump(database())
    const { message } = await rejection(load(database(), broken))
    expect(message.split('\n- ').slice(1)).to.have.members([
      'person per_theo: another record has the same email canonical',
      'course crs_market: lecturers: no person has the id per_nobody',
      'coursePurchase pur_sam_light: expiresAt: "500 days ago" is before purchasedAt, "419 days ago"',
      'digitalProductPurchase pur_sam_diary: order: belongs to another person or site',
      'watchPosition: positionSeconds: is beyond the end of the lecture',
    ])
    expect(await dump(database())).to.deep.equal(before)
  })

  it('loads a campus of thousands of rows in batches', async () => {
    const people = Array.from({ length: 1001 }, (_, index) => ({
      ...first(demo.people),
      ...{ id: `per_${index}`, email: `person-${index}@northlight.example`, password: null },
    }))
    await load(database(), parseCampus({ sites: demo.sites, people }))
    expect(await countRows(database())).to.include({ person: 1001, site_role: 1001, course: 0 })
  })
})

function load(database: Database, campus: Campus) {
  const hashPassword = async (password: string) => hashed(password)
  return loadDemo(database, campus, { hashPassword, now: () => NOW_MS })
}

async function countRows(database: Database): Promise<Record<string, number>> {
  return Object.fromEntries((await dump(database)).map(([table, rows]) => [table, rows.length]))
}

function hashed(password: string): string {
  return `hash-of-${createHash('sha256').update(password).digest('hex')}`
}

async function dump({ kysely }: Database): Promise<[table: string, rows: string[]][]> {
  const tables = await kysely.introspection.getTables()
  const names = tables.map(({ name }) => name).filter((name) => name !== 'schema_migration')
  const dumped: [string, string[]][] = []
  for (const name of names.sort()) {
    const { rows } = await sql`select * from ${sql.table(name)}`.execute(kysely)
    dumped.push([name, rows.map((row) => JSON.stringify(row)).sort()])
  }
  return dumped
}

function problemsWith(change: (campus: Campus) => void): string[] {
  const campus = structuredClone(demo)
  change(campus)
  try {
    parseCampus(campus)
    return []
  } catch (error) {
    return String(error).split('\n- ').slice(1)
  }
}

function first<T>(list: readonly T[]): T {
  const [row] = list
  if (row === undefined) throw new Error('the list is empty')
  return row
}
