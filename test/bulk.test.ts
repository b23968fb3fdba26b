import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from 'kysely'

import { kindNames } from '../src/ops/import/record-kinds.ts'
import type { Database } from '../src/platform/store/database.ts'
import { operatorSite } from './support/admin-api.ts'
import { introspect, obtainTokens, openAuthorization, userinfo } from './support/client.ts'
import { change, insert, openInMemory, rowsOf, withDatabases } from './support/database.ts'
import { configFolder, noor, olivia, sam, startService } from './support/gatehouse.ts'
import { expectSameElsewhere, exportRecords, importRecords, linesFile } from './support/import.ts'
import { makePagePerson } from './support/page-person.ts'
import { rejection } from './support/rejection.ts'
import { fresh } from './support/shared.ts'
import { forEachDatabase, sharedService } from './support/storages.ts'

const createdAt = '2026-01-01T00:00:00.000Z'
const site = { type: 'site', id: 'sit_pottery', slug: 'pottery', name: 'Pottery', createdAt }
const person = (id: string, more: object = {}) => ({
  ...{ type: 'person', id: `per_${id}`, email: `${id}@pottery.example`, name: id, createdAt },
  ...more,
})
const people = (count: number) => Array.from({ length: count }, (_, index) => person(`p${index}`))
const course = (id: string, more: object = {}) => ({
  ...{ type: 'course', id: `crs_${id}`, site: 'sit_pottery', slug: id, title: id, summary: id },
  ...{ createdAt, ...more },
})
const order = (id: string, buyer: string) => ({
  ...{ type: 'order', id: `ord_${id}`, site: 'sit_pottery', person: `per_${buyer}`, number: id },
  ...{ totalCents: 1, currency: 'EUR', placedAt: createdAt },
})
const purchase = (id: string, more: object = {}) => ({
  ...{ type: 'coursePurchase', id: `pur_${id}`, person: 'per_ada', course: 'crs_wheel' },
  ...{ purchasedAt: createdAt, expiresAt: null, ...more },
})
const position = (lecture: string) => ({
  ...{ type: 'watchPosition', person: 'per_ada', lecture, positionSeconds: 1 },
  ...{ watchedAt: createdAt },
})

const problemsIn = ({ rejected }: Awaited<ReturnType<typeof importRecords>>) =>
  rejected.map(({ line, problem }) => [line, problem] as const)

withDatabases('import and export', (open) => {
  const database = fresh(open)

  it('imports an exported campus elsewhere without a difference; importing it again changes nothing, and runs no trigger', async () => {
    const { rejected, written } = await importRecords(database(), join(configFolder, 'demo'))
    expect([rejected, written.site, written.person]).to.deep.equal([[], 2, 8])
    const records = await exportRecords(database())
    expect(new Set(records.map(({ type }) => type)).size).to.be.above(12)
    const versions = () => rowsOf(database().kysely, 'client_version')
    const counted = await versions()
    await using other = await open()
    for (const each of [other, database()]) await expectSameElsewhere(records, each)
    expect(await versions()).to.deep.equal(counted)
  })

  it('changes the fields of a line, keeps absent ones, and replaces lists', async () => {
    const held = { site: 'sit_pottery', grantedAt: createdAt }
    const [student, lecturer] = ['student', 'lecturer'].map((role) => ({ ...held, role }))
    const [a, b, c] = [...'abc'].map((id) => ({ id: `lec_${id}`, title: id, durationSeconds: 9 }))
    const picture = 'https://pottery.example/ada.png'
    await importRecords(database(), [
      site,
      person('ada', { picture, roles: [student, lecturer] }),
      course('wheel', { lectures: [a, b, c], publishedAt: createdAt }),
    ])
    const lectures = [c, { ...a, title: 'A' }]
    const { rejected } = await importRecords(database(), [
      person('ada', { name: 'Ada', roles: [student] }),
      course('wheel', { title: 'The Wheel', lectures }),
    ])
    expect(rejected).to.deep.equal([])
    const [, ada, wheel] = await exportRecords(database())
    expect(ada).to.deep.include({ name: 'Ada', picture, roles: [student] })
    expect(wheel).to.deep.include({
      ...{ title: 'The Wheel', publishedAt: createdAt },
      lectures: lectures.map((lecture) => ({ section: null, ...lecture })),
    })
  })

  it('resumes an interrupted import, and starts again after a complete one', async () => {
    const path = linesFile(people(3000))
    const onProgress = (lines: number) => {
      if (lines > 0) throw new Error('the power went')
    }
    const { message } = await rejection(importRecords(database(), path, { onProgress }))
    expect(message).to.include('the power went')
    const rest = await importRecords(database(), path)
    expect(rest.skipped).to.be.above(0)
    expect(rest.skipped + (rest.written.person ?? 0)).to.equal(3000)
    expect((await importRecords(database(), path)).skipped).to.equal(0)
  })

  it('updates the statistics of PostgreSQL after many rows', async () => {
    if (database().engine === 'sqlite') return
    await importRecords(database(), people(10_000))
    const { rows } = await sql<{ rows: number }>`
      select reltuples as rows from pg_class where relname = 'person'`.execute(database().kysely)
    expect(Number(rows[0]?.rows)).to.equal(10_000)
  })

  it('forgets when an address was verified as soon as the address changes [216]', async () => {
    const verified = async (line: object) => {
      expect((await importRecords(database(), [line])).rejected).to.deep.equal([])
      return (await exportRecords(database()))[0]?.['emailVerifiedAt']
    }
    expect(await verified(person('ada', { emailVerifiedAt: createdAt }))).to.equal(createdAt)
    expect(await verified(person('ada', { email: 'ADA@pottery.example' }))).to.equal(createdAt)
    expect(await verified(person('ada', { email: 'victim@corp.example' }))).to.equal(null)
  })
})

