import { setTimeout as pause } from 'node:timers/promises'

import { expect } from 'chai'
import { sql } from 'kysely'
import { pino } from 'pino'

import { findEvents, findPersonId, listEvents } from '../src/platform/audit/audit-list.ts'
import {
  KINDS_PER_MINUTE,
  makeAuditTrail,
  WAITING_EVENTS_MAX,
} from '../src/platform/audit/audit-trail.ts'
import { makeShownAddress } from '../src/platform/audit/shown-address.ts'
import { paths } from '../src/platform/http/paths.ts'
import type { Database } from '../src/platform/store/database.ts'
import { cleanUpAt } from './support/clean-up.ts'
import {
  askToAuthorize,
  authorize,
  exchange,
  getCode,
  introspect,
  obtainTokens,
  refresh,
} from './support/client.ts'
import { withDatabases } from './support/database.ts'
import {
  notes,
  olivia,
  portal,
  type RunningService,
  sam,
  startService,
} from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { answerOf, postForm } from './support/wire.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

describe('the audit trail of a running service', () => {
  let service: RunningService
  let clockMs = Date.now()
  before(async () => {
    service = await startService({
      now: () => clockMs,
      policy: (policy) => ({ ...policy, storage: { ...policy.storage, usageFlushSeconds: 1 } }),
    })
  })
  after(async () => await service[Symbol.asyncDispose]())

  const rowsOf = async (action: string) =>
    await findEvents(service.service.stores.database, { action }).execute()
  /** The newest row of this action; rows are written a moment after what they tell of. */
  const newest = async (action: string, count = 1) =>
    await eventually(10_000, async () => {
      const rows = await rowsOf(action)
      expect(rows.length, action).to.be.at.least(count)
      return rows.toSorted((one, other) => other.occurred_at - one.occurred_at)[0]
    })

  it('tells of a sign-in, of the consent and of the way back, each with person, client, site and network', async () => {
    await obtainTokens(service.url)
    const common = {
      actor_person_id: 'per_sam',
      client_id: notes.clientId,
      address: '127.0.0.0/24',
    }
    expect(await newest('sign_in.success')).to.include({ ...common, site_id: 'sit_northlight' })
    expect(await newest('consent.given')).to.include({ ...common, site_id: 'sit_northlight' })
    expect(await newest('authorization.given')).to.include({ ...common, site_id: 'sit_northlight' })
    const { after, request_id } = (await newest('consent.given')) ?? {}
    expect(JSON.parse(after ?? '')['scopes']).to.include('account:read')
    expect(service.log.join('')).to.include(String(request_id))
  })

  it('tells why a sign-in failed and whose account it was, and nothing of what was typed for an unknown one', async () => {
    const wrong = { ...sam, password: 'not-the-password-of-sam' }
    const unknown = { login: 'stranger@elsewhere.example', password: 'whatever-was-typed' }
    for (const answers of [wrong, unknown]) {
      await authorize(service.url, {}, answers).catch(() => {})
    }
    await eventually(10_000, async () => {
      const rows = await rowsOf('sign_in.failure')
      expect(
        rows.map(({ reason, person_id, actor_person_id }) => [reason, person_id, actor_person_id]),
      )
        .to.deep.include(['wrong password', 'per_sam', null])
        .and.to.deep.include(['no such account', null, null])
    })
    const everything = JSON.stringify(
      await findEvents(service.service.stores.database, {}).execute(),
    )
    for (const typed of [wrong.password, unknown.login, unknown.password]) {
      expect(everything).not.to.include(typed)
    }
  })

  it('tells of a refusal at the consent page, by whom', async () => {
    await authorize(
      service.url,
      { scope: 'openid email', prompt: 'consent' },
      { ...sam, refuse: true },
    )
    expect(await newest('consent.refused')).to.include({
      actor_person_id: 'per_sam',
      client_id: notes.clientId,
      site_id: 'sit_northlight',
      reason: 'did not consent',
    })
  })

  it('tells of an old refresh token, a used code and a revocation, which ended an access, in the transaction that ended it', async () => {
    const ended = { person_id: 'per_sam', client_id: notes.clientId, site_id: 'sit_northlight' }
    const first = await obtainTokens(service.url)
    await refresh(service.url, first.refreshToken)
    clockMs += MINUTE_MS
    expect((await refresh(service.url, first.refreshToken)).status).to.equal(400)
    expect((await rowsOf('refresh_token.reused'))[0]).to.include(ended)

    const code = await getCode(service.url)
    await exchange(service.url, code)
    clockMs += 6000
    expect((await exchange(service.url, code)).status).to.equal(400)
    expect((await rowsOf('code.reused'))[0]).to.include({ ...ended, address: '127.0.0.0/24' })

    const { refreshToken } = await obtainTokens(service.url)
    await postForm(service.url + paths.revocation, {
      token: refreshToken,
      client_id: notes.clientId,
    })
    const revoked = await rowsOf('grant.revoked')
    expect(revoked).to.have.length(1)
    expect(revoked[0]).to.include({ ...ended, reason: 'the client revoked it' })
  })

  it('tells of an access token that its client revoked by itself, once', async () => {
    const { accessToken } = await obtainTokens(service.url)
    const form = { token: accessToken, client_id: notes.clientId }
    await postForm(service.url + paths.revocation, form)
    await postForm(service.url + paths.revocation, form)
    await postForm(service.url + paths.revocation, { ...form, token: 'nobody.s' })
    expect(await newest('access_token.revoked')).to.include({
      ...{ actor_person_id: null, person_id: 'per_sam', client_id: notes.clientId },
      ...{ site_id: 'sit_northlight', address: '127.0.0.0/24', reason: 'the client revoked it' },
    })
    await pause(1500)
    expect(await rowsOf('access_token.revoked')).to.have.length(1)
  })

  it('counts the failed authentications of a client in one row or two for a minute, and names its site', async () => {
    clockMs = Math.ceil(clockMs / MINUTE_MS) * MINUTE_MS
    const wrong = { client_id: portal.clientId, client_secret: 'a-wrong-secret-of-somebody' }
    for (let i = 0; i < 25; i += 1) await introspect(service.url, 'a-token', wrong)
    await newest('client.refused')
    clockMs += MINUTE_MS
    const found = await eventually(10_000, async () => {
      const rows = (await rowsOf('client.refused')).filter(
        (row) => row.client_id === portal.clientId,
      )
      expect(rows.reduce((sum, { times }) => sum + (times ?? 1), 0)).to.equal(25)
      return rows
    })
    // Several flushes may lie between the first and the last of them, and make no more rows.
    expect(found.length).to.be.at.most(2)
    expect(found[0]).to.include({ site_id: 'sit_northlight', reason: 'invalid secret provided' })
  })

  it('tells of registrations and sign-outs', async () => {
    const registered = await answerOf(
      await fetch(service.url + paths.registration, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          client_name: 'Terminal',
          redirect_uris: ['http://127.0.0.1/callback'],
          token_endpoint_auth_method: 'none',
        }),
      }),
    )
    expect(await newest('client.registered')).to.include({
      client_id: registered.body['client_id'],
      reason: 'a program on a computer',
    })
    const other = makePagePerson(service.url, olivia)
    await other.send(await other.visit('/account'), '/sign-out')
    const asked = await other.visit(paths.endSession)
    await other.send(asked, `${service.url}${paths.endSession}/confirm`, { logout: 'yes' })
    expect(await newest('sign_out.browser')).to.include({ actor_person_id: 'per_olivia' })
    // The engine's clock is not ours, so that nobody signs in after this.
    const person = makePagePerson(service.url, olivia)
    const page = await person.visit('/account/sign-out-everywhere')
    await person.send(page, '/account/sign-out-everywhere')
    expect(await newest('sign_out.everywhere')).to.include({ actor_person_id: 'per_olivia' })
  })

  it('takes a client_id that no database would, without losing the others', async () => {
    await askToAuthorize(service.url, { client_id: 'nul\0\ud800' })
    await introspect(service.url, 'a-token', { client_id: 'x\0', client_secret: 'y\0' })
    await introspect(service.url, 'a-token', { client_id: 'nobody', client_secret: 'nothing' })
    await eventually(10_000, async () => {
      const reasons = (await rowsOf('client.refused')).map(({ reason }) => reason)
      expect(reasons).to.include('client not found')
    })
  })
})

