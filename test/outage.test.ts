import { join } from 'node:path'

import { expect } from 'chai'
import { sql } from 'kysely'

import { makeHeadlessPerson } from '../src/cli/headless-person.ts'
import { paths } from '../src/http/paths.ts'
import {
  type Answer,
  ask,
  authorizationRequest,
  type Code,
  exchangeAt,
  introspectAt,
  refreshAt,
  revokeAt,
  userinfoAt,
} from './support/endpoints.ts'
import { configFolder, sam, startService } from './support/gatehouse.ts'
import { type PostgresServer, startPostgres } from './support/postgres.ts'
import { runGatehouse, type ServiceProcess, startProcess } from './support/process.ts'
import { eventually } from './support/programs.ts'
import { type RedisServer, startRedis } from './support/redis.ts'
import { getTokens, signIn } from './support/relying-party.ts'
import { requireProgram } from './support/skipped.ts'

const SECRET = 'the-secret-of-these-tests-is-long-enough-to-be-one'

/** Design 24: an answer comes within half a second. */
const ANSWER_WITHIN_MS = 500
const RECOVERED_WITHIN_MS = 1_000

const asBrowser = { headers: { accept: 'text/html,*/*;q=0.8' } }

type Store = Pick<RedisServer, 'freeze' | 'thaw' | 'kill' | 'restart'>

/** How a store goes away, and how it comes back with what it had. */
const waysToFail = {
  'is killed': {
    fail: async (store: Store) => await store.kill(),
    mend: async (store: Store) => await store.restart(),
  },
  hangs: {
    fail: async (store: Store) => store.freeze(),
    mend: async (store: Store) => store.thaw(),
  },
} as const

describe('storage out of reach [design 24]', () => {
  const opened = new AsyncDisposableStack()
  let redis: RedisServer
  let postgres: PostgresServer
  let withRedis: ServiceProcess
  let withoutRedis: ServiceProcess

  before(async function () {
    this.timeout(60_000)
    // What it acknowledged it still has after it was killed, as a Redis for OAuth state should.
    redis = opened.use(
      await startRedis(requireProgram(this, 'redis-server'), [
        ...['--appendonly', 'yes', '--appendfsync', 'always'],
      ]),
    )
    postgres = opened.use(
      await startPostgres(requireProgram(this, 'postgres'), ['synchronous_commit=on']),
    )
    const variables = { SECRET, DATABASE_URL: await postgres.createDatabase() }
    const imported = await runGatehouse(['import', join(configFolder, 'demo')], variables)
    expect(imported.code, imported.stderr).to.equal(0)
    withRedis = opened.use(await startProcess({ ...variables, REDIS_URL: redis.url }))
    withoutRedis = opened.use(await startProcess(variables))
  })
  after(() => opened.disposeAsync())

  for (const [how, { fail, mend }] of Object.entries(waysToFail)) {
    describe(`when Redis ${how}`, () => {
      it('answers 503 in time at every endpoint, and all is well after it', async () => {
        const before = await prepare(withRedis.url)
        await fail(redis)
        try {
          await expectUnavailable(withRedis.url, before)
          await expectAlive(withRedis.url)
          // The client is known from the database, so that the error goes back to it.
          const { url } = await authorizationRequest(withRedis.url)
          const answer = await ask(url.origin, url.pathname + url.search, asBrowser)
          const location = new URL(answer.headers.get('location') ?? '')
          expect(location.href).to.match(/^http:\/\/127\.0\.0\.1:9\/callback\?/)
          expect(location.searchParams.get('error')).to.equal('temporarily_unavailable')
          expect(location.searchParams.get('iss')).to.equal(withRedis.url)
          expect(location.searchParams.get('state')).to.equal(url.searchParams.get('state'))
          expect(answer.tookMs).to.be.lessThan(ANSWER_WITHIN_MS)
          await expectPage(before.openPage)
        } finally {
          await mend(redis)
        }
        await expectRecovered(withRedis.url, before)
      })
    })

    describe(`when PostgreSQL ${how}`, () => {
      for (const [kind, service] of [
        ['with', () => withRedis],
        ['without', () => withoutRedis],
      ] as const) {
        it(`answers 503 in time at every endpoint ${kind} Redis, and all is well after it`, async () => {
          const { url } = service()
          const before = await prepare(url)
          await fail(postgres)
          try {
            await expectUnavailable(url, before)
            await expectAlive(url)
            // Nobody can say where this client may be sent back to.
            const request = await authorizationRequest(url)
            await expectPage(() => makeHeadlessPerson(sam).open(request.url))
            await expectPage(before.openPage)
          } finally {
            await mend(postgres)
          }
          await expectRecovered(url, before)
        })
      }
    })
  }
})

