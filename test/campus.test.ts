import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect } from 'chai'
import { sql } from 'kysely'

import { parseCampus, readCampusFolder } from '../src/ops/import/campus-folder.ts'
import { isTime, resolveTime } from '../src/ops/import/campus-time.ts'
import { demoPeople, holdsDemoCampus, loadDemo } from '../src/ops/import/demo-campus.ts'
import type { Campus } from '../src/ops/import/record-kinds.ts'
import type { Database } from '../src/platform/store/database.ts'
import { openDatabase } from '../src/platform/store/open-stores.ts'

const NOW_MS = Date.UTC(2026, 2, 10, 12, 30)
const DAY_MS = 86_400_000

const demo = await readCampusFolder(join(import.meta.dirname, '../config/demo'))

describe('demo campus: the data', () => {
  it('has two sites with the beta feature on and people of every role', () => {
    expect(demo.sites.map(({ slug }) => slug)).to.deep.equal(['northlight', 'open-kitchen'])
    for (const { features } of demo.sites) {
      expect(features.map(({ feature }) => feature)).to.include('mcp_connections')
    }
    const roles = demo.people.flatMap((person) => person.roles.map(({ role }) => role))
    expect(roles).to.include.members(['owner', 'admin', 'lecturer', 'student'])
    expect(demo.people).to.have.lengthOf(8)
    expect(demo.people.filter(({ disabledAt }) => disabledAt !== null)).to.have.lengthOf(1)
  })

  it('keeps every address under a reserved domain (RFC 2606 §2)', () => {
    const addresses = demo.people.flatMap(({ email, picture }) => [email, picture ?? []].flat())
    for (const address of addresses) expect(address).to.match(/@[a-z]+\.example$|\.example\//)
  })

  it('gives Sam lifetime, ending and ended access to courses, and every other purchase', () => {
    const access = demo.coursePurchases
      .filter(({ person }) => person === 'per_sam')
      .map(({ expiresAt }) => expiresAt && Math.sign(resolveTime(expiresAt, 0)))
    expect(access).to.include.members([null, 1, -1])

    const lists = [
      demo.digitalProductPurchases,
      demo.consultingServicePurchases,
      demo.eventRegistrations,
      demo.watchPositions,
    ]
    for (const list of lists) {
      expect(list.some(({ person }) => person === 'per_sam')).to.equal(true)
    }
    expect(demo.eventRegistrations.filter(({ cancelledAt }) => cancelledAt)).to.have.lengthOf(1)
  })

  it('gives Sam more than a dozen notifications, some of them read, each of a topic to subscribe', () => {
    const inbox = demo.notifications.filter(({ person }) => person === 'per_sam')
    expect(inbox.length).to.be.greaterThan(12)
    expect(new Set(inbox.map(({ readAt }) => readAt === null)).size).to.equal(2)

    const topics = demo.notificationSubscriptions
      .filter(({ person }) => person === 'per_sam')
      .map(({ topic, channel }) => `${topic} ${channel}`)
    for (const { topic } of inbox) {
      expect(topics).to.include.members([`${topic} inbox`, `${topic} email`])
    }
  })

  it('marks its client secrets as secrets of the demo', () => {
    const secrets = demo.applications.flatMap(({ secret }) => secret ?? [])
    expect(secrets).to.have.lengthOf(2)
    for (const secret of secrets) expect(secret).to.match(/^demo-only-/)
  })

  it('names the accounts with what they may do', () => {
    const accounts = demoPeople(demo)
    expect(accounts).to.have.lengthOf(8)
    expect(accounts[0]).to.deep.equal({
      login: 'sam@northlight.example',
      password: 'correct-horse-sam',
      what: 'student at Northlight Academy',
    })
    expect(accounts.map(({ what }) => what)).to.include.members([
      'owner at Northlight Academy',
      'owner and lecturer at Open Kitchen School, student at Northlight Academy',
      'student at Northlight Academy; disabled',
    ])
  })
})

describe('campus: the shape', () => {
  it('gives the same campus when it is read twice', () => {
    expect(parseCampus(demo)).to.deep.equal(demo)
    expect(parseCampus({}).people).to.deep.equal([])
  })

  it('names every wrong form at once, with its path', () => {
    const broken = changed((campus) => {
      first(campus.sites).slug = 'North Light'
      first(campus.people).createdAt = 'last summer'
      first(first(campus.courses).lectures).durationSeconds = -1
      Object.assign(first(campus.events), { colour: 'blue' })
    })
    expect(problemsOf(broken)).to.deep.equal([
      'sites[0].slug: must be a slug like slow-bread',
      'people[0].createdAt: must be a moment like "30 days ago", "in 14 days at 18:00" or an instant',
      'courses[0].lectures[0].durationSeconds: must be at least 0',
      'events[0]: has unknown fields: colour',
    ])
  })

  it('refuses a site whose name an address of the service has', () => {
    for (const slug of ['graphql', 'api']) {
      const broken = changed((campus) => {
        first(campus.sites).slug = slug
      })
      expect(problemsOf(broken)).to.deep.equal([
        'sites[0].slug: is reserved for an address of the service',
      ])
    }
  })

  it('names every broken reference at once, with its path', () => {
    const broken = changed((campus) => {
      first(first(campus.people).roles).site = 'sit_nowhere'
      first(campus.courses).lecturers = ['per_nobody']
      first(campus.coursePurchases).course = 'crs_nothing'
      first(campus.digitalProductPurchases).order = 'ord_noor_1'
      first(campus.watchPositions).lecture = 'lec_nothing'
      first(campus.notifications).person = 'per_nobody'
      first(campus.applications).createdBy = 'per_nobody'
    })
    expect(problemsOf(broken)).to.have.members([
      'people[0].roles[0].site: no site has the id sit_nowhere',
      'courses[0].lecturers[0]: no person has the id per_nobody',
      'coursePurchases[0].course: no course has the id crs_nothing',
      'watchPositions[0].lecture: no lecture has the id lec_nothing',
      'notifications[0].person: no person has the id per_nobody',
      'applications[0].createdBy: no person has the id per_nobody',
      "digitalProductPurchases[0].order: ord_noor_1 is another person's order, or of another site",
    ])
  })

  it('names what is there twice, what ends before it begins and what lies beyond the end', () => {
    const broken = changed((campus) => {
      const [sam, olivia] = campus.people
      if (sam && olivia) olivia.email = sam.email.toUpperCase()
      campus.courses.push({ ...first(campus.courses), id: 'crs_copy', lectures: [] })
      first(campus.coursePurchases).expiresAt = '500 days ago'
      first(campus.watchPositions).positionSeconds = 755
      first(campus.applications).scopes = ['account:read', 'account:read']
    })
    expect(problemsOf(broken)).to.have.members([
      'people[1]: sam@northlight.example is there twice',
      'courses[12]: sit_northlight reading-light is there twice',
      'applications[0].scopes[1]: account:read is there twice',
      'coursePurchases[0].expiresAt: "500 days ago" is before purchasedAt, "419 days ago"',
      'watchPositions[0].positionSeconds: lec_light_window ends after 754 seconds',
    ])
  })

  it('takes a resource server of a site, and one of the whole deployment', () => {
    for (const site of ['sit_northlight', null]) {
      const campus = changed(({ applications }) => {
        Object.assign(applications[2] ?? {}, { site })
      })
      expect(problemsOf(campus)).to.deep.equal([])
    }
  })

  it('refuses an application that the engine or the policy would refuse', () => {
    const broken = changed((campus) => {
      const [notes, portal, server] = campus.applications
      if (notes)
        notes.redirectUris = ['http://notes.example/callback', 'https://127.0.0.1/callback']
      if (portal) Object.assign(portal, { secret: null, scopes: ['courses:read'] })
      if (server) Object.assign(server, { authMethod: 'none' })
    })
    expect(problemsOf(broken).map((problem) => problem.split(':')[0])).to.have.members([
      'applications[0].redirectUris',
      'applications[0].redirectUris',
      'applications[1].scopes[0]',
      'applications[2].authMethod',
      'applications[2].secret',
    ])
  })

  it('reads times relative to the moment of loading, and instants', () => {
    const offset = (moment: string) => resolveTime(moment, NOW_MS) - NOW_MS
    expect(offset('now')).to.equal(0)
    expect(offset('30 days ago')).to.equal(-30 * DAY_MS)
    expect(offset('in 1 hour')).to.equal(3_600_000)
    expect(offset('in 14 days at 18:00')).to.equal(14 * DAY_MS + 5.5 * 3_600_000)
    expect(offset('2026-03-10T12:30:00+01:00')).to.equal(-3_600_000)
    for (const text of [
      '',
      'yesterday',
      '-3 days ago',
      'in 3 days at 24:00',
      '2026-13-01T00:00Z',
    ]) {
      expect(isTime(text), text).to.equal(false)
    }
  })
})

describe('campus: a folder of files', () => {
  it('puts the lists of all files together, and names the file that is no JSON', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'campus-'))
    try {
      const site = { slug: 'one', name: 'One', createdAt: 'now' }
      const put = (name: string, text: string) => writeFile(join(folder, name), text)
      await put('a.json', JSON.stringify({ sites: [{ ...site, id: 'sit_1' }] }))
      await put('b.json', JSON.stringify({ sites: [{ ...site, id: 'sit_2', slug: 'two' }] }))
      expect((await readCampusFolder(folder)).sites.map(({ id }) => id)).to.have.lengthOf(2)

      await put('c.json', '{"sites": [')
      const error = await readCampusFolder(folder).catch((reason: Error) => reason)
      expect(error)
        .to.have.property('message')
        .that.matches(/c\.json is not JSON$/)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

describe('campus: loading the demo', () => {
  const open = () => openDatabase({ kind: 'sqlite', file: ':memory:' }, { answerWithinMs: 300 })

  it('writes every row, and the mark of the demo', async () => {
    await using database = await open()
    expect(await holdsDemoCampus(database)).to.equal(false)

    expect(await load(database, demo)).to.equal(true)

    expect(await countRows(database)).to.include({
      ...{ site: 2, person: 8, course: 12, lecture: 50, oauth_application: 3, setting: 1 },
    })
    expect(await holdsDemoCampus(database)).to.equal(true)
  })

  it('resolves times at the moment of loading and keeps identifiers', async () => {
    await using database = await open()
    await load(database, demo)
    const purchases = await database.kysely
      .selectFrom('course_purchase')
      .select(['id', 'purchased_at', 'expires_at'])
      .where('person_id', '=', 'per_sam')
      .orderBy('purchased_at')
      .execute()
    expect(purchases.slice(0, 2)).to.deep.equal([
      { id: 'pur_sam_light', purchased_at: NOW_MS - 419 * DAY_MS, expires_at: null },
      {
        id: 'pur_sam_portrait',
        purchased_at: NOW_MS - 400 * DAY_MS,
        expires_at: NOW_MS - 35 * DAY_MS,
      },
    ])
  })

  it('keeps no password and no client secret in clear in any table', async () => {
    await using database = await open()
    await load(database, demo)
    const everything = JSON.stringify(await dump(database))
    const passwords = demo.people.flatMap(({ password }) => password ?? [])
    const secrets = demo.applications.flatMap(({ secret }) => secret ?? [])

    expect(passwords.length + secrets.length).to.equal(10)
    for (const value of [...passwords, ...secrets]) expect(everything).not.to.include(value)
    for (const password of passwords) expect(everything).to.include(hashed(password))
    for (const secret of secrets) {
      expect(everything).to.include(createHash('sha256').update(secret).digest('base64url'))
    }
  })

  it('changes nothing the second time, nor in a database that has people already', async () => {
    await using database = await open()
    await load(database, demo)
    await using other = await open()
    const person = { id: 'per_other', email: 'Sam@northlight.example', name: 'Sam', created_at: 1 }
    const email_canonical = 'sam@northlight.example'
    await other.kysely
      .insertInto('person')
      .values({ ...person, email_canonical })
      .execute()
    for (const full of [database, other]) {
      const before = await dump(full)
      expect(await load(full, demo)).to.equal(false)
      expect(await dump(full)).to.deep.equal(before)
    }
    expect(await holdsDemoCampus(other)).to.equal(false)
  })

  it('takes everything back when one record contradicts another', async () => {
    await using database = await open()
    const broken = changed((campus) => {
      first(campus.notificationSubscriptions).person = 'per_nobody'
    })
    const before = await dump(database)
    expect(await load(database, broken).then(String, () => 'refused')).to.equal('refused')
    expect(await dump(database)).to.deep.equal(before)
  })

  it('loads a campus of thousands of rows in batches', async () => {
    await using database = await open()
    const people = Array.from({ length: 1001 }, (_, index) => ({
      ...first(demo.people),
      id: `per_${index}`,
      email: `person-${index}@northlight.example`,
      password: null,
    }))
    await load(database, parseCampus({ sites: demo.sites, people }))
    expect(await countRows(database)).to.include({ person: 1001, site_role: 1001, course: 0 })
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

/** Every row of every table that people fill, in a stable order. */
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

/** The demo campus with something wrong in it. */
function changed(change: (campus: Campus) => void): Campus {
  const copy = structuredClone(demo)
  change(copy)
  return copy
}

function problemsOf(data: unknown): string[] {
  try {
    parseCampus(data)
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