describe('export and import of what operators made', () => {
  const { running, kysely, run } = operatorSite(startService)
  const recordsOf = async () => await exportRecords(running().service.stores.database)

  it('keeps every record except removed ones', async () => {
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
      member: setMemberRoles(input: { id: "per_noor", roles: [STUDENT] }) { id }
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
    const records = await recordsOf()
    const ids = records.map(({ id }) => id)
    expect(ids).to.include.members([courseId, made.product.id, made.event.id, made.post.id])
    expect(ids).to.not.include(made.gone.id)
    await using other = await openInMemory()
    await expectSameElsewhere(records, other)
  })

  it('keeps added assistants with callbacks of apps until they are disabled, and rejects a script as a callback', async () => {
    const page = '/admin/northlight/assistants'
    await makePagePerson(running().url, olivia).submit(page, { assistant: 'cursor' })
    const records = await recordsOf()
    const cursor = records.find(({ assistant }) => assistant === 'cursor')
    expect(cursor?.['redirectUris']).to.include('cursor://anysphere.cursor-mcp/oauth/callback')
    await using other = await openInMemory()
    await expectSameElsewhere(records, other)
    const script = { clientId: 'app_js', redirectUris: ['javascript:alert(1)'], assistant: null }
    const { rejected } = await importRecords(other, [{ ...cursor, ...script }])
    expect(rejected.map(({ problem }) => problem).join()).to.include('redirectUris')
    for (const field of ['disabled_at', 'deleted_at'] as const) {
      const stopped = { disabled_at: null, deleted_at: null, [field]: 1 }
      await change(kysely(), 'oauth_application', { assistant: 'cursor' }, stopped)
      expect((await recordsOf()).map(({ assistant }) => assistant)).to.not.include('cursor')
    }
  })
})

