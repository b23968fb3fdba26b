import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import { pino } from 'pino'

import { auditActions } from '../src/platform/audit/audit-actions.ts'
import { findEvents, listEvents } from '../src/platform/audit/audit-list.ts'
import { makeAuditStream, openEventSink } from '../src/platform/audit/audit-stream.ts'
import {
  KINDS_PER_MINUTE,
  makeAuditTrail,
  WAITING_EVENTS_MAX,
} from '../src/platform/audit/audit-trail.ts'
import { recordAuditEvent } from '../src/platform/audit/record-audit-event.ts'
import { makeShownAddress } from '../src/platform/audit/shown-address.ts'
import { paths } from '../src/platform/http/paths.ts'
import type { Database } from '../src/platform/store/database.ts'
import { eventSchema, isEvent } from './support/audit-events.ts'
import {
  asPortal,
  authorize,
  exchange,
  getCode,
  introspect,
  obtainCode,
  obtainTokens,
  refresh,
  register,
  revoke,
} from './support/client.ts'
import { withDatabases } from './support/database.ts'
import { flushingSoon, notes, olivia, sam, startService } from './support/gatehouse.ts'
import { confirmSignOut, makePagePerson } from './support/page-person.ts'
import { eventually, temporaryFolder } from './support/programs.ts'
import { fresh } from './support/shared.ts'
import { sharedService } from './support/storages.ts'

const MINUTE_MS = 60_000

describe('the audit trail of a running service', () => {
  let clockMs = Date.now()
  const service = sharedService({ now: () => clockMs, policy: flushingSoon })

  const rowsOf = async (action?: string) =>
    await findEvents(service().service.stores.database, action ? { action } : {}).execute()
  const newest = async (action: string) =>
    await eventually(10_000, async () => {
      const rows = await rowsOf(action)
      expect(rows, action).to.not.have.length(0)
      return rows.toSorted((one, other) => other.occurred_at - one.occurred_at)[0]
    })
  const notesAtSite = { client_id: notes.clientId, site_id: 'sit_northlight' }

  it('records sign-in, consent and authorization with person, client, site and network', async () => {
    await obtainTokens(service().url)
    const common = { ...notesAtSite, actor_person_id: 'per_sam', address: '127.0.0.0/24' }
    for (const action of ['sign_in.success', 'consent.given', 'authorization.given'])
      expect(await newest(action), action).to.include(common)
    const { after, request_id } = (await newest('consent.given')) ?? {}
    expect(JSON.parse(after ?? '')['scopes']).to.include('account:read')
    expect(service().log.join('')).to.include(String(request_id))
  })

  it('records why a sign-in or client authentication failed, but not the input, and who refused consent', async () => {
    const wrong = { ...sam, password: 'not-the-password-of-sam' }
    const unknown = { login: 'stranger@elsewhere.example', password: 'whatever-was-typed' }
    for (const answers of [wrong, unknown])
      await authorize(service().url, {}, answers).catch(() => {})
    await eventually(10_000, async () => {
      const rows = await rowsOf('sign_in.failure')
      const failures = rows.map((row) => [row.reason, row.person_id, row.actor_person_id])
      expect(failures).to.deep.include(['wrong password', 'per_sam', null])
      expect(failures).to.deep.include(['no such account', null, null])
    })
    const everything = JSON.stringify(await rowsOf())
    for (const typed of [wrong.password, unknown.login, unknown.password])
      expect(everything).not.to.include(typed)
    await introspect(service().url, 'a-token', { ...asPortal, client_secret: 'a-wrong-secret' })
    const ofClient = { site_id: 'sit_northlight', reason: 'invalid secret provided' }
    expect(await newest('client.refused')).to.include(ofClient)
    const fields = { scope: 'openid email', prompt: 'consent' }
    await authorize(service().url, fields, { ...sam, refuse: true })
    const refused = { actor_person_id: 'per_sam', reason: 'the person did not consent' }
    expect(await newest('consent.refused')).to.include({ ...notesAtSite, ...refused })
  })

  it('records reuse and revocation in the transaction that ends the grant, and the revocation of an access token once', async () => {
    const { url } = service()
    const ended = { ...notesAtSite, person_id: 'per_sam' }
    const first = await obtainTokens(url)
    await refresh(url, first.refreshToken)
    clockMs += MINUTE_MS
    expect((await refresh(url, first.refreshToken)).status).to.equal(400)
    expect((await rowsOf('refresh_token.reused'))[0]).to.include(ended)

    const code = await getCode(url)
    await exchange(url, code)
    clockMs += 6000
    expect((await exchange(url, code)).status).to.equal(400)
    expect((await rowsOf('code.reused'))[0]).to.include({ ...ended, address: '127.0.0.0/24' })

    await revoke(url, (await obtainTokens(url)).refreshToken)
    const revoked = await rowsOf('grant.revoked')
    expect(revoked).to.have.length(1)
    expect(revoked[0]).to.include({ ...ended, reason: 'the client revoked it' })

    const { accessToken } = await obtainTokens(url)
    for (const token of [accessToken, accessToken, 'nobody.s']) await revoke(url, token)
    expect(await newest('access_token.revoked')).to.include({
      ...{ ...notesAtSite, actor_person_id: null, person_id: 'per_sam' },
      ...{ address: '127.0.0.0/24', reason: 'the client revoked it' },
    })
    await authorize(url, {}, { login: 'later@elsewhere.example', password: 'x' }).catch(() => {})
    await eventually(10_000, async () => {
      const failures = await rowsOf('sign_in.failure')
      expect(failures.some(({ occurred_at }) => occurred_at >= clockMs)).to.equal(true)
    })
    expect(await rowsOf('access_token.revoked')).to.have.length(1)
  })

  it('records registrations and sign-outs', async () => {
    const { url } = service()
    const { body } = await register(url, { redirect_uris: ['http://127.0.0.1/callback'] })
    const registered = { client_id: body.client_id, reason: 'a program on a computer' }
    expect(await newest('client.registered')).to.include(registered)
    const { person } = await obtainCode(url, {}, olivia)
    await confirmSignOut(person, new URL(paths.endSession, url))
    expect(await newest('sign_out.browser')).to.include({ actor_person_id: 'per_olivia' })
    // The clock that dates this sign-out is ahead of the engine's, so the sign-out also ends Olivia's next sessions.
    await makePagePerson(url, olivia).submit('/account/sign-out-everywhere')
    expect(await newest('sign_out.everywhere')).to.include({ actor_person_id: 'per_olivia' })
  })
})

