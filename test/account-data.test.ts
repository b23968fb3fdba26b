import { sql } from 'kysely'

import { readMailFile } from '../src/directory/mail/mail-folder.ts'
import { deleteDueAccounts, scheduleDeletion } from '../src/school/privacy/delete-account.ts'
import { areOf, exportPerson, personalRows } from '../src/school/privacy/personal-data.ts'
import { userinfo } from './support/client.ts'
import { change, insert, remove, rowOf, rowsOf } from './support/database.ts'
import { flushingSoon, marco, noor, olivia, type RunningService, sam } from './support/gatehouse.ts'
import { importRecords } from './support/import.ts'
import { linkTo, mailsHandled, mailsTo } from './support/mail-folder.ts'
import { makePagePerson, textOf } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { personalData } from './support/reference-data.ts'
import { getTokens } from './support/relying-party.ts'
import { fresh } from './support/shared.ts'
import { forEachDatabase, sharedService } from './support/storages.ts'
import type { Json } from './support/wire.ts'

const DAY_MS = 86_400_000
const page = '/account/data'
const never = new AbortController().signal
const headOf = (mail: string) => {
  const { subject, to } = readMailFile(mail)
  return `${subject}: ${to}`
}

const noticeTo = (login: string) => `Your account at Gatehouse was deleted: ${login}`

const databaseOf = ({ service }: RunningService) => service.stores.database

