import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

import { expect } from 'chai'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { sql } from 'kysely'

import {
  isNotified,
  NOTICE_ATTEMPTS_MAX,
  type SessionEnd,
} from '../src/oauth/authorization/sign-outs.ts'
import { paths } from '../src/platform/http/paths.ts'
import { makeGuardedFetch } from '../src/platform/outgoing/guarded-fetch.ts'
import { asPortal, type ObtainedCode, obtainCode, redeem } from './support/client.ts'
import { type DocumentHost, startDocumentHost } from './support/document-host.ts'
import {
  claude,
  notes,
  olivia,
  portal,
  type RunningService,
  sam,
  startService,
} from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { choose, withPlans } from './support/proofs.ts'
import { requireProgram } from './support/skipped.ts'
import { forEachStorage, type Start } from './support/storages.ts'

const on = withPlans({ backChannelLogout: true })
const logoutUri = 'https://client.example/backchannel-logout'
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** A small relying party that keeps what it is posted, and verifies it as the specification says (§2.6). */
interface RelyingParty {
  readonly host: DocumentHost
  readonly tokens: string[]
  status: number
}

async function startRelyingParty(openssl: string): Promise<RelyingParty> {
  const host = await startDocumentHost(openssl)
  const party: RelyingParty = { host, tokens: [], status: 200 }
  host.serve(async (request: IncomingMessage, response) => {
    const body = new URLSearchParams(await text(request))
    if (request.method === 'POST' && request.url === '/backchannel-logout') {
      party.tokens.push(body.get('logout_token') ?? '')
    }
    response.writeHead(party.status, { location: 'https://client.example/other' }).end()
  })
  return party
}

interface Running {
  readonly service: RunningService
  readonly party: RelyingParty
  readonly clock: { ms: number }
}