describe('a refresh that storage failed in the middle of [design 10, design 24]', () => {
  it('succeeds when it is repeated after Redis hung while refreshes were on their way', async function () {
    this.timeout(30_000)
    await using redis = await startRedis(requireProgram(this, 'redis-server'))
    await using service = await startProcess({ SECRET, REDIS_URL: redis.url })
    const families = await Promise.all(
      Array.from({ length: 6 }, async () => (await getTokens(service.url)).tokens.refresh_token),
    )
    for (let round = 0; round < 3; round += 1) {
      let answered = 0
      const countDown = () => {
        answered += 1
        if (answered === 20 + 7 * round) redis.freeze()
      }
      const failed = await Promise.all(
        families.map((token = '') => refreshUntilFailure(service.url, token, countDown)),
      )
      for (const [family, { status, error, held }] of failed.entries()) {
        expect([status, error]).to.deep.equal([503, 'temporarily_unavailable'])
        families[family] = held
      }
      redis.thaw()
      await eventually(RECOVERED_WITHIN_MS, async () => {
        expect((await ask(service.url, paths.ready)).status).to.equal(200)
      })
      for (const [family, token = ''] of families.entries()) {
        const { status, body } = await refreshAt(service.url, token)
        expect([status, body.error]).to.deep.equal([200, undefined])
        families[family] = body.refresh_token
      }
    }
  })

  it('succeeds when it is repeated after the retry window, if its answer was never stored', async () => {
    let time = Date.now()
    await using running = await startService({ now: () => time })
    const { tokens } = await getTokens(running.url)
    const held = tokens.refresh_token ?? ''
    const { kysely } = running.service.stores.database
    for (const model of ['AccessToken', 'RefreshToken']) {
      await sql`create trigger failing before insert on oauth_state
        when new.model = ${sql.lit(model)} begin select raise(abort, 'disk'); end`.execute(kysely)
      const failed = await refreshAt(running.url, held)
      expect([failed.status, failed.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
      await sql`drop trigger failing`.execute(kysely)
      time += 60_000
    }
    const repeated = await refreshAt(running.url, held)
    expect([repeated.status, repeated.body.error]).to.deep.equal([200, undefined])
    // From now on it was answered, and coming back later is a theft.
    time += 60_000
    expect((await refreshAt(running.url, held)).body.error).to.equal('invalid_grant')
    const { body } = await refreshAt(running.url, repeated.body.refresh_token)
    expect(body.error).to.equal('invalid_grant')
  })
})

/** Refreshes again and again; gives the failure that ended it, and the token that failed. */
async function refreshUntilFailure(url: string, token: string, onSuccess: () => void) {
  let held = token
  for (;;) {
    const { status, body } = await refreshAt(url, held)
    if (status !== 200) return { status, error: body.error, held }
    held = body.refresh_token
    onSuccess()
  }
}

/** What people and clients had in their hands when the storage went away. */
interface Before {
  readonly accessToken: string
  readonly refreshToken: string
  readonly code: Code
  /** Asks for the sign-in page that somebody has open. */
  readonly openPage: () => Promise<Response>
}

async function prepare(url: string): Promise<Before> {
  const { tokens } = await getTokens(url)
  const { callback, pkceCodeVerifier: verifier } = await signIn(url)
  const person = makeHeadlessPerson(sam)
  const redirect = await person.open((await authorizationRequest(url)).url)
  const page = new URL(redirect.headers.get('location') ?? '', url)
  return {
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? '',
    code: { code: callback.searchParams.get('code') ?? '', verifier, resource: url },
    openPage: async () => await person.open(page),
  }
}

async function expectUnavailable(url: string, before: Before): Promise<void> {
  const answers: Record<string, Answer> = {
    refresh: await refreshAt(url, before.refreshToken),
    exchange: await exchangeAt(url, before.code),
    userinfo: await userinfoAt(url, before.accessToken),
    introspection: await introspectAt(url, before.accessToken),
    revocation: await revokeAt(url, before.accessToken),
  }
  for (const [name, { status, body, headers, tookMs }] of Object.entries(answers)) {
    expect([status, body.error], name).to.deep.equal([503, 'temporarily_unavailable'])
    expect(headers.get('retry-after'), name).to.equal('1')
    expect(headers.get('www-authenticate'), name).to.equal(null)
    expect(tookMs, name).to.be.lessThan(ANSWER_WITHIN_MS)
  }
}

/** Discovery needs no storage; the process is alive and says that it is not ready. */
async function expectAlive(url: string): Promise<void> {
  for (const path of [paths.openidConfiguration, paths.authorizationServer, paths.jwks]) {
    expect((await ask(url, path)).status, path).to.equal(200)
  }
  expect((await ask(url, paths.health)).status).to.equal(200)
  const ready = await ask(url, paths.ready)
  expect(ready.status).to.equal(503)
  expect(ready.tookMs).to.be.lessThan(ANSWER_WITHIN_MS)
}

/** A person gets a page that says so, not a browser's own error. */
async function expectPage(open: () => Promise<Response>): Promise<void> {
  const startedAt = performance.now()
  const response = await open()
  const text = await response.text()
  expect(performance.now() - startedAt).to.be.lessThan(ANSWER_WITHIN_MS)
  expect(response.status).to.equal(503)
  expect(response.headers.get('content-type')).to.match(/^text\/html/)
  expect(response.headers.get('retry-after')).to.equal('1')
  expect(text).to.include('temporarily_unavailable')
}

/** Within a second everything goes on where it stood; nobody has lost a token or a code. */
async function expectRecovered(url: string, before: Before): Promise<void> {
  const mendedAt = performance.now()
  await eventually(RECOVERED_WITHIN_MS, async () => {
    expect((await ask(url, paths.ready)).status).to.equal(200)
  })
  expect(performance.now() - mendedAt).to.be.lessThan(RECOVERED_WITHIN_MS)
  const page = await before.openPage()
  expect(page.status).to.equal(200)
  expect(await page.text()).to.include('name="password"')
  expect((await userinfoAt(url, before.accessToken)).status).to.equal(200)
  const { status, body } = await refreshAt(url, before.refreshToken)
  expect([status, body.error]).to.deep.equal([200, undefined])
  expect((await introspectAt(url, body.access_token)).body.active).to.equal(true)
  expect((await exchangeAt(url, before.code)).status).to.equal(200)
}
