import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { sql } from 'kysely'

import {
  makeSignOuts,
  NOTICE_ATTEMPTS_MAX,
  NOTICE_WITHIN_MS,
  type SessionEnd,
} from '../src/oauth/authorization/sign-outs.ts'
import type { AccessFacts } from '../src/oauth/grants/judge-access.ts'
import { paths } from '../src/platform/http/paths.ts'
import { storeMessage } from '../src/platform/outbox/outbox.ts'
import { asClaude, asPortal, exchange, getCode, obtain, obtainCode } from './support/client.ts'
import { editList, insert, rowOf, rowsOf, withDatabases } from './support/database.ts'
import { guardedFetch, startDocumentHost } from './support/document-host.ts'
import { notes, olivia, type RunningService, sam, startService } from './support/gatehouse.ts'
import { confirmSignOut, makePagePerson } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { choose, withPlans } from './support/proofs.ts'
import { fresh } from './support/shared.ts'
import { forEachStorage, type Start } from './support/storages.ts'

const on = withPlans({ backChannelLogout: true })
const logoutUri = 'https://client.example/backchannel-logout'
const kind = 'sign_out_notice' as const
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** Starts, for each test of a block, a service and a relying party that keeps the logout tokens it receives. */
function runningFor(start: Start = startService) {
  return fresh(async () => {
    await using opening = new AsyncDisposableStack()
    const host = opening.use(await startDocumentHost())
    const tokens: string[] = []
    const party = { host, tokens, status: 200, answersAfterMs: 0 }
    host.serve(async (request, response) => {
      const body = new URLSearchParams(await text(request))
      if (request.method === 'POST' && request.url === '/backchannel-logout') {
        tokens.push(body.get('logout_token') ?? '')
      }
      await delay(party.answersAfterMs)
      // Read the status only now, because a test may change it after the token arrives.
      response.writeHead(party.status, { location: 'https://client.example/other' }).end()
    })
    const clock = { ms: Date.now() }
    const service = opening.use(await start({ ...on, fetch: host.fetch, now: () => clock.ms }))
    await choose(service, { backchannel_logout_uri: logoutUri })
    const open = opening.move()
    return { service, party, clock, [Symbol.asyncDispose]: () => open.disposeAsync() }
  })
}

type Running = ReturnType<ReturnType<typeof runningFor>>

/** Signs Sam in at the portal and exchanges the code. Returns the id_token, and `signOut`, which ends the session. */
async function signInAtPortal({ url }: RunningService) {
  const { code, person } = await obtainCode(url, asPortal)
  const idToken = String((await exchange(url, code, asPortal)).body.id_token)
  const signOut = async () => {
    const address = new URL(`${paths.endSession}?id_token_hint=${idToken}`, url)
    expect((await confirmSignOut(person, address)).status).to.equal(303)
  }
  return { idToken, signOut }
}

/** Waits for the first logout token, verifies it, and returns its claims. */
async function firstNotice({ service: { url }, party }: Running) {
  const [token = ''] = await received(party.tokens, 1)
  const keys = createRemoteJWKSet(new URL(url + paths.jwks))
  const expected = { issuer: url, audience: asPortal.client_id, typ: 'logout+jwt' }
  return (await jwtVerify(token, keys, { ...expected, algorithms: ['ES256'] })).payload
}