forEachDatabase('the data of a person', (start) => {
  const service = sharedService({ policy: flushingSoon }, start)
  const read = async (id: string): Promise<Json> =>
    JSON.parse(await exportPerson(databaseOf(service()), id, { now: 0 }))

  it('sends everything about the person as one file', async () => {
    await getTokens(service().url)
    const person = makePagePerson(service().url, sam)
    const body = new URLSearchParams({ csrf: await person.csrf() })
    const response = await person.open(`${page}/download`, { method: 'POST', body })
    expect(response.headers.get('content-type')).to.match(/^application\/json/)
    expect(response.headers.get('content-disposition')).to.include('my-data.json')
    expect(response.headers.get('cache-control')).to.equal('no-store')
    const text = await response.text()
    const data = JSON.parse(text)
    expect(data.person[0]).to.include({ id: 'per_sam', email: sam.login, name: 'Sam Student' })
    expect(data.site_role[0]).to.include({ site_id: 'sit_northlight', role: 'student' })
    expect(data.oauth_grant[0].client_name).to.be.a('string')
    expect(data.course_purchase).to.have.lengthOf.above(0)
    expect(data.incomplete).to.deep.equal([])
    await eventually(5000, async () => {
      const actions = (await read('per_sam')).audit_event.map(({ action }: Json) => action)
      expect(actions).to.include.members(['sign_in.success', 'account.exported'])
    })
    expect(text).not.to.match(/argon2|digest|per_(?!sam)|hash|seed/)
  })

  it('contains no data about other people, and encodes any text as JSON [282, 283]', async () => {
    const name = '</script><b>"Sam"\\ \u202e'
    await change(service().kysely, 'person', { id: 'per_noor' }, { name })
    await insert(service().kysely, 'audit_event', {
      ...{ id: 'e1', occurred_at: 1, actor_person_id: 'per_olivia', person_id: 'per_noor' },
      ...{ action: 'member.roles', subject_kind: 'person', subject_id: 'per_noor' },
      ...{ address: '192.0.2.0/24' },
    })
    const data = await read('per_noor')
    expect(data.person[0]).to.include({ name })
    expect(JSON.stringify(data))
      .to.include('member.roles')
      .and.not.match(/192\.0\.2|per_(?!noor)/)
    const nobody = exportPerson(databaseOf(service()), 'per_nobody', { now: 0 })
    expect(await nobody.then(String, String)).to.include('no person with the id')
  })

  it('covers every column that refers to a person or a grant', async () => {
    const tables = await databaseOf(service()).kysely.introspection.getTables()
    const referring = tables
      .flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`))
      .filter((column) => /[._](person_id|grant_id)$|_by$/.test(column))
    const covered = personalRows.flatMap(({ table, by }) => by.map((name) => `${table}.${name}`))
    const documented = personalData.flatMap(([names = '']) => names.split(', '))
    const tablesOf = (columns: string[]) => columns.map((column) => column.split('.')[0])
    expect(documented).to.include.members(tablesOf(referring))
    const rest = referring.filter((column) => !covered.includes(column))
    expect(new Set(tablesOf(rest))).to.have.keys('refresh_token_family', 'relying_party_session')
    expect([...referring, 'person.id', 'outbox.payload']).to.include.members(covered)
  })
})

forEachDatabase('the deletion of an account', (start) => {
  const ahead = { ms: 0 }
  const service = fresh(async () => {
    ahead.ms = 0
    return await start({ policy: flushingSoon, now: () => Date.now() + ahead.ms })
  })
  const personOf = async (id: string) => await rowOf(service().kysely, 'person', { id })
  const role = { site_id: 'sit_northlight', role: 'owner', granted_at: 1 } as const
  const eventsOf = (action: string) => rowsOf(service().kysely, 'audit_event', { action })

  /** Asks for the deletion of an account. Returns the person, the resulting page and the path of the link in the mail. */
  const ask = async (whose = sam) => {
    const person = makePagePerson(service().url, whose)
    const asked = await person.submit(page, {}, `${page}/delete`)
    return { person, asked, path: await linkTo(service(), whose.login) }
  }
  const confirm = async () => {
    const { person, path } = await ask()
    const confirmed = await person.submit(path)
    expect(confirmed.text).to.include('id="deletion-scheduled-page"')
    return { person, confirmed }
  }
  const schedule = async (deletion: { personId: string; dueAt: number }) =>
    await service()
      .kysely.transaction()
      .execute((trx) =>
        scheduleDeletion(trx, databaseOf(service()), deletion, { now: service().service.now() }),
      )
  /** Makes deletions due and runs `processes` deletion tasks at once. Returns the subject and recipient of each mail. */
  const deleteNow = async (ids: readonly string[], processes = 1) => {
    const earlier = mailsTo(service()).length
    const nowMs = service().service.now()
    for (const personId of ids) await schedule({ personId, dueAt: nowMs })
    const ports = { database: databaseOf(service()), now: () => nowMs }
    await Promise.all(Array.from({ length: processes }, () => deleteDueAccounts(ports, never)))
    await mailsHandled(service())
    return mailsTo(service()).slice(earlier).map(headOf)
  }

  it('deletes an account after its confirmation by mail, and keeps records without the name', async () => {
    const { tokens } = await getTokens(service().url)
    const before = await rowsOf(service().kysely, 'customer_order')
    const { person, confirmed } = await confirm()
    expect(confirmed.text).to.include('<time ')
    expect((await person.open('/account')).status, 'signed out').to.equal(303)
    expect((await userinfo(service().url, tokens.access_token)).status).to.equal(401)
    const { kysely } = service()
    await insert(kysely, 'audit_event', {
      ...{ id: 'named', occurred_at: 1, actor_person_id: 'per_sam', action: 'site.update' },
      ...{ subject_kind: 'site', subject_id: 'sit_x', address: '192.0.2.0/24' },
      before: JSON.stringify({ name: 'Sam Student', title: 'Sam Students of old' }),
      after: JSON.stringify({ contactEmail: sam.login, text: `write to ${sam.login}` }),
    })
    await insert(kysely, 'webhook_endpoint', {
      ...{ id: 'whe_x', site_id: 'sit_northlight', url: 'https://hooks.example', payload: 'full' },
      ...{ sealed_secret: '', created_at: 1 },
    })
    await insert(kysely, 'webhook_delivery', {
      ...{ id: 'sent', endpoint_id: 'whe_x', event_id: 'named', type: 'x', attempted_at: 1 },
      ...{ duration_ms: 1, response: 'thanks, Sam Student' },
    })
    ahead.ms = 8 * DAY_MS
    expect(await deleteNow(['per_sam'])).to.deep.equal([noticeTo(sam.login)])
    const row = await personOf('per_sam')
    expect(row).to.include({ name: 'Deleted person', password_hash: null, deletion_due_at: null })
    expect(row.email).to.match(/^deleted-\w{24}@deleted\.invalid$/)
    const left = Object.entries(row).flatMap(([name, value]) => (value === null ? [] : name))
    expect(left).to.have.members([
      ...['id', 'name', 'email', 'email_canonical', 'random_order'],
      ...['created_at', 'imported_at', 'signed_out_at', 'disabled_at', 'deleted_at'],
    ])
    for (const each of personalRows.filter(({ isDeleted }) => isDeleted)) {
      const found = sql`select 1 from ${sql.table(each.table)} where ${areOf(each, 'per_sam')}`
      expect((await found.execute(kysely)).rows, each.table).to.deep.equal([])
    }
    expect(await rowsOf(kysely, 'customer_order')).to.deep.equal(before)
    const keeping = personalData.filter(([, , then = '']) => !then.startsWith('deleted'))
    const named = keeping.flatMap(([names = '']) => names.split(', '))
    for (const { name: table, isView } of await kysely.introspection.getTables()) {
      const { rows } = await sql`select * from ${sql.table(table)}`.execute(kysely)
      const about = rows.filter((each) =>
        /per_sam|sam@northlight|Sam Student(?!s)/.test(JSON.stringify(each)),
      )
      if (!isView && !named.includes(table)) expect(about, table).to.deep.equal([])
    }
    const event = (await eventsOf('site.update'))[0]
    expect(event).to.deep.include({ actor_person_id: 'per_sam', address: null })
    const redacted = { name: '(deleted)', title: 'Sam Students of old' }
    expect(JSON.parse(event?.before ?? '')).to.deep.equal(redacted)
    expect(event?.after).not.to.include('sam')
    expect(await rowOf(kysely, 'webhook_delivery', { id: 'sent' })).to.include({ response: null })
    const ofWalk = { person_id: 'per_sam', event_id: 'evt_dawn_walk' }
    expect((await rowOf(kysely, 'event_registration', ofWalk)).cancelled_at).to.be.a('number')
    const dump = await exportPerson(databaseOf(service()), 'per_sam', { now: 0 })
    expect(/.{60}(Sam Student|sam@).{60}/.exec(dump)?.[0]).to.equal(undefined)
    expect(await eventsOf('account.deleted')).to.have.length(1)
    const signIn = makePagePerson(service().url, sam).visit('/account')
    expect(await signIn.then(({ text }) => text, String)).not.to.include('account-page')
  })

  it('continues a deletion that failed at any statement', async () => {
    const [database, nowMs] = [databaseOf(service()), service().service.now()]
    await schedule({ personId: 'per_noor', dueAt: nowMs })
    /** Runs the deletion and makes it fail after this number of statements. Returns the error, if any. */
    const deleteWithin = async (statements: number) => {
      let left = statements
      const kysely = database.kysely.withPlugin({
        transformQuery({ node }) {
          if (left === 0) throw new Error('the process ends')
          left -= 1
          return node
        },
        transformResult: async ({ result }) => result,
      })
      const ports = { database: { ...database, kysely }, now: () => nowMs }
      return await deleteDueAccounts(ports, never).catch(String)
    }
    let failures = 0
    while ((await deleteWithin(failures)) !== undefined) failures += 1
    expect(failures).to.be.above(personalRows.filter((each) => each.isDeleted).length)
    expect(await eventsOf('account.deleted')).to.have.length(1)
    await mailsHandled(service())
    expect(mailsTo(service()).map(headOf)).to.deep.equal([noticeTo(noor.login)])
    const dump = await exportPerson(database, 'per_noor', { now: 0 })
    expect(dump).not.to.match(/Noor|noor@/)
    expect(dump).to.include('Deleted person')
  })

  // [274, 275, 276, 285]
  it('accepts a link once, in the browser that asked or with its code', async () => {
    const { person, asked, path } = await ask()
    const stranger = makePagePerson(service().url, noor)
    const other = await stranger.visit(path)
    expect(other.text).to.include('id="code"')
    expect((await stranger.send(other, path, { code: 'BBBB-BBBB' })).status).to.equal(422)
    expect((await stranger.post(path, { csrf: 'x' })).status, 'CSRF').to.equal(403)
    expect((await person.post(`${page}/delete`, {})).status, 'CSRF').to.equal(403)
    expect((await personOf('per_sam')).deletion_due_at).to.equal(null)
    const code = textOf(asked, 'code')
    expect((await person.open(path, { method: 'HEAD' })).status).to.equal(200)
    const first = await person.visit(path)
    const both = await Promise.all([stranger.send(other, path, { code }), person.send(first, path)])
    expect(both.map(({ status }) => status)).to.have.members([200, 410])
    expect((await person.visit(path)).status, 'a second use').to.equal(410)
    expect(await eventsOf('account.deletion_scheduled')).to.have.length(1)
  })

  it('keeps the account if the person signs in, and records this once [279]', async () => {
    await confirm()
    const people = [1, 2].map(() => makePagePerson(service().url, sam))
    const seen = await Promise.all(people.map((each) => each.visit(`${page}?done=kept`)))
    // The text must also be true for a person who opens this link when no deletion is planned.
    for (const { text } of seen) expect(text).to.include('Your account stays: no deletion is')
    expect(await eventsOf('account.deletion_cancelled')).to.have.length(1)
    ahead.ms = 8 * DAY_MS
    await deleteNow([])
    expect((await personOf('per_sam')).deleted_at).to.equal(null)
  })

  for (const [what, values] of Object.entries({
    'account is disabled': { disabled_at: 1 },
    'address has changed': { email_canonical: 'other@northlight.example' },
  })) {
    it(`refuses the link of a person whose ${what}`, async () => {
      const { person, path } = await ask(noor)
      const form = await person.visit(path)
      await change(service().kysely, 'person', { id: 'per_noor' }, values)
      expect((await person.send(form, path)).status).to.equal(410)
      expect((await personOf('per_noor')).deletion_due_at).to.equal(null)
    })
  }

  it('does not leave a site without an owner, and keeps the link of a last owner until the site has another one [277]', async () => {
    const { kysely } = service()
    expect((await makePagePerson(service().url, olivia).visit(page)).text)
      .to.include('id="owned"')
      .and.not.include('id="delete"')
    await insert(kysely, 'site_role', { ...role, person_id: 'per_marco' })
    await remove(kysely, 'site_role', { site_id: 'sit_open_kitchen' })
    const asked = [await ask(olivia), await ask(marco)]
    const pages = await Promise.all(
      asked.map(async ({ person, path }) => ({ person, path, form: await person.visit(path) })),
    )
    const seen = await Promise.all(pages.map(({ person, path, form }) => person.send(form, path)))
    const texts = seen.map(({ text }) => /id="(deletion-[\w-]*page)"/.exec(text)?.[1])
    expect(texts).to.have.members(['deletion-scheduled-page', 'deletion-page'])
    const people = await rowsOf(kysely, 'person')
    const leaving = people.filter(({ deletion_due_at }) => deletion_due_at !== null)
    expect(leaving).to.have.length(1)
    const [{ id: leaver } = { id: '' }] = leaving
    await insert(kysely, 'site_role', { ...role, person_id: 'per_noor' })
    for (const { person, path, form } of pages.filter((_, at) => texts[at] === 'deletion-page'))
      expect((await person.send(form, path)).text).to.include('id="deletion-scheduled-page"')

    await change(kysely, 'person', { id: leaver }, { deletion_due_at: 1 })
    await kysely.deleteFrom('site_role').where('person_id', '<>', leaver).execute()
    const mails = await deleteNow([])
    const kept = await personOf(leaver)
    expect(mails).to.deep.equal([`Your account at Gatehouse was not deleted: ${kept.email}`])
    expect(kept).to.include({ deleted_at: null, deletion_due_at: null })
  })

  it('deletes an account once if several processes do it [284], and it stays deleted in the next import [278, 280, 281]', async () => {
    const database = databaseOf(service())
    const record = {
      ...{ type: 'person', id: 'per_sam', name: 'Sam Again', createdAt: '2020-01-01T00:00:00Z' },
      roles: [{ site: 'sit_northlight', role: 'student', grantedAt: '2020-01-01T00:00:00Z' }],
    }
    const dueAt = service().service.now() + DAY_MS
    await schedule({ personId: 'per_sam', dueAt })
    await importRecords(database, [{ ...record, email: sam.login }])
    const imported = { name: 'Sam Again', deletion_due_at: dueAt }
    expect(await personOf('per_sam')).to.include(imported)
    const mails = await deleteNow(['per_sam', 'per_june'], 3)
    expect(mails).to.have.members([sam.login, 'june@openkitchen.example'].map(noticeTo))
    expect(await eventsOf('account.deleted')).to.have.length(2)
    const watched = { person: 'per_sam', lecture: 'lec_none', watchedAt: record.createdAt }
    const records = [
      { ...record, email: 'sam.moved@example.com' },
      { type: 'watchPosition', ...watched, positionSeconds: 1 },
      { ...record, id: 'per_sam_2', email: sam.login },
    ]
    const report = await importRecords(database, records, { missing: 'keep' })
    const deleted = { person: 1, watchPosition: 1 }
    expect(report).to.deep.include({ deleted, written: { person: 1 }, rejected: [] })
    expect((await personOf('per_sam')).name).to.equal('Deleted person')
    expect(await personOf('per_sam_2')).to.include({ email: sam.login, name: 'Sam Again' })
    expect(await rowsOf(database.kysely, 'site_role', { person_id: 'per_sam' })).to.deep.equal([])
  })
})