forEachDatabase('an imported person', (start) => {
  const service = sharedService(undefined, start)

  it('loses sessions when disabled or when the password changes, and grants when accessEndedAt is set, once [167]', async () => {
    const { url, service: open } = service()
    const { database } = open.stores
    const exported = (await exportRecords(database)).filter(({ type }) => type === 'person')
    const theirs = exported.find(({ id }) => id === 'per_sam')
    const olivias = exported.find(({ id }) => id === 'per_olivia')
    const bringAll = async (people: object[]) =>
      expect((await importRecords(database, people, { now: open.now })).rejected).to.deep.equal([])
    const bring = async (changes: object) => await bringAll([{ ...theirs, ...changes }])
    const [member, operator] = [makePagePerson(url, sam), makePagePerson(url, olivia)] as const
    for (const each of [member, operator]) await each.visit('/account')

    for (const disabledAt of ['now', null]) {
      await bring({ disabledAt })
      expect((await member.open('/account')).status, `${disabledAt}`).to.equal(303)
    }
    expect((await openAuthorization(member, url)).pathname).to.match(/\/login$/)
    // Session start times are whole seconds, so a session that starts in the same second as the sign-out is ended too.
    await delay(1100)
    expect((await member.visit('/account')).status, 'signed in anew').to.equal(200)

    const [before, others] = [await obtainTokens(url), await obtainTokens(url, {}, noor)]
    const statuses = async ({ accessToken, refreshToken }: typeof before) => [
      (await userinfo(url, accessToken)).status,
      (await introspect(url, refreshToken)).body.active,
    ]

    await bringAll(exported)
    expect((await member.open('/account')).status, 'the same password').to.equal(200)
    await bring({ passwordHash: olivias?.['passwordHash'] })
    expect((await member.open('/account')).status, 'the pages').to.equal(303)
    expect((await openAuthorization(member, url)).pathname, 'the browser').to.match(/\/login$/)
    expect((await operator.open('/account')).status, 'another person').to.equal(200)
    expect(await statuses(before), 'another password').to.deep.equal([200, true])

    const accessEndedAt = new Date(open.now()).toISOString()
    await bring({ accessEndedAt })
    expect(await statuses(before), 'accessEndedAt').to.deep.equal([401, false])
    expect(await statuses(others), 'another person').to.deep.equal([200, true])
    const events = async () => {
      const rows = await rowsOf(database.kysely, 'audit_event', { action: 'grants.end_person' })
      return rows.map(({ subject_id, after }) => `${subject_id} ${after}`)
    }
    expect(await events()).to.deep.equal(['per_sam {"grants":2}'])

    await delay(1100)
    const after = await obtainTokens(url)
    await bring({ accessEndedAt })
    await bring({ accessEndedAt: '2020-01-01T00:00:00Z' })
    expect(await statuses(after), 'the same line again').to.deep.equal([200, true])
    expect((await member.open('/account')).status, 'an earlier time opens nothing').to.equal(303)
    expect(await events()).to.deep.equal(['per_sam {"grants":2}'])
  })
})

async function addJoined({ kysely }: Database, email: string) {
  const row = { id: 'per_joined', email, email_canonical: email, name: 'Typed', created_at: 1 }
  await insert(kysely, 'person', { ...row, password_hash: 'hash' })
}