forEachStorage('back-channel logout', (start) => {
  const running = runningFor(start)

  // [Back-Channel Logout §2.3; Back-Channel Logout §2.4; Back-Channel Logout §2.5;
  // Back-Channel Logout §2.6; Back-Channel Logout §4.1]
  it('posts a logout token that names the session of the id_token', async () => {
    const { service, party } = running()
    const { idToken, signOut } = await signInAtPortal(service)
    const { sid, sub } = decodeJwt(idToken)
    expect(sid).to.be.a('string')
    // Another exchange in the same session causes no second notice.
    const session = await rowOf(service.kysely, 'relying_party_session')
    const another = { ...session, family_id: 'another exchange' }
    await insert(service.kysely, 'relying_party_session', another)
    await signOut()
    const payload = await firstNotice(running())
    expect(payload).to.deep.include({ sub, sid, events: { [EVENT]: {} } })
    expect(payload.jti).to.be.a('string')
    expect(payload).to.not.have.property('nonce')
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).to.be.within(1, 120)
    await becomes(service, { sessions: 0, notices: 0 })
    expect(party.tokens).to.have.lengthOf(1)
  })

  const sessions = '/account/sessions'
  const removal = `/account/apps/remove?client=${asPortal.client_id}&site=sit_northlight`
  for (const [when, path, action] of [
    ['signs out that browser from another one', sessions, `${sessions}/end-others`],
    ['removes it', removal, '/account/apps/remove'],
  ] as const) {
    it(`tells the application when the person ${when}`, async () => {
      const { service } = running()
      const { sid } = decodeJwt((await signInAtPortal(service)).idToken)
      await makePagePerson(service.url, sam).submit(path, {}, action)
      expect(await firstNotice(running())).to.include({ sub: 'per_sam', sid })
      await becomes(service, { sessions: 0, notices: 0 })
    })
  }
})

describe('back-channel logout', () => {
  const running = runningFor()

  it('records the session of an exchange that is repeated after a database error', async () => {
    const { service } = running()
    const code = await getCode(service.url, asPortal)
    const refusing = "before insert on relying_party_session begin select raise(abort, 'away'); end"
    await run(service, `create trigger no_session ${refusing}`)
    expect((await exchange(service.url, code, asPortal)).status).to.be.at.least(500)
    await run(service, 'drop trigger no_session')
    expect((await exchange(service.url, code, asPortal)).status).to.equal(200)
    expect((await pending(service)).sessions).to.equal(1)
  })

  const ofPortal = `client_id = '${asPortal.client_id}'`
  const endGrant = (reason: string) =>
    `update oauth_grant set ended_at = ${Date.now()}, end_reason = '${reason}' where ${ofPortal}`
  const setSam = (column: string, time: number) =>
    `update person set ${column} = ${time} where id = 'per_sam'`
  /** Reasons why a session at an application ends, each with the number of notices and the SQL statement that ends it. */
  const ends: readonly (readonly [end: SessionEnd, notices: 0 | 1, statement: string])[] = [
    ['the person signed out everywhere', 1, setSam('signed_out_at', Date.now() + 86_400_000)],
    ['the account is disabled', 1, setSam('disabled_at', 1)],
    ['the person has no role at the site', 1, `delete from site_role where person_id = 'per_sam'`],
    ['the client is disabled', 1, `update oauth_application set disabled_at = 1 where ${ofPortal}`],
    ['the client was deleted', 1, `update oauth_application set deleted_at = 1 where ${ofPortal}`],
    ['the site has disabled MCP connections', 1, 'delete from site_feature'],
    ['the grant has expired', 0, `update oauth_grant set expires_at = 1 where ${ofPortal}`],
    ['the grant has ended: a code was used twice', 1, endGrant('a code was used twice')],
    ['the grant has ended: the client revoked it', 0, endGrant('the client revoked it')],
  ]
  for (const [end, notices, statement] of ends) {
    it(`${notices === 1 ? 'notifies' : 'does not notify'} when ${end}`, async () => {
      const { service, party } = running()
      await signInAtPortal(service)
      expect(await pending(service)).to.deep.equal({ sessions: 1, notices: 0 })
      await run(service, statement)
      await becomes(service, { sessions: 0, notices: 0 })
      expect(party.tokens).to.have.lengthOf(notices)
    })
  }

  it('does not notify applications without an address, or of sign-ins without openid', async () => {
    const { service } = running()
    const { url } = service
    await obtain(url, { authorization: { ...asPortal, scope: 'account:read' }, token: asPortal })
    await choose(service, { backchannel_logout_uri: null })
    expect(decodeJwt((await signInAtPortal(service)).idToken)).to.not.have.property('sid')
    expect(await pending(service)).to.deep.equal({ sessions: 0, notices: 0 })
  })

  // [Back-Channel Logout §2.5; Back-Channel Logout §2.8; 135]
  it(`gives up after ${NOTICE_ATTEMPTS_MAX} attempts, does not follow redirects, and shows operators why`, async () => {
    const { service, party, clock } = running()
    await (await signInAtPortal(service)).signOut()
    for (let time = 1; time <= NOTICE_ATTEMPTS_MAX; time += 1) {
      party.status = time === 1 ? 307 : 500 + time
      clock.ms += 3_600_000
      await received(party.tokens, time)
      if (time === NOTICE_ATTEMPTS_MAX) break
      // Wait until the service has noted that the application rejected the notice with this status.
      const lastError = async () => (await rowOf(service.kysely, 'outbox', { kind })).last_error
      await eventually(20_000, async () => expect(await lastError()).to.include(`${party.status}`))
    }
    await becomes(service, { notices: 0 })
    expect(party.tokens).to.have.lengthOf(NOTICE_ATTEMPTS_MAX)
    expect(new Set(party.host.requests)).to.have.all.keys('client.example/backchannel-logout')
    const ids = party.tokens.map((token) => decodeJwt(token).jti)
    expect(new Set(ids)).to.have.property('size', NOTICE_ATTEMPTS_MAX)
    // The application's page shows the failed attempts under Refusals.
    const refusal = await eventually(20_000, async () => {
      const rows = await rowsOf(service.kysely, 'client_refusal', { client_id: asPortal.client_id })
      expect(rows).to.have.length(NOTICE_ATTEMPTS_MAX)
      return rows[0]
    })
    expect(refusal).to.include({ route: 'backchannel_logout', error: 'not_delivered' })
    expect(refusal?.reason).to.match(/307|50\d/)
  })

  // The application responds after 4 s. The engine's own limit for outgoing requests is 2.5 s.
  it('waits for an application that responds slowly, and does not repeat the notice meanwhile', async () => {
    const { service, party, clock } = running()
    party.answersAfterMs = 4000
    await (await signInAtPortal(service)).signOut()
    await received(party.tokens, 1)
    const claimed = await rowOf(service.kysely, 'outbox', { kind })
    expect(claimed.attempts).to.equal(1)
    expect(Number(claimed.due_at) - clock.ms).to.be.above(NOTICE_WITHIN_MS)
    await becomes(service, { notices: 0 })
    expect(party.tokens).to.have.lengthOf(1)
  })

  it('finds ended sessions behind many sessions of clients without a row', async () => {
    const { service, party, clock } = running()
    const times = { granted_at: clock.ms, expires_at: clock.ms + 3_600_000 }
    const grant = { person_id: 'per_olivia', client_id: asClaude.client_id, ...times }
    await addSessions(service.kysely, 250, grant)
    await signInAtPortal(service)
    await run(service, `delete from site_role where person_id = 'per_sam'`)
    await received(party.tokens, 1)
    await becomes(service, { sessions: 250, notices: 0 })
  })
})