withDatabases('the audit trail', (open) => {
  it('writes what a stranger causes in a bounded number of rows, and loses no count', async () => {
    await using database = await open()
    let clockMs = 1_800_000_000_000
    const trail = trailOf(database, () => clockMs)
    for (let i = 0; i < 5000; i += 1) {
      trail.noteEvent({ action: 'client.refused', clientId: `client-${i % 500}`, reason: 'why' })
      if (i % 1000 === 0) await trail.flush()
    }
    await trail.flush()
    clockMs += MINUTE_MS
    await trail.flush()
    const rows = await findEvents(database, {}).execute()
    expect(rows.length).to.be.at.most(2 * (KINDS_PER_MINUTE.unauthenticated + 1))
    expect(rows.reduce((sum, { times }) => sum + (times ?? 1), 0)).to.equal(5000)
  })

  it('keeps what it could not write for the next time, up to its bound, and says how much it dropped', async () => {
    await using database = await open()
    const trail = trailOf(database, Date.now)
    await sql`alter table audit_event rename to audit_event_away`.execute(database.kysely)
    for (let i = 0; i < WAITING_EVENTS_MAX + 7; i += 1) {
      trail.noteEvent({ action: 'sign_in.success', personId: `per_${i}` })
    }
    for (let i = 0; i < 2; i += 1) {
      expect(await trail.flush().catch((error: unknown) => error)).to.be.an('error')
    }
    await sql`alter table audit_event_away rename to audit_event`.execute(database.kysely)
    await trail.flush()
    const rows = await findEvents(database, {}).execute()
    expect(rows.filter(({ action }) => action === 'sign_in.success')).to.have.length(
      WAITING_EVENTS_MAX,
    )
    expect(rows.filter(({ action }) => action === 'audit.dropped')[0]).to.include({ times: 7 })
  })

  it('is listed by site, action, client, person and time, in pages that neither repeat nor leave out', async () => {
    await using database = await open()
    const trail = trailOf(database, () => 1_800_000_000_000)
    await database.kysely.insertInto('person').values(somebody).execute()
    for (let i = 0; i < 50; i += 1) {
      trail.noteEvent({
        ...{ action: 'authorization.given', personId: somebody.id },
        siteId: i % 2 === 0 ? 'north' : 'south',
        clientId: `client-${i % 5}`,
        reason: `why ${i}`,
      })
    }
    await trail.flush()
    const ids = new Set<string | undefined>()
    let after: readonly [string | number, string] | undefined
    for (let page = 0; page < 9; page += 1) {
      const found = await listEvents(database, { siteId: 'north' }, { first: 3, after })
      after = found.places.at(-1)
      for (const [, id] of found.places) ids.add(id)
    }
    expect(ids.size).to.equal(25)
    const count = async (filter: Parameters<typeof findEvents>[1]) =>
      (await findEvents(database, filter).execute()).length
    expect(await count({ siteId: 'north', clientId: 'client-0' })).to.equal(5)
    expect(await count({ siteId: 'elsewhere' })).to.equal(0)
    expect(await count({ action: 'sign_in.success' })).to.equal(0)
    expect(await count({ personId: somebody.id, untilMs: 1_800_000_000_000 })).to.equal(0)
    expect(await count({ personId: somebody.id, fromMs: 1_800_000_000_000 })).to.equal(50)
    expect(await findPersonId(database, 'SOMEBODY@school.example')).to.equal(somebody.id)
  })

  it('is removed after the days of the configuration, changes and events alike', async () => {
    await using database = await open()
    let clockMs = 1_800_000_000_000
    const trail = trailOf(database, () => clockMs)
    trail.noteEvent({ action: 'sign_in.success', personId: 'old' })
    await trail.flush()
    clockMs += 300 * DAY_MS
    trail.noteEvent({ action: 'sign_in.success', personId: 'new' })
    await trail.flush()
    await cleanUpAt(database, clockMs + 101 * DAY_MS)
    const rows = await findEvents(database, {}).execute()
    expect(rows.map(({ actor_person_id }) => actor_person_id)).to.deep.equal(['new'])
  })
})

describe('an address in the audit trail', () => {
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

const somebody = {
  id: 'per_somebody',
  email: 'Somebody@school.example',
  email_canonical: 'somebody@school.example',
  name: 'Somebody',
  created_at: 0,
}

function trailOf(database: Database, now: () => number) {
  return makeAuditTrail(database, { logger: pino({ level: 'silent' }), now })
}
