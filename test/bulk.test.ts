import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { expect } from 'chai'
import { sql } from 'kysely'

import { exportKind } from '../src/ops/import/export-records.ts'
import { type ImportReport, importLines } from '../src/ops/import/import-records.ts'
import { openSources } from '../src/ops/import/import-sources.ts'
import { kindNames } from '../src/ops/import/record-kinds.ts'
import type { Database } from '../src/platform/store/database.ts'
import { openDatabase } from '../src/platform/store/open-stores.ts'
import { startOperator } from './support/admin-api.ts'
import { authorizeUrl, introspect, obtainTokens, userinfo } from './support/client.ts'
import { patiently, withDatabases } from './support/database.ts'
import { configFolder, noor, olivia, sam, startService } from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { temporaryFolder } from './support/process.ts'
import { forEachDatabase } from './support/storages.ts'

const NOW_MS = Date.UTC(2026, 2, 10, 12, 30)
const demoFolder = join(configFolder, 'demo')

async function bring(database: Database, path: string): Promise<ImportReport> {
  return await importLines({
    database,
    sources: await openSources(path),
    // Hashing in earnest has tests of its own, and takes long on purpose.
    hashPassword: async () =>
      `$argon2id$v=19$m=19456,t=2,p=1$${'c2FsdA'.repeat(4)}$${'aGFzaA'.repeat(7)}`,
    now: () => NOW_MS,
    onProgress: () => {},
  })
}

function linesFile(records: readonly object[]): string {
  const path = join(temporaryFolder(), 'records.ndjson')
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  return path
}

async function exported(database: Database): Promise<Record<string, unknown>[]> {
  const records: Record<string, unknown>[] = []
  for (const type of kindNames) {
    for await (const record of exportKind(database, type)) records.push(record)
  }
  return records
}

const site = { type: 'site', id: 'sit_pottery', slug: 'pottery', name: 'Pottery', createdAt: 'now' }
const person = (id: string, more: object = {}) => ({
  ...{
    type: 'person',
    id: `per_${id}`,
    email: `${id}@pottery.example`,
    name: id,
    createdAt: 'now',
  },
  ...more,
})
const course = (id: string, more: object = {}) => ({
  ...{ type: 'course', id: `crs_${id}`, site: 'sit_pottery', slug: id, title: id, summary: id },
  ...{ createdAt: 'now', ...more },
})