withDatabases('import of wrong lines', (open) => {
  const database = fresh(open)

  it('rejects invalid lines and lines that refer to them, and writes all others, including those that need stored records', async () => {
    const rejects: string[] = []
    const help = { id: 'con_1', site: 'sit_pottery', slug: 'help', title: 'Help', summary: 'Help' }
    const helped = { id: 'pur_2', consultingService: 'con_1', person: 'per_ada' }
    const lines = [
      ...[site, person('ada'), course('wheel'), { type: 'vase' }],
      ...[person('bob', { email: 'nowhere' }), person('eve', { email: 'ADA@pottery.example' })],
      ...[order('1', 'bob'), order('2', 'ada'), order('3', 'eve')],
      purchase('1', { person: 'per_bob', order: 'ord_1' }),
      ...[purchase('2', { order: 'ord_2' }), purchase('3', { course: 'crs_nothing' })],
      course('glaze', { lectures: [{ id: 'lec_1', title: '1' }] }),
      ...[position('lec_1'), position('lec_2')],
      { type: 'person', id: 'per_ada', deleted: true },
      { type: 'consultingService', ...help, durationMinutes: 5, createdAt },
      { type: 'consultingServicePurchase', ...helped, purchasedAt: createdAt },
    ]
    const onReject = (text: string) => void rejects.push(text)
    expect(await importRecords(database(), lines, { onReject })).to.deep.equal({
      written: { site: 1, person: 1, course: 1, consultingService: 1, order: 1, coursePurchase: 1 },
      rejected: [
        [4, `type: must be one of ${kindNames.join(', ')}`],
        [5, 'email: must be an e-mail address'],
        [6, 'another record has the same email'],
        [12, 'course: no course has the id crs_nothing'],
        [13, 'lectures[0].durationSeconds: is missing'],
        [15, 'lecture: no lecture has the id lec_2'],
        [16, 'deleted: must not be set for type person'],
        [18, 'id: a purchase of another kind has this id'],
      ].map(([line, problem]) => ({ source: 'records.ndjson', line, problem })),
      rejectedCount: 8,
      deleted: {},
      dependents: { order: 2, coursePurchase: 1, watchPosition: 1 },
      skipped: 0,
      absent: undefined,
    })
    const wrong = [4, 5, 6, 7, 9, 10, 12, 13, 14, 15, 16, 18].map((line) => lines[line - 1])
    expect(rejects.map((text) => JSON.parse(text))).to.have.deep.members(wrong)
    const next = await importRecords(database(), [person('ada', { email: '' }), order('4', 'ada')])
    expect([next.written, next.rejectedCount]).to.deep.equal([{ order: 1 }, 1])
  })

  // [195, 196, 197, 198]
  it('rejects a text with NUL or without a visible character, and a slug or address that a person at the site took', async () => {
    await importRecords(database(), [site])
    await addJoined(database(), 'mia@pottery.example')
    const taken = { site_id: 'sit_pottery', slug: 'wheel', title: 'Taken', summary: 'Taken' }
    await insert(database().kysely, 'course', { id: 'crs_operators', ...taken, created_at: 1 })
    const lines = [person('a\0b'), person('ada', { name: 'A\0da' }), person('bob')]
    const report = await importRecords(database(), [
      ...[...lines, course('wheel'), course('glaze')],
      person('eve', { picture: 'https://pottery.example/\0.png' }),
      person('zoe', { name: '\u200b\u200b' }),
      person('mia'),
    ])
    const nul = 'name: must not contain a NUL character'
    expect(problemsIn(report)).to.deep.equal([
      [1, `id: must be an id like per_…; email: must be an e-mail address; ${nul}`],
      [2, nul],
      [4, 'another record has the same site id, slug'],
      [6, 'picture: must not contain a NUL character'],
      [7, 'name: must not be empty'],
      [8, 'another record has the same email'],
    ])
    expect(report.written).to.deep.equal({ person: 1, course: 1 })
    expect(await rowsOf(database().kysely, 'audit_event')).to.deep.equal([])
  })

  it('rejects times in the wrong order, and a position beyond the end of a lecture', async () => {
    const event = { type: 'event', site: 'sit_pottery', title: 'Kiln', summary: 'Fire.', createdAt }
    const lectures = [{ id: 'lec_1', title: '1', durationSeconds: 10 }]
    const [purchasedAt, expiresAt] = ['3 days ago', '4 days ago']
    const report = await importRecords(database(), [
      site,
      { ...event, id: 'evt_1', slug: 'one', startsAt: 'in 2 days', endsAt: 'in 2 days' },
      { ...event, id: 'evt_2', slug: 'two', startsAt: 'in 2 days', endsAt: 'in 3 days' },
      ...[person('ada'), course('wheel', { lectures }), purchase('1', { purchasedAt, expiresAt })],
      { ...position('lec_1'), positionSeconds: 11 },
    ])
    expect(problemsIn(report)).to.have.deep.members([
      [2, 'endsAt: must be after startsAt'],
      [6, 'expiresAt: "4 days ago" is before purchasedAt, "3 days ago"'],
      [7, 'positionSeconds: must not be beyond the end of the lecture'],
    ])
    expect(report.written).to.deep.equal({ site: 1, event: 1, person: 1, course: 1 })
  })

  it('names every malformed field with its path', async () => {
    const lectures = [{ id: 'lec_1', title: '1', durationSeconds: -1 }]
    const report = await importRecords(database(), [
      ...['Pot Tery', 'graphql', 'api'].map((slug) => ({ ...site, slug })),
      person('ada', { createdAt: 'last summer', password: 1 }),
      ...[course('wheel', { lectures }), course('clay', { colour: 'blue' })],
    ])
    const reserved = 'slug: must not be a reserved path'
    const time = '"2026-03-01T09:00:00Z", "30 days ago" or "in 14 days at 18:00"'
    expect(problemsIn(report)).to.deep.equal([
      [1, 'slug: must be a slug of a–z, 0–9 and hyphens, like slow-bread'],
      ...[[2, reserved] as const, [3, reserved] as const],
      [4, `password: must be of type string; createdAt: must be a time such as ${time}`],
      [5, 'lectures[0].durationSeconds: must be at least 0'],
      [6, 'has unknown fields: colour'],
    ])
  })

  it('rejects applications that the engine or the policy would refuse, and ports other than 443 that no callback has', async () => {
    const application = (clientId: string, more: object) => ({
      ...{ type: 'application', clientId, kind: 'site', site: 'sit_pottery', name: clientId },
      ...{ authMethod: 'client_secret_post', applicationType: 'web', scopes: ['account:read'] },
      ...{ redirectUris: ['https://app.example:8443/callback'], createdAt, ...more },
    })
    const keys = (clientId: string, port: string) =>
      application(clientId, {
        authMethod: 'private_key_jwt',
        jwksUri: `https://app.example${port}/jwks`,
        backchannelLogoutUri: `https://app.example${port}/notice`,
      })
    const secret = 'x'.repeat(43)
    const server = { kind: 'resource_server', redirectUris: [], scopes: [], secret }
    const elsewhere = ['http://app.example/callback', 'https://127.0.0.1/callback']
    const report = await importRecords(database(), [
      ...[site, keys('good', ':8443'), keys('usual', ''), keys('bad', ':22')],
      application('server', server),
      application('public-server', { ...server, authMethod: 'none' }),
      application('elsewhere', { secret, applicationType: 'native', redirectUris: elsewhere }),
      application('operator', { scopes: ['courses:read'] }),
    ])
    const said = 'must have port 443, or the host and port of one of the redirectUris'
    const [[line, problem] = [], ...others] = problemsIn(report)
    expect([line, problem]).to.deep.equal([4, `jwksUri: ${said}; backchannelLogoutUri: ${said}`])
    const fields = others.map(([number, text]) => `${number} ${text.match(/\b\w+(?=: )/g)?.join()}`)
    const wrong = ['6 authMethod,secret', '7 redirectUris,redirectUris', '8 scopes,secret']
    expect(fields).to.deep.equal(wrong)
    expect(report.written).to.deep.equal({ site: 1, application: 3 })
  })

  it('isolates ten wrong lines among a thousand [199]', async () => {
    const lines = Array.from({ length: 1000 }, (_, at) =>
      person(`p${at}`, at % 100 === 99 ? { email: 'p0@pottery.example' } : {}),
    )
    const report = await importRecords(database(), lines)
    const wrongLines = Array.from({ length: 10 }, (_, at) => at * 100 + 100)
    expect(report.rejected.map(({ line }) => line)).to.deep.equal(wrongLines)
    expect(report.written).to.deep.equal({ person: 990 })
  })

  it('rethrows errors that are not caused by a line', async () => {
    await importRecords(database(), [site])
    await sql`drop table course_lecturer`.execute(database().kysely)
    const failed = importRecords(database(), [course('wheel', { lecturers: [] })])
    expect((await rejection(failed)).message).to.match(/course_lecturer/)
  })
})