withDatabases('the audit trail', (open) => {
  const database = fresh(open)
  const eventsOf = async (filter: Parameters<typeof findEvents>[1]) =>
    await findEvents(database(), filter).execute()

  it('writes events of unauthenticated callers in a bounded number of rows, and loses no count', async () => {
    let clockMs = 1_800_000_000_000
    const trail = trailOf(database(), () => clockMs)
    for (let i = 0; i < 5000; i += 1) {
      trail.noteEvent({ action: 'client.refused', clientId: `client-${i % 500}`, reason: 'why' })
      if (i % 1000 === 0) await trail.flush()
    }
    await trail.flush()
    clockMs += MINUTE_MS
    await trail.flush()
    const rows = await eventsOf({})
    expect(rows.length).to.be.at.most(2 * (KINDS_PER_MINUTE.unauthenticated + 1))
    expect(rows.reduce((sum, { times }) => sum + (times ?? 1), 0)).to.equal(5000)
  })

  it('keeps events that it could not write up to a maximum, and records how many it dropped', async () => {
    const trail = trailOf(database(), Date.now)
    await sql`alter table audit_event rename to audit_event_away`.execute(database().kysely)
    for (let i = 0; i < WAITING_EVENTS_MAX + 7; i += 1)
      trail.noteEvent({ action: 'sign_in.success', personId: `per_${i}` })
    for (let i = 0; i < 2; i += 1)
      expect(await trail.flush().catch((error: unknown) => error)).to.be.an('error')
    await sql`alter table audit_event_away rename to audit_event`.execute(database().kysely)
    await trail.flush()
    expect(await eventsOf({ action: 'sign_in.success' })).to.have.length(WAITING_EVENTS_MAX)
    const [dropped] = await eventsOf({ action: 'audit.dropped' })
    expect(dropped).to.include({ times: 7 })
  })

  it('is listed by site, client, action, person and time, and in complete pages although many events have the same time', async () => {
    const nowMs = 1_800_000_000_000
    const trail = trailOf(database(), () => nowMs)
    for (let i = 0; i < 50; i += 1) {
      const siteId = i % 2 === 0 ? 'north' : 'south'
      const clientId = `client-${i % 5}`
      trail.noteEvent({ action: 'authorization.given', siteId, clientId, reason: `why ${i}` })
    }
    await trail.flush()
    const places: (readonly [string | number, string])[] = []
    for (let page = 0; page < 9; page += 1) {
      const turn = { first: 3, after: places.at(-1) }
      places.push(...(await listEvents(database(), { siteId: 'north' }, turn)).places)
    }
    expect(places).to.have.length(25)
    expect(new Set(places.map(([, id]) => id)).size).to.equal(25)
    for (const [filter, count] of [
      [{ siteId: 'north', clientId: 'client-0' }, 5],
      [{ action: 'sign_in.success' }, 0],
      [{ personId: 'per_olivia' }, 0],
      [{ fromMs: nowMs + 1 }, 0],
      [{ untilMs: nowMs }, 0],
      [{ fromMs: nowMs, untilMs: nowMs + 1 }, 50],
    ] as const)
      expect(await eventsOf(filter), JSON.stringify(filter)).to.have.length(count)
  })
})

describe('the address in the audit trail', () => {
  for (const [shown, given, kept] of [
    ['network', '203.0.113.77', '203.0.113.0/24'],
    ['network', '::ffff:203.0.113.77', '203.0.113.0/24'],
    ['network', '2001:db8:1:2::3', '2001:db8:1::/48'],
    ['full', '203.0.113.77', '203.0.113.77'],
    ['none', '203.0.113.77', undefined],
    ['full', 'a proxy that lies', undefined],
  ] as const) {
    it(`is ${kept ?? 'left out'} where ${given} is shown as ${shown}`, () => {
      expect(makeShownAddress(shown)(given)).to.equal(kept)
    })
  }
})