withDatabases('import and export', (open) => {
  it('gives back what it took: a campus that was exported and imported elsewhere is the same', async () => {
    await using one = await open()
    await using other = await open()
    const first = await bring(one, demoFolder)
    expect([first.refused, first.leftOut]).to.deep.equal([[], 0])
    expect(first.written).to.include({ site: 2, person: 8 })
    const records = await exported(one)
    expect(new Set(records.map(({ type }) => type)).size).to.be.above(12)
    const second = await bring(other, linesFile(records))
    expect(second.refused).to.deep.equal([])
    expect(await exported(other)).to.deep.equal(records)
  })

  it('changes nothing the second time, and lets no trigger run', async () => {
    await using database = await open()
    await bring(database, demoFolder)
    const before = await exported(database)
    const versions = () => database.kysely.selectFrom('client_version').selectAll().execute()
    const counted = await versions()
    const again = await bring(database, linesFile(before))
    expect(again.refused).to.deep.equal([])
    expect(await exported(database)).to.deep.equal(before)
    expect(await versions()).to.deep.equal(counted)
  })

  it('changes what a line has, leaves what it has not, and replaces a list that it has', async () => {
    await using database = await open()
    const roles = ['student', 'lecturer'].map((role) => ({
      ...{ site: 'sit_pottery', role, grantedAt: '2026-01-01T00:00:00Z' },
    }))
    const lectures = ['a', 'b', 'c'].map((id) => ({
      id: `lec_${id}`,
      title: id,
      durationSeconds: 9,
    }))
    await bring(
      database,
      linesFile([
        site,
        person('ada', { picture: 'https://pottery.example/ada.png', roles }),
        course('wheel', { lectures, publishedAt: '2026-01-01T00:00:00Z' }),
      ]),
    )
    const [a, b, c] = lectures
    const report = await bring(
      database,
      linesFile([
        person('ada', { name: 'Ada', roles: roles.slice(0, 1) }),
        course('wheel', { title: 'The Wheel', lectures: [c, { ...a, title: 'A' }] }),
      ]),
    )
    expect(report.refused).to.deep.equal([])
    const records = await exported(database)
    expect(records.find(({ type }) => type === 'person')).to.deep.include({
      ...{ name: 'Ada', picture: 'https://pottery.example/ada.png' },
      roles: [{ ...roles[0], grantedAt: '2026-01-01T00:00:00.000Z' }],
    })
    expect(records.find(({ type }) => type === 'course')).to.deep.include({
      ...{ title: 'The Wheel', publishedAt: '2026-01-01T00:00:00.000Z' },
      lectures: [
        { section: null, ...c },
        { section: null, ...a, title: 'A' },
      ],
    })
    expect(b?.id).to.equal('lec_b')
  })

  it('removes what a line says is gone, and nothing that people are', async () => {
    await using database = await open()
    const purchase = {
      ...{ type: 'coursePurchase', id: 'pur_1', person: 'per_ada', course: 'crs_wheel' },
      ...{ purchasedAt: 'now', expiresAt: null },
    }
    await bring(database, linesFile([site, person('ada'), course('wheel'), purchase]))
    const gone = { type: 'coursePurchase', id: 'pur_1', deleted: true }
    expect((await bring(database, linesFile([gone]))).written).to.deep.equal({ coursePurchase: 1 })
    const left = await database.kysely.selectFrom('course_purchase').selectAll().execute()
    expect(left).to.deep.equal([])
    const report = await bring(
      database,
      linesFile([{ type: 'person', id: 'per_ada', deleted: true }]),
    )
    expect(report.refused[0]?.problem).to.equal('deleted: an import cannot delete a person')
  })

  it('says of each line what is wrong, writes nothing of its batch, and goes on', async () => {
    await using database = await open()
    const many = Array.from({ length: 1000 }, (_, index) => person(`p${index}`))
    const purchase = (id: string, more: object) => ({
      ...{ type: 'coursePurchase', id, person: 'per_ada', course: 'crs_wheel' },
      ...{ purchasedAt: 'now', expiresAt: null, ...more },
    })
    const path = linesFile([
      ...[site, person('ada'), course('wheel'), ...many.slice(3)],
      { type: 'vase' },
      { ...person('bob'), email: 'nowhere' },
      ...many.slice(0, 1),
    ])
    const first = await bring(database, path)
    expect(first.refused.map(({ line, problem }) => [line, problem.split(':')[0]])).to.deep.equal([
      [1001, 'type'],
      [1002, 'email'],
    ])
    expect(first.leftOut).to.equal(1)
    expect(first.written).to.deep.equal({ site: 1, person: 998, course: 1 })

    const second = await bring(
      database,
      linesFile([
        purchase('pur_good', {}),
        purchase('pur_nobody', { person: 'per_nobody' }),
        purchase('pur_twice', { course: 'crs_nothing' }),
        person('eve', { email: 'ADA@pottery.example' }),
      ]),
    )
    expect(second.refused.map(({ problem }) => problem)).to.deep.equal([
      'person: no person has the id per_nobody',
      'course: no course has the id crs_nothing',
      'another record has the same email canonical',
    ])
    expect([second.leftOut, second.written]).to.deep.equal([1, {}])
  })

  it('refuses a purchase that names the order of another person', async () => {
    await using database = await open()
    await bring(database, linesFile([site, person('ada'), person('bob'), course('wheel')]))
    const order = {
      ...{ type: 'order', id: 'ord_1', site: 'sit_pottery', person: 'per_bob', number: '1' },
      ...{ totalCents: 1, currency: 'EUR', placedAt: 'now' },
    }
    const purchase = {
      ...{ type: 'coursePurchase', id: 'pur_1', person: 'per_ada', course: 'crs_wheel' },
      ...{ order: 'ord_1', purchasedAt: 'now', expiresAt: null },
    }
    const { refused } = await bring(database, linesFile([order, purchase]))
    expect(refused.map(({ line, problem }) => [line, problem.slice(0, 5)])).to.include.deep.members(
      [[2, 'order']],
    )
  })

  it('refuses an id that a purchase of another kind has: an id says what it is of', async () => {
    await using database = await open()
    await bring(database, linesFile([site, person('ada'), course('wheel')]))
    const service = {
      ...{
        type: 'consultingService',
        id: 'con_1',
        site: 'sit_pottery',
        slug: 'help',
        title: 'Help',
      },
      ...{ summary: 'Help', durationMinutes: 5, createdAt: 'now' },
    }
    const bought = { person: 'per_ada', purchasedAt: 'now' }
    const { refused } = await bring(
      database,
      linesFile([
        service,
        { ...bought, type: 'coursePurchase', id: 'pur_1', course: 'crs_wheel', expiresAt: null },
        { ...bought, type: 'consultingServicePurchase', id: 'pur_1', consultingService: 'con_1' },
      ]),
    )
    expect(refused.map(({ problem }) => problem)).to.deep.equal([
      'id: a purchase of another kind has this id',
    ])
  })

  it('goes on where it was broken off, and begins anew when all was written', async () => {
    await using database = await open()
    const people = Array.from({ length: 3000 }, (_, index) => person(`p${index}`))
    const path = linesFile(people)
    const sources = await openSources(path)
    const broken = importLines({
      ...{ database, sources, hashPassword: async () => '', now: () => NOW_MS },
      onProgress: (lines) => {
        if (lines > 0) throw new Error('the power went')
      },
    })
    expect(await broken.then(String, String)).to.include('the power went')
    const rest = await bring(database, path)
    expect(rest.skipped).to.be.above(0)
    expect(rest.skipped + (rest.written.person ?? 0)).to.equal(3000)
    expect((await bring(database, path)).skipped).to.equal(0)
  })

  it('tells PostgreSQL what a table is like after many rows', async () => {
    await using database = await open()
    if (database.engine === 'sqlite') return
    const people = Array.from({ length: 10_000 }, (_, index) => person(`p${index}`))
    await bring(database, linesFile(people))
    const { rows } = await sql<{ rows: number }>`
      select reltuples as rows from pg_class where relname = 'person'`.execute(database.kysely)
    expect(Number(rows[0]?.rows)).to.equal(10_000)
  })

  it('reads the files of a folder by name', async () => {
    await using database = await open()
    const folder = temporaryFolder()
    const file = (name: string, records: readonly object[]) =>
      writeFileSync(join(folder, name), records.map((record) => JSON.stringify(record)).join('\n'))
    file('2-courses.ndjson', [course('wheel')])
    file('1-sites.ndjson', [site])
    expect((await bring(database, folder)).written).to.deep.equal({ site: 1, course: 1 })
  })
})