describe('back-channel logout', () => {
  it('keeps notices of an unavailable application without delaying others [147]', async () => {
    await using host = await startDocumentHost()
    const nowMs = Date.now()
    await using service = await startService({ ...on, fetch: host.fetch, now: () => nowMs })
    const told: (string | undefined)[] = []
    host.serve(({ headers }, response) => {
      told.push(headers.host)
      if (headers.host === 'client.example') response.writeHead(204).end()
    })
    await choose(service, { backchannel_logout_uri: logoutUri })
    const other = { backchannel_logout_uri: 'https://other.example/backchannel-logout' }
    await choose(service, other, notes.clientId)
    const noticeTo = (clientId: string, queuedMs: number) => ({
      ...{ kind, queue: `sign-out ${clientId}`, nowMs: queuedMs },
      payload: { clientId, sub: 'per_sam', sid: 'x' },
    })
    // The unavailable application's notices are older, so the service tries them first.
    const unavailable = Array(200).fill(noticeTo(notes.clientId, nowMs - 1000))
    await service.kysely.transaction().execute(async (trx) => {
      for (const notice of [...unavailable, noticeTo(asPortal.client_id, nowMs)])
        await storeMessage(trx, notice)
    })
    await eventually(20_000, async () => expect(told).to.include('client.example'))
    expect(told).to.have.length.below(10)
    const waiting = await rowsOf(service.kysely, 'outbox', { kind })
    expect(waiting.filter(({ attempts }) => attempts === 0)).to.have.length.above(180)
  })

  // [threat 25; 135]
  it('does not post to a private address, even an imported one', async () => {
    const { fetch, failures } = guardedFetch()
    await using service = await startService({ ...on, fetch })
    const own = `${service.url.replace('http:', 'https:')}/healthz`
    await choose(service, { backchannel_logout_uri: own })
    await (await signInAtPortal(service)).signOut()
    await eventually(20_000, async () => expect(failures).to.have.length.above(0))
    expect((await pending(service)).notices).to.equal(1)
  })

  it('does not add sid to an id_token while it is off', async () => {
    await using off = await startService()
    await choose(off, { backchannel_logout_uri: logoutUri })
    expect(decodeJwt((await signInAtPortal(off)).idToken)).to.not.have.property('sid')
  })

  // [Back-Channel Logout §2.2; 214]
  it('is configured by operators, with public addresses only', async () => {
    await using service = await startService(on)
    const page = makePagePerson(service.url, olivia)
    const security = `/admin/northlight/applications/${asPortal.client_id}/security`
    const add = (uris: string[]) => [...uris, 'https://portal.example:2222/cb']
    await editList(service.kysely, asPortal.client_id, 'redirect_uris', add)
    for (const [address, status] of [
      ['https://192.168.0.7/out', 422],
      ['https://portal.example:22/out', 422],
      ['https://client.example:2222/out', 422],
      ['https://portal.example:2222/out', 200],
      [logoutUri, 200],
    ] as const) {
      const seen = await page.submit(security, { logout_uri: address, demand: 'logout_session' })
      expect(seen.status, address).to.equal(status)
      expect((await page.visit(security)).text.includes(address)).to.equal(status === 200)
    }
  })
})