describe('back-channel logout', () => {
  let openssl = ''
  before(function () {
    openssl = requireProgram(this, 'openssl')
  })

  async function running(use: (all: Running) => Promise<void>, start: Start = startService) {
    const party = await startRelyingParty(openssl)
    await using _host = party.host
    const clock = { ms: Date.now() }
    await using service = await start({ ...on, fetch: party.host.fetch, now: () => clock.ms })
    await choose(service, { backchannel_logout_uri: logoutUri })
    await use({ service, party, clock })
  }

  /** Signs Sam in at the portal, and exchanges the code. */
  async function signInAtPortal({ url }: RunningService) {
    const obtained = await obtainCode(url, asPortalWithoutSecret)
    const { body } = await redeem(url, withSecret(obtained))
    return { ...obtained, idToken: String(body.id_token), accessToken: String(body.access_token) }
  }

  const verified = async ({ url }: RunningService, token: string) =>
    await jwtVerify(token, createRemoteJWKSet(new URL(url + paths.jwks)), {
      ...{ issuer: url, audience: portal.clientId, typ: 'logout+jwt', algorithms: ['ES256'] },
    })

  forEachStorage('back-channel logout', (start) => {
    // [Back-Channel Logout §2.3; Back-Channel Logout §2.4; Back-Channel Logout §2.5;
    // Back-Channel Logout §2.6; Back-Channel Logout §4.1]
    it('a sign-out is posted as a logout token that names the session of the id_token', async () => {
      await running(async ({ service, party }) => {
        const { idToken, person } = await signInAtPortal(service)
        const { sid, sub } = decodeJwt(idToken)
        expect(sid).to.be.a('string')
        await signOut(service, person, idToken)
        const [token = ''] = await eventually(() => party.tokens, 1)
        const { payload } = await verified(service, token)
        expect(payload).to.include({ sub, sid })
        expect(payload['events']).to.deep.equal({ [EVENT]: {} })
        expect(payload.jti).to.be.a('string')
        expect(payload).to.not.have.property('nonce')
        expect((payload.exp ?? 0) - (payload.iat ?? 0)).to.be.within(1, 120)
        // It goes when its answer has come.
        await until(async () => (await pending(service)).notices === 0)
        expect(await pending(service)).to.deep.equal({ sessions: 0, notices: 0 })
      }, start)
    })

    it('somebody who takes the application back is signed out there', async () => {
      await running(async ({ service, party }) => {
        await signInAtPortal(service)
        const page = makePagePerson(service.url, sam)
        const remove = `/account/apps/remove?client=${portal.clientId}&site=sit_northlight`
        await page.send(await page.visit(remove), '/account/apps/remove')
        const [token = ''] = await eventually(() => party.tokens, 1)
        expect((await verified(service, token)).payload.sub).to.equal('per_sam')
      }, start)
    })
  })

  it('an exchange that the database broke off in the middle succeeds when it is repeated, and has its session', async () => {
    await running(async ({ service }) => {
      const kysely = kyselyOf(service)
      const obtained = await obtainCode(service.url, asPortalWithoutSecret)
      await sql`create trigger no_session before insert on relying_party_session
        begin select raise(abort, 'away'); end`.execute(kysely)
      expect((await redeem(service.url, withSecret(obtained))).status).to.be.at.least(500)
      await sql`drop trigger no_session`.execute(kysely)
      expect((await redeem(service.url, withSecret(obtained))).status).to.equal(200)
      expect((await pending(service)).sessions).to.equal(1)
    })
  })

  /** How each end comes about, where a person or an operator can bring it about in the database. */
  const ends: Readonly<Partial<Record<SessionEnd, (service: RunningService) => Promise<unknown>>>> =
    {
      'the person signed out everywhere': async ({ service }) =>
        await kyselyOf({ service })
          .insertInto('signed_out_everywhere')
          .values({ person_id: 'per_sam', signed_out_at: Date.now() + 60_000 })
          .execute(),
      'the account is disabled': async (service) =>
        await kyselyOf(service)
          .updateTable('person')
          .set({ disabled_at: 1 })
          .where('id', '=', 'per_sam')
          .execute(),
      'the person has no role at the site': async (service) =>
        await kyselyOf(service)
          .deleteFrom('site_role')
          .where('person_id', '=', 'per_sam')
          .execute(),
      'the client is disabled': async (service) =>
        await kyselyOf(service)
          .updateTable('oauth_application')
          .set({ disabled_at: 1 })
          .where('client_id', '=', portal.clientId)
          .execute(),
      'the client was deleted': async (service) =>
        await kyselyOf(service)
          .updateTable('oauth_application')
          .set({ deleted_at: 1 })
          .where('client_id', '=', portal.clientId)
          .execute(),
      'the site switched MCP connections off': async (service) =>
        await kyselyOf(service)
          .deleteFrom('site_feature')
          .where('site_id', '=', 'sit_northlight')
          .execute(),
      'the grant has expired': async (service) =>
        await kyselyOf(service)
          .updateTable('oauth_grant')
          .set({ expires_at: 1 })
          .where('client_id', '=', portal.clientId)
          .execute(),
      'the grant has ended: the person removed it': ending('the person removed it'),
      'the grant has ended: an operator ended it': ending('an operator ended it'),
      'the grant has ended: the platform ended it': ending('the platform ended it'),
      'the grant has ended: the application was deleted': ending('the application was deleted'),
      'the grant has ended: a scope of it was taken from the application': ending(
        'a scope of it was taken from the application',
      ),
      'the grant has ended: a code was used twice': ending('a code was used twice'),
      'the grant has ended: a used refresh token came back': ending(
        'a used refresh token came back',
      ),
      'the grant has ended: the client revoked it': ending('the client revoked it'),
    }
  for (const [end, bring] of Object.entries(ends)) {
    const told = isNotified(end as SessionEnd)
    it(`${told ? 'tells' : 'does not tell'} when ${end}`, async () => {
      await running(async ({ service, party }) => {
        await signInAtPortal(service)
        expect(await pending(service)).to.deep.equal({ sessions: 1, notices: 0 })
        await bring?.(service)
        await until(async () => (await pending(service)).sessions === 0)
        await until(async () => (await pending(service)).notices === 0)
        expect(party.tokens).to.have.lengthOf(told ? 1 : 0)
      })
    })
  }

  it('an application without an address, or a sign-in without openid, is told of nothing', async () => {
    await running(async ({ service }) => {
      const { url } = service
      const scope = 'account:read'
      const plain = await obtainCode(url, { ...asPortalWithoutSecret, scope })
      expect((await redeem(url, withSecret(plain))).status).to.equal(200)
      await choose(service, { backchannel_logout_uri: null })
      const { idToken } = await signInAtPortal(service)
      expect(decodeJwt(idToken)).to.not.have.property('sid')
      expect(await pending(service)).to.deep.equal({ sessions: 0, notices: 0 })
    })
  })

  // [Back-Channel Logout §2.5; Back-Channel Logout §2.8]
  it(`is tried ${NOTICE_ATTEMPTS_MAX} times at growing distances, then given up and shown to the operator`, async () => {
    await running(async ({ service, party, clock }) => {
      party.status = 503
      const { idToken, person } = await signInAtPortal(service)
      await signOut(service, person, idToken)
      for (let time = 1; time <= NOTICE_ATTEMPTS_MAX; time += 1) {
        await eventually(() => party.tokens, time)
        clock.ms += 3_600_000
      }
      await until(async () => (await pending(service)).notices === 0)
      expect(party.tokens).to.have.lengthOf(NOTICE_ATTEMPTS_MAX)
      const ids = party.tokens.map((token) => decodeJwt(token).jti)
      expect(new Set(ids)).to.have.property('size', NOTICE_ATTEMPTS_MAX)
      // What the page of the application shows under Refusals.
      const read = async () =>
        await kyselyOf(service)
          .selectFrom('client_refusal')
          .select(['route', 'error', 'reason'])
          .where('client_id', '=', portal.clientId)
          .execute()
      await until(async () => (await read()).length === NOTICE_ATTEMPTS_MAX)
      const [refusal] = await read()
      expect(refusal).to.include({ route: 'backchannel_logout', error: 'not_delivered' })
      expect(refusal?.reason).to.include('503')
    })
  })

  it('is delivered once the application is there again, also by another process', async () => {
    await running(async ({ service, party, clock }) => {
      party.status = 500
      const { idToken, person } = await signInAtPortal(service)
      await signOut(service, person, idToken)
      await eventually(() => party.tokens, 1)
      party.status = 204
      clock.ms += 11_000
      await eventually(() => party.tokens, 2)
      await until(async () => (await pending(service)).notices === 0)
    })
  })

  /** Notices that are due, as when an application is disabled that very many are signed in at. */
  async function addNotices(
    service: RunningService,
    count: number,
    of: { readonly client_id: string; readonly next_attempt_at: number },
  ) {
    const notice = { ...of, created_at: of.next_attempt_at, person_id: 'per_sam', sid: 'x' }
    const rows = Array.from({ length: count }, (_, position) => ({
      ...{ id: `${of.client_id}-${position}`, attempts: 0, ...notice },
      reason: 'the client is disabled',
    }))
    await kyselyOf(service).insertInto('sign_out_notice').values(rows).execute()
  }

  it('sessions at a client that has no row, and never had one, keep no other end from being found', async () => {
    await running(async ({ service, party, clock }) => {
      const kysely = kyselyOf(service)
      const grant = { id: 'grant', person_id: 'per_olivia', client_id: claude.clientId }
      const times = { granted_at: clock.ms, expires_at: clock.ms + 3_600_000 }
      const described = { client_name: 'Claude', client_origin: 'integration', allowed: '{}' }
      await kysely
        .insertInto('oauth_grant')
        .values({ ...grant, ...described, ...times })
        .execute()
      const sessions = Array.from({ length: 250 }, (_, number) => ({
        ...{ family_id: `0-${number}`, grant_id: 'grant', sid: null },
        ...{ client_id: claude.clientId, person_id: 'per_olivia' },
        ...{ started_at: clock.ms, expires_at: clock.ms + 3_600_000 },
      }))
      await kysely.insertInto('relying_party_session').values(sessions).execute()
      await signInAtPortal(service)
      await ends['the person has no role at the site']?.(service)
      await eventually(() => party.tokens, 1)
      await until(async () => (await pending(service)).notices === 0)
      expect(await pending(service)).to.deep.equal({ sessions: 250, notices: 0 })
    })
  })

  // [147]
  it('however many are signed out at once, each of them is told', async () => {
    await running(async ({ service, party, clock }) => {
      await addNotices(service, 300, { client_id: portal.clientId, next_attempt_at: clock.ms })
      await eventually(() => party.tokens, 300)
      await until(async () => (await pending(service)).notices === 0)
      expect(party.tokens).to.have.lengthOf(300)
    })
  })

  it('an application whose host is away keeps no other waiting, and loses nothing by it [147]', async () => {
    await using host = await startDocumentHost(openssl)
    const told: string[] = []
    let away = 0
    host.serve(async (request, response) => {
      if (request.headers.host === 'other.example') {
        away += 1
        return
      }
      told.push(await text(request))
      response.writeHead(204).end()
    })
    const clock = { ms: Date.now() }
    await using service = await startService({ ...on, fetch: host.fetch, now: () => clock.ms })
    await choose(service, { backchannel_logout_uri: logoutUri })
    const others = { backchannel_logout_uri: 'https://other.example/backchannel-logout' }
    await choose(service, others, notes.clientId)
    // They have waited for longer.
    await addNotices(service, 200, { client_id: notes.clientId, next_attempt_at: clock.ms - 1000 })
    await addNotices(service, 1, { client_id: portal.clientId, next_attempt_at: clock.ms })
    await eventually(() => told, 1)
    expect(away).to.be.below(9)
    const waiting = async () =>
      await kyselyOf(service).selectFrom('sign_out_notice').select('attempts').execute()
    expect((await waiting()).filter(({ attempts }) => attempts === 0)).to.have.length.above(180)
  })

  // [135]
  it('follows no redirect', async () => {
    await running(async ({ service, party }) => {
      party.status = 307
      const { idToken, person } = await signInAtPortal(service)
      await signOut(service, person, idToken)
      await eventually(() => party.tokens, 1)
      expect(party.host.requests).to.deep.equal(['client.example/backchannel-logout'])
      expect((await pending(service)).notices).to.equal(1)
    })
  })

  // [threat 25; 135]
  it('posts to no private address, whatever an import has said', async () => {
    let refused = 0
    const guarded = makeGuardedFetch()
    await using service = await startService({
      ...on,
      fetch: async (input, init) => {
        try {
          return await guarded(input, init)
        } catch (error) {
          refused += 1
          throw error
        }
      },
    })
    await choose(service, {
      backchannel_logout_uri: `${service.url.replace('http:', 'https:')}/healthz`,
    })
    const { idToken, person } = await signInAtPortal(service)
    await signOut(service, person, idToken)
    await until(async () => refused > 0)
    expect((await pending(service)).notices).to.equal(1)
  })

  it('says in the metadata what is on, and nothing while it is off', async () => {
    await using service = await startService(on)
    const metadata = await (await fetch(service.url + paths.openidConfiguration)).json()
    expect(metadata).to.include({
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    })
    await using off = await startService()
    await choose(off, { backchannel_logout_uri: logoutUri })
    const plain = await (await fetch(off.url + paths.openidConfiguration)).text()
    expect(plain).to.not.include('backchannel')
    const { idToken } = await signInAtPortal(off)
    expect(decodeJwt(idToken)).to.not.have.property('sid')
  })

  // [Back-Channel Logout §2.2]
  it('an operator enters the address, and no private one', async () => {
    await using service = await startService(on)
    const page = makePagePerson(service.url, olivia)
    const security = `/admin/northlight/applications/${portal.clientId}/security`
    const refused = await page.send(await page.visit(security), security, {
      logout_uri: 'https://192.168.0.7/out',
    })
    expect(refused.status).to.equal(422)
    const saved = await page.send(await page.visit(security), security, {
      logout_uri: logoutUri,
      demand: 'logout_session',
    })
    expect(saved.status).to.equal(200)
    expect((await page.visit(security)).text).to.include(logoutUri)
  })
})