describe('what operators made', () => {
  it('is exported and imported with everything else, and what they removed is not', async () => {
    await using running = await startService()
    const { run } = await startOperator(running)
    const made = await run(`mutation {
      course: createCourse(input: { slug: "fog", title: "Fog", summary: "Grey." }) { id }
      product: createDigitalProduct(
        input: { slug: "fog", title: "Fog", summary: "Grey.", fileName: "fog.pdf" }
      ) { id }
      event: createEvent(input: {
        slug: "fog", title: "Fog", summary: "Grey."
        startsAt: "2030-01-01T10:00:00Z", endsAt: "2030-01-01T10:00:30Z"
      }) { id }
      post: createPost(input: { title: "Fog", body: "Tomorrow." }) { id }
      gone: createPost(input: { title: "Rain", body: "Today." }) { id }
      member: addMember(input: { email: "new@northlight.example", name: "New", roles: [STUDENT] }) { id }
      appearance: updateAppearance(input: { accentColor: "#115577", signInWords: "Welcome." }) { id }
      site: updateSite(input: { language: "de" }) { id }
    }`)
    const courseId = made.course.id
    const { section } = await run(
      `mutation { section: createSection(input: { courseId: "${courseId}", title: "One" }) { id } }`,
    )
    await run(`mutation {
      createLecture(input: {
        courseId: "${courseId}", sectionId: "${section.id}", title: "A", durationSeconds: 60
      }) { id }
      enrolStudent(input: {
        personId: "${made.member.id}", courseId: "${courseId}", hasLifetimeAccess: true
      }) { id }
      registerForEvent(eventId: "${made.event.id}", personId: "${made.member.id}") { id }
      archiveCourse(id: "${courseId}") { id }
      published: publishPost(id: "${made.post.id}") { id }
      also: publishPost(id: "${made.gone.id}") { id }
      deletePost(id: "${made.gone.id}") { deletedId }
    }`)
    const records = await exported(running.service.stores.database)
    const ids = records.map(({ id }) => id)
    expect(ids).to.include.members([courseId, made.product.id, made.event.id, made.post.id])
    expect(ids).to.not.include(made.gone.id)
    await using other = await openDatabase({ kind: 'sqlite', file: ':memory:' }, patiently)
    expect((await bring(other, linesFile(records))).refused).to.deep.equal([])
    expect(await exported(other)).to.deep.equal(records)
  })

  it('has the assistants that were added, with the addresses of apps among their callbacks', async () => {
    await using running = await startService()
    const operator = makePagePerson(running.url, olivia)
    const page = '/admin/northlight/assistants'
    await operator.send(await operator.visit(page), page, { assistant: 'cursor' })
    const records = await exported(running.service.stores.database)
    const cursor = records.find(({ assistant }) => assistant === 'cursor')
    expect(cursor?.['redirectUris']).to.include('cursor://anysphere.cursor-mcp/oauth/callback')
    await using other = await openDatabase({ kind: 'sqlite', file: ':memory:' }, patiently)
    expect((await bring(other, linesFile(records))).refused).to.deep.equal([])
    expect(await exported(other)).to.deep.equal(records)
    const script = { ...cursor, clientId: 'app_script', redirectUris: ['javascript:alert(1)'] }
    const { refused } = await bring(other, linesFile([{ ...script, assistant: null }]))
    expect(refused.map(({ problem }) => problem).join()).to.include('redirectUris')
  })
})