withDatabases('import with --missing', (open) => {
  const database = fresh(open)

  const all = [site, person('ada'), person('bob'), person('eve')]
  /** Imports records. Returns the number of missing people, or why none is disabled, and the ids of disabled people. */
  const importWith = async (missing: 'keep' | 'end' | 'end-all', records: readonly object[]) => {
    const { absent } = await importRecords(database(), records, { missing })
    const rows = await rowsOf(database().kysely, 'person')
    return [absent, rows.flatMap(({ id, disabled_at }) => (disabled_at ? id : []))]
  }

  it('counts absent people with keep, and disables them with end', async () => {
    await importRecords(database(), all)
    await addJoined(database(), 'guest@pottery.example')
    const lines = [person('ada'), person('bob', { email: '' })]
    expect(await importWith('keep', lines)).to.deep.equal([1, []])
    expect(await importWith('end', lines)).to.deep.equal([1, ['per_eve']])
    const [event, ...others] = await rowsOf(database().kysely, 'audit_event')
    const [before, after] = ['{"disabled":false}', '{"disabled":true}']
    expect(event).to.include({ action: 'person.absent', before, after })
    expect(others).to.deep.equal([])
    expect(await importWith('end', lines)).to.deep.equal([0, ['per_eve']])
  })

  // [217]
  it('does not disable people with end if too many are missing, but disables all of them with end-all', async () => {
    await importRecords(database(), people(25))
    expect(await importWith('end', people(3))).to.deep.equal([
      'the import lacks 22 people and contains only 3: it may be incomplete. If it is complete, repeat it with --missing end-all',
      [],
    ])
    const [absent, disabled] = await importWith('end-all', people(3))
    expect(absent).to.equal(22)
    expect(disabled).to.have.length(22)
  })

  const unidentified = 'a rejected line does not identify its record'
  for (const [why, lines] of [
    ['the import contains no people', [course('wheel')]],
    [unidentified, [person('ada'), { type: 'person', name: 'Eve' }]],
    [unidentified, [person('ada'), { id: 'per_eve' }]],
  ] as const) {
    it(`does not end any access if ${why} [200]`, async () => {
      await importRecords(database(), all)
      expect(await importWith('end', lines)).to.deep.equal([why, []])
    })
  }
})
