import { join } from 'node:path'

import { expect } from 'chai'
import { sql } from 'kysely'

import { pages, paths } from '../../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import {
  authorizeUrl,
  introspect,
  type ObtainedCode,
  obtainCode,
  redeem,
  refresh,
  revoke,
  userinfo,
} from '../support/client.ts'
import { configFolder, sam, startService } from '../support/gatehouse.ts'
import { inTime } from '../support/in-time.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { runGatehouse, type ServiceProcess, startProcess } from '../support/process.ts'
import { eventually } from '../support/programs.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'
import { getTokens } from '../support/relying-party.ts'
import { requireProgram } from '../support/skipped.ts'
import { type Answer, answerOf, get } from '../support/wire.ts'

const SECRET = 'the-secret-of-these-tests-is-long-enough-to-be-one'

/** Design 24: an answer comes within half a second. */
const ANSWER_WITHIN_MS = 500
const RECOVERED_WITHIN_MS = 1_000

const asBrowser = { accept: 'text/html,*/*;q=0.8' }

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

describe('storage out of reach [design 24]', function () {
  // A busy machine may keep a process waiting longer than the second that it has; a service that
  // does not recover in time fails each run.
  this.retries(2)
  const opened = new AsyncDisposableStack()
  let redis: RedisServer
  let postgres: PostgresServer
  let withRedis: ServiceProcess
  let withoutRedis: ServiceProcess

  before(async function () {
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
      // [threat 32]
      it('answers 503 in time where Redis is needed, uses and renews tokens as ever, and all is well after it', async () => {
        const before = await prepare(withRedis.url)
        const other = (await getTokens(withRedis.url)).tokens
        await fail(redis)
        try {
          await expectUnavailable({ exchange: () => redeem(withRedis.url, before.code) })
          await expectTokensInUse(withRedis.url, other)
          await expectAlive(withRedis.url)
          // The client is known from the database, so that the error goes back to it.
          const url = authorizeUrl(withRedis.url)
          const answer = await inTime(ANSWER_WITHIN_MS, () => get(url.href, asBrowser))
          const location = new URL(answer.headers.get('location') ?? '')
          expect(location.href).to.match(/^https:\/\/notes\.example\/callback\?/)
          expect(location.searchParams.get('error')).to.equal('temporarily_unavailable')
          expect(location.searchParams.get('iss')).to.equal(withRedis.url)
          expect(location.searchParams.get('state')).to.equal(url.searchParams.get('state'))
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
            await expectUnavailable(requestsOf(url, before))
            await expectAlive(url)
            // Nobody can say where this client may be sent back to.
            await expectPage(() => makeHeadlessPerson(sam).open(authorizeUrl(url)))
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

describe('a refresh that storage failed in the middle of [design 10, design 24]', function () {
  this.retries(2)
  it('succeeds when it is repeated after PostgreSQL hung while refreshes were on their way', async function () {
    await using postgres = await startPostgres(requireProgram(this, 'postgres'))
    const DATABASE_URL = await postgres.createDatabase('demo')
    await using service = await startProcess({ SECRET, DATABASE_URL, DEMO_DATA: 'on' })
    const families = await Promise.all(
      Array.from({ length: 6 }, async () => (await getTokens(service.url)).tokens.refresh_token),
    )
    for (let round = 0; round < 3; round += 1) {
      let answered = 0
      const countDown = () => {
        answered += 1
        if (answered === 20 + 7 * round) postgres.freeze()
      }
      const failed = await Promise.all(
        families.map((token = '') => refreshUntilFailure(service.url, token, countDown)),
      )
      for (const [family, { status, error, held }] of failed.entries()) {
        expect([status, error]).to.deep.equal([503, 'temporarily_unavailable'])
        families[family] = held
      }
      postgres.thaw()
      await eventually(RECOVERED_WITHIN_MS, async () => {
        expect((await get(service.url + paths.ready)).status).to.equal(200)
      })
      for (const [family, token = ''] of families.entries()) {
        const { status, body } = await refresh(service.url, token)
        expect([status, body.error]).to.deep.equal([200, undefined])
        families[family] = body.refresh_token
      }
    }
  })

  it('succeeds when it is repeated after the retry window, if it was never written down', async () => {
    let time = Date.now()
    await using running = await startService({ now: () => time })
    const { tokens } = await getTokens(running.url)
    const held = tokens.refresh_token ?? ''
    const { kysely } = running.service.stores.database
    await sql`create trigger failing before update on refresh_token_family
      begin select raise(abort, 'disk'); end`.execute(kysely)
    const failed = await refresh(running.url, held)
    expect([failed.status, failed.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
    await sql`drop trigger failing`.execute(kysely)
    time += 60_000
    const repeated = await refresh(running.url, held)
    expect([repeated.status, repeated.body.error]).to.deep.equal([200, undefined])
    // From now on it was answered, and coming back later is a theft.
    time += 60_000
    expect((await refresh(running.url, held)).body.error).to.equal('invalid_grant')
    const { body } = await refresh(running.url, repeated.body.refresh_token)
    expect(body.error).to.equal('invalid_grant')
  })
})

describe('a code exchange whose family of refresh tokens storage could not write [design 10]', () => {
  it('uses nothing up: the same request succeeds afterwards, and its tokens work', async () => {
    await using running = await startService()
    const code = await obtainCode(running.url)
    const { kysely } = running.service.stores.database
    await sql`create trigger failing before insert on refresh_token_family
      begin select raise(abort, 'disk'); end`.execute(kysely)
    const failed = await redeem(running.url, code)
    expect([failed.status, failed.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
    await sql`drop trigger failing`.execute(kysely)
    const { status, body } = await redeem(running.url, code)
    expect([status, body.error]).to.deep.equal([200, undefined])
    expect((await userinfo(running.url, body.access_token)).status).to.equal(200)
    expect((await refresh(running.url, body.refresh_token)).status).to.equal(200)
  })
})

describe('a sign-in of our own pages that storage interrupted [design 24]', () => {
  it('is completed when the person loads the page again', async () => {
    await using running = await startService()
    const person = makeHeadlessPerson(sam)
    const account = new URL(pages.account, running.url)
    const redirect = await person.open(account)
    const request = new URL(redirect.headers.get('location') ?? '', account)
    const callback = await person.authorize(request, new URL(pages.signedIn, account).href)
    const { kysely } = running.service.stores.database
    await sql`create trigger failing before insert on refresh_token_family
      begin select raise(abort, 'disk'); end`.execute(kysely)
    const failed = await person.open(callback)
    expect([failed.status, failed.headers.get('location')]).to.deep.equal([503, null])
    await sql`drop trigger failing`.execute(kysely)
    const again = await person.open(callback)
    expect([again.status, again.headers.get('location')]).to.deep.equal([303, pages.account])
    expect((await person.open(account)).status).to.equal(200)
  })
})

/** Refreshes again and again; gives the failure that ended it, and the token that failed. */
async function refreshUntilFailure(url: string, token: string, onSuccess: () => void) {
  let held = token
  for (;;) {
    const { status, body } = await refresh(url, held)
    if (status !== 200) return { status, error: body.error, held }
    held = body.refresh_token
    onSuccess()
  }
}

/** What people and clients had in their hands when the storage went away. */
interface Before {
  readonly accessToken: string
  readonly refreshToken: string
  readonly code: ObtainedCode
  /** Asks for the sign-in page that somebody has open. */
  readonly openPage: () => Promise<Response>
}

async function prepare(url: string): Promise<Before> {
  const { tokens } = await getTokens(url)
  const person = makeHeadlessPerson(sam)
  const redirect = await person.open(authorizeUrl(url))
  const page = new URL(redirect.headers.get('location') ?? '', url)
  return {
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? '',
    code: await obtainCode(url),
    openPage: async () => await person.open(page),
  }
}

type Requests = Readonly<Record<string, () => Promise<Answer>>>

function requestsOf(url: string, before: Before): Requests {
  return {
    refresh: () => refresh(url, before.refreshToken),
    exchange: () => redeem(url, before.code),
    userinfo: () => userinfo(url, before.accessToken),
    introspection: () => introspect(url, before.accessToken),
    revocation: () => revoke(url, before.accessToken),
  }
}

/** Tokens are the database's: they are judged, renewed and revoked without Redis (decision 13). */
async function expectTokensInUse(
  url: string,
  { access_token, refresh_token = '' }: { access_token: string; refresh_token?: string },
): Promise<void> {
  expect((await userinfo(url, access_token)).status).to.equal(200)
  expect((await introspect(url, access_token)).body.active).to.equal(true)
  const { status, body } = await refresh(url, refresh_token)
  expect([status, body.error]).to.deep.equal([200, undefined])
  expect((await revoke(url, body.access_token)).status).to.equal(200)
  expect((await userinfo(url, access_token)).status).to.equal(401)
}

async function expectUnavailable(requests: Requests): Promise<void> {
  for (const [name, request] of Object.entries(requests)) {
    const { status, body, headers } = await inTime(ANSWER_WITHIN_MS, request)
    expect([status, body.error], name).to.deep.equal([503, 'temporarily_unavailable'])
    expect(headers.get('retry-after'), name).to.equal('1')
    expect(headers.get('www-authenticate'), name).to.equal(null)
  }
}

/** Discovery needs no storage; the process is alive and says that it is not ready. */
async function expectAlive(url: string): Promise<void> {
  for (const path of [paths.openidConfiguration, paths.authorizationServer, paths.jwks]) {
    expect((await get(url + path)).status, path).to.equal(200)
  }
  expect((await get(url + paths.health)).status).to.equal(200)
  const ready = await inTime(ANSWER_WITHIN_MS, () => get(url + paths.ready))
  expect(ready.status).to.equal(503)
}

/** A person gets a page that says so, not a browser's own error. */
async function expectPage(open: () => Promise<Response>): Promise<void> {
  const page = await inTime(ANSWER_WITHIN_MS, async () => await answerOf(await open()))
  expect(page.status).to.equal(503)
  expect(page.headers.get('content-type')).to.match(/^text\/html/)
  expect(page.headers.get('retry-after')).to.equal('1')
  expect(page.text).to.include('temporarily_unavailable')
}

/** Within a second everything goes on where it stood; nobody has lost a token or a code. */
async function expectRecovered(url: string, before: Before): Promise<void> {
  const mendedAt = performance.now()
  await eventually(RECOVERED_WITHIN_MS, async () => {
    expect((await get(url + paths.ready)).status).to.equal(200)
  })
  expect(performance.now() - mendedAt).to.be.lessThan(RECOVERED_WITHIN_MS)
  const page = await before.openPage()
  expect(page.status).to.equal(200)
  expect(await page.text()).to.include('name="password"')
  expect((await userinfo(url, before.accessToken)).status).to.equal(200)
  const { status, body } = await refresh(url, before.refreshToken)
  expect([status, body.error]).to.deep.equal([200, undefined])
  expect((await introspect(url, body.access_token)).body.active).to.equal(true)
  expect((await redeem(url, before.code)).status).to.equal(200)
}