describe('another password', () => {
  it('signs its person out everywhere, and the same one does not', async () => {
    await using running = await startService()
    const { database } = running.service.stores
    const [member, operator] = [sam, olivia].map((who) => makePagePerson(running.url, who))
    await member?.visit('/account')
    await operator?.visit('/account')
    const records = await exported(database)
    const people = records.filter(({ type }) => type === 'person')
    const hashOf = (id: string) => people.find((one) => one['id'] === id)?.['passwordHash']
    const bringPeople = async (changed: readonly object[]) => {
      const sources = await openSources(linesFile(changed))
      const settings = { database, sources, hashPassword: async () => '', onProgress: () => {} }
      const { refused } = await importLines({ ...settings, now: running.service.now })
      expect(refused).to.deep.equal([])
    }

    await bringPeople(people)
    expect((await member?.open('/account'))?.status).to.equal(200)

    const theirs = people.find(({ id }) => id === 'per_sam')
    await bringPeople([{ ...theirs, passwordHash: hashOf('per_olivia') }])
    expect((await member?.open('/account'))?.status, 'the pages').to.equal(303)
    const asked = await member?.open(authorizeUrl(running.url).href)
    expect(asked?.headers.get('location'), 'the browser').to.match(/\/login$/)
    expect((await operator?.open('/account'))?.status, 'somebody else').to.equal(200)
  })

  it('or being disabled for a while does so, and what was open does not come back', async () => {
    await using running = await startService()
    const { database } = running.service.stores
    const member = makePagePerson(running.url, sam)
    await member.visit('/account')
    const people = (await exported(database)).filter(({ type }) => type === 'person')
    const theirs = people.find(({ id }) => id === 'per_sam') ?? {}
    for (const [disabledAt, status] of [
      ['now', 303],
      [null, 303],
    ] as const) {
      const sources = await openSources(linesFile([{ ...theirs, disabledAt }]))
      const settings = { database, sources, hashPassword: async () => '', onProgress: () => {} }
      const { refused } = await importLines({ ...settings, now: running.service.now })
      expect(refused).to.deep.equal([])
      expect((await member.open('/account')).status, `${disabledAt}`).to.equal(status)
    }
    const asked = await member.open(authorizeUrl(running.url).href)
    expect(asked.headers.get('location')).to.match(/\/login$/)
    // A session knows whole seconds, and one of the very second of the sign-out is over, too.
    await delay(1100)
    expect((await member.visit('/account')).status, 'signed in anew').to.equal(200)
  })
})

forEachDatabase('another password', (start) => {
  it('leaves programs what they were allowed, and accessEndedAt takes it, until then and once [167]', async () => {
    await using running = await start()
    const { url } = running
    const { database } = running.service.stores
    const member = makePagePerson(url, sam)
    await member.visit('/account')
    const [before, others] = [await obtainTokens(url), await obtainTokens(url, {}, noor)]
    const people = (await exported(database)).filter(({ type }) => type === 'person')
    const theirs = people.find(({ id }) => id === 'per_sam') ?? {}
    const hash = people.find(({ id }) => id === 'per_olivia')?.['passwordHash']
    const bringPerson = async (changed: object) => {
      const sources = await openSources(linesFile([{ ...theirs, ...changed }]))
      const settings = { database, sources, hashPassword: async () => '', onProgress: () => {} }
      const { refused } = await importLines({ ...settings, now: running.service.now })
      expect(refused).to.deep.equal([])
    }
    const statuses = async ({ accessToken, refreshToken }: typeof before) => [
      (await userinfo(url, accessToken)).status,
      (await introspect(url, refreshToken)).body.active,
    ]

    await bringPerson({ passwordHash: hash })
    expect(await statuses(before), 'another password').to.deep.equal([200, true])
    const ended = { ...theirs, accessEndedAt: new Date(running.service.now()).toISOString() }
    await bringPerson(ended)
    expect(await statuses(before), 'accessEndedAt').to.deep.equal([401, false])
    expect(await statuses(others), 'somebody else').to.deep.equal([200, true])
    expect((await member.open('/account')).status, 'the pages').to.equal(303)
    const events = database.kysely
      .selectFrom('audit_event')
      .select(['subject_id', 'after'])
      .where('action', '=', 'grants.end_person')
    const written = [{ subject_id: 'per_sam', after: '{"grants":2}' }]
    expect(await events.execute()).to.deep.equal(written)

    await delay(1100)
    const after = await obtainTokens(url)
    await bringPerson(ended)
    await bringPerson({ accessEndedAt: '2020-01-01T00:00:00Z' })
    expect(await statuses(after), 'the same line again').to.deep.equal([200, true])
    expect((await member.open('/account')).status, 'an earlier time opens nothing').to.equal(303)
    expect(await events.execute()).to.deep.equal(written)
  })
})