const run = ({ kysely }: RunningService, statement: string) => sql.raw(statement).execute(kysely)

async function pending({ kysely }: RunningService) {
  const sessions = (await rowsOf(kysely, 'relying_party_session')).length
  return { sessions, notices: (await rowsOf(kysely, 'outbox', { kind })).length }
}

async function becomes(service: RunningService, expected: { sessions?: number; notices: number }) {
  await eventually(20_000, async () => expect(await pending(service)).to.include(expected))
}

async function received(tokens: readonly string[], count: number) {
  return await eventually(20_000, async () => {
    expect(tokens.length).to.be.at.least(count)
    return tokens
  })
}

/** Adds a grant with `count` sessions. Their ids sort before those of sessions that result from a sign-in. */
async function addSessions(
  kysely: RunningService['kysely'],
  count: number,
  grant: { person_id: string; client_id: string; granted_at: number; expires_at: number },
) {
  const client = { client_name: 'App', client_origin: 'integration', allowed: '{}' } as const
  await insert(kysely, 'oauth_grant', { id: 'grant', ...grant, ...client })
  const { granted_at: started_at, ...common } = { ...grant, grant_id: 'grant', sid: null }
  const numbers = [...Array(count).keys()]
  const sessions = numbers.map((n) => ({ ...common, started_at, family_id: `0-${n}` }))
  await insert(kysely, 'relying_party_session', sessions)
}

withDatabases('the search for ended sessions', (open) => {
  it('waits for its next run after a full batch without an ended session', async () => {
    await using database = await open()
    const person = { id: 'ada', email: 'ada', email_canonical: 'ada', name: 'Ada', created_at: 0 }
    await insert(database.kysely, 'person', person)
    // The query finds the sessions of an expired grant, and `findGrant` then returns one that has not expired.
    const grant = { person_id: 'ada', client_id: 'app', granted_at: 0, expires_at: 1 }
    await addSessions(database.kysely, 200, grant)
    let judged = 0
    const findGrant = async () => {
      judged += 1
      if (judged > 200) throw new Error('the run continues')
      return { grant: { expiresAt: 9 } } as AccessFacts
    }
    const ports = { database, now: () => 2, findGrant, noteFailure: () => {}, sweeps: undefined }
    await makeSignOuts(ports).task(1).run(new AbortController().signal)
    expect(judged).to.equal(200)
    expect(await rowsOf(database.kysely, 'relying_party_session')).to.have.length(200)
  })
})