const asPortalWithoutSecret = { client_id: asPortal.client_id, redirect_uri: asPortal.redirect_uri }

function withSecret({ form }: ObtainedCode) {
  return { form: { ...form, client_secret: portal.clientSecret } }
}

function kyselyOf({ service }: Pick<RunningService, 'service'>) {
  return service.stores.database.kysely
}

function ending(reason: string) {
  return async (service: RunningService) =>
    await kyselyOf(service)
      .updateTable('oauth_grant')
      .set({ ended_at: Date.now(), end_reason: reason })
      .where('client_id', '=', portal.clientId)
      .execute()
}

async function pending(service: RunningService) {
  const count = async (table: 'relying_party_session' | 'sign_out_notice') =>
    (await kyselyOf(service).selectFrom(table).selectAll().execute()).length
  return { sessions: await count('relying_party_session'), notices: await count('sign_out_notice') }
}

/** The person confirms the sign-out that the application asked for. */
async function signOut({ url }: RunningService, person: ObtainedCode['person'], idToken: string) {
  const address = new URL(
    `${paths.endSession}?${new URLSearchParams({ id_token_hint: idToken })}`,
    url,
  )
  const page = await (await person.open(address)).text()
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const confirmed = await person.open(new URL(`${paths.endSession}/confirm`, url), {
    method: 'POST',
    body: new URLSearchParams({ xsrf, logout: 'yes' }),
  })
  expect(confirmed.status).to.equal(303)
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('it did not come to that')
    await new Promise((done) => setTimeout(done, 50))
  }
}

async function eventually(list: () => readonly string[], length: number) {
  await until(async () => list().length >= length)
  return list()
}