function trailOf(database: Database, now: () => number) {
  return makeAuditTrail(database, { logger: pino({ level: 'silent' }), now })
}

describe('the stream of audit events', () => {
  it('has a schema with exactly the actions of the table, and an example in docs/how-to/operate.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../docs/how-to/operate.md'), 'utf8')
    const [, example = ''] = /```json\n(.*)\n```/.exec(page) ?? []
    expectEvent(JSON.parse(example))
    expect(eventSchema.properties.action.enum).to.have.members([...auditActions])
  })

  it('writes lines of that schema to a private file, all of them before the service stops', async () => {
    const file = join(temporaryFolder(), 'service.jsonl')
    const service = await startService({ environment: { AUDIT_STREAM: file } })
    await obtainTokens(service.url)
    await service[Symbol.asyncDispose]()
    const text = readFileSync(file, 'utf8')
    expect(text.endsWith('\n')).to.equal(true)
    const lines = parsed(text.trimEnd().split('\n'))
    for (const line of lines) expectEvent(line)
    const actions = lines.map(({ action }) => action)
    expect(actions).to.have.members(['sign_in.success', 'consent.given', 'authorization.given'])
    expect(statSync(file).mode & 0o777).to.equal(0o600)
  })

  it('starts a new line after the partial line of a killed process', async () => {
    const file = join(temporaryFolder(), 'torn.jsonl')
    writeFileSync(file, '{"version":1,"id":"ha')
    const sink = openEventSink(file)
    await sink(['{"one":1}'])
    appendFileSync(file, '{"mine":2}\n')
    await sink(['{"two":2}', '{"three":3}'])
    const [, ...lines] = readFileSync(file, 'utf8').split('\n')
    expect(lines).to.deep.equal(['{"one":1}', '{"mine":2}', '{"two":2}', '{"three":3}', ''])
  })
})

withDatabases('the stream of audit events', (open) => {
  const database = fresh(open)

  const fill = async (count: number) => {
    const trail = trailOf(database(), Date.now)
    for (let i = 0; i < count; i += 1)
      trail.noteEvent({ action: 'sign_in.success', personId: `per_${i}` })
    await trail.flush()
  }

  it('contains every event once with two processes, also when one of them stops', async () => {
    let clockMs = 1_800_000_000_000
    const start = () => {
      const taken: Line[] = []
      return { taken, ...makeAuditStream(database(), sinkOf(taken), () => clockMs) }
    }
    const [one, two] = [start(), start()]
    await fill(450)
    await Promise.all([one.run(), two.run()])
    const [active, idle] = one.taken.length > 0 ? [one, two] : [two, one]
    await fill(3)
    await idle.run()
    expect([active.taken.length, idle.taken.length]).to.deep.equal([450, 0])
    clockMs += 31_000
    await idle.run()
    expect(idle.taken).to.have.length(3)
    await fill(1)
    await idle.end()
    await fill(1)
    await active.run()
    expect(active.taken).to.have.length(451)
    expect(new Set([...active.taken, ...idle.taken].map(({ id }) => id)).size).to.equal(455)
  })

  it('repeats events with the same ids if the process ended before it marked them', async () => {
    await fill(5)
    const taken: Line[] = []
    let fails = true
    const sink = async (lines: readonly string[]) => {
      taken.push(...parsed(lines))
      if (fails) throw new Error('killed')
    }
    const stream = makeAuditStream(database(), sink, Date.now)
    expect(await stream.run().catch((error: Error) => error.message)).to.equal('killed')
    fails = false
    await stream.run()
    expect(taken).to.have.length(10)
    expect(new Set(taken.map(({ id }) => id)).size).to.equal(5)
  })

  it('has no event for a change that was rolled back', async () => {
    const change = { subject: { kind: 'site', id: 'north' }, siteId: 'north' } as const
    const now = { now: Date.now() }
    const { kysely } = database()
    const rolledBack = kysely.transaction().execute(async (trx) => {
      await recordAuditEvent(trx, now, { ...change, action: 'site.update' })
      throw new Error('rolled back')
    })
    await rolledBack.catch(() => {})
    await recordAuditEvent(kysely, now, { ...change, action: 'feature.on' })
    const taken: Line[] = []
    await makeAuditStream(database(), sinkOf(taken), Date.now).run()
    expect(taken.map(({ action }) => action)).to.deep.equal(['feature.on'])
  })
})

type Line = Readonly<Record<'id' | 'action', string>>

const parsed = (lines: readonly string[]): Line[] => lines.map((line) => JSON.parse(line))

const expectEvent = (event: unknown) =>
  expect(isEvent(event), JSON.stringify(isEvent.errors)).to.equal(true)

const sinkOf = (taken: Line[]) => async (lines: readonly string[]) =>
  void taken.push(...parsed(lines))
