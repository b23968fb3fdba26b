import { sql } from 'kysely'

import { pages, paths } from '../../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import {
  authorizeUrl,
  introspect,
  obtainCode,
  obtainTokens,
  openAuthorization,
  redeem,
  refresh,
  revoke,
  userinfo,
} from '../support/client.ts'
import { type RunningService, sam, startService } from '../support/gatehouse.ts'
import { inTime } from '../support/in-time.ts'
import { askMember, memberToken, readOnly } from '../support/member-api.ts'
import { targetOf } from '../support/page-person.ts'
import { connectTo, startPostgres } from '../support/postgres.ts'
import { startProcess, type Variables } from '../support/process.ts'
import { eventually } from '../support/programs.ts'
import type { RedisServer } from '../support/redis.ts'
import { shared } from '../support/shared.ts'
import { requireProgram, sharedProgram } from '../support/skipped.ts'
import { SECRET, sharedDemo, sharedRedis } from '../support/storages.ts'
import { type Answer, answerOf, expectAnswer, get, refusalOf } from '../support/wire.ts'

/** Design 24 requires a response within half a second. */
const ANSWER_WITHIN_MS = 500
const RECOVERED_WITHIN_MS = 1_000

type Store = Pick<RedisServer, 'freeze' | 'thaw' | 'kill' | 'restart'>

const failures = [
  ['is killed', (store: Store) => store.kill(), (store: Store) => store.restart()],
  ['hangs', async (store: Store) => store.freeze(), async (store: Store) => store.thaw()],
] as const

describe('storage out of reach [design 24]', function () {
  // On a busy machine, a process may need more than a second to recover.
  this.retries(2)
  // With these options, Redis keeps acknowledged writes when it is killed, as a Redis for OAuth state should.
  const redis = sharedRedis(['--appendonly', 'yes', '--appendfsync', 'always'])
  const file = sharedProgram('postgres')
  const postgres = shared(async () => await startPostgres(file(), ['synchronous_commit=on']))
  const databaseUrl = shared(async () => await postgres().createDatabase('demo'))
  const start = async (more: Variables) =>
    await startProcess({ SECRET, DATABASE_URL: databaseUrl(), DEMO_DATA: 'on', ...more })
  const withRedis = shared(async () => await start({ REDIS_URL: redis().url }))
  const withoutRedis = shared(async () => await start({}))

  for (const [how, fail, mend] of failures) {
    // [threat 32]
    it(`when Redis ${how}: 503 in time for sign-in, codes and tokens work, and all recovers`, async () => {
      const { url } = withRedis()
      const before = await prepare(url)
      const other = await obtainTokens(url)
      const otherCode = await obtainCode(url)
      await fail(redis())
      try {
        const exchanged = await inTime(ANSWER_WITHIN_MS, () => redeem(url, otherCode))
        expect(refusalOf(exchanged)).to.equal('200 undefined')
        // Issued tokens need no Redis, because the service verifies them against the database (decision 13).
        expect((await userinfo(url, other.accessToken)).status).to.equal(200)
        expect((await introspect(url, other.accessToken)).body.active).to.equal(true)
        const viewer = { query: '{ viewer { id } }' }
        expectAnswer(await askMember({ url, token: other.accessToken }, viewer), 200, 'per_sam')
        const refreshed = await refreshAt(url, other.refreshToken)
        expect((await revoke(url, refreshed.access_token)).status).to.equal(200)
        expect((await userinfo(url, other.accessToken)).status).to.equal(401)
        await expectAlive(url)
        // The client is in the database, so the service can redirect the error to it.
        const request = authorizeUrl(url).href
        const answer = await inTime(ANSWER_WITHIN_MS, () => get(request, { accept: 'text/html' }))
        const location = new URL(answer.headers.get('location') ?? '')
        expect(location.origin).to.equal('https://notes.example')
        const said = { error: 'temporarily_unavailable', iss: url, state: 'the-state' }
        expect(Object.fromEntries(location.searchParams)).to.include(said)
        await expectPage(before.openPage)
      } finally {
        await mend(redis())
      }
      await expectRecovered(url, before)
    })

    for (const [kind, service] of Object.entries({ with: withRedis, without: withoutRedis })) {
      it(`when PostgreSQL ${how}, ${kind} Redis: 503 in time at every endpoint, and all recovers`, async () => {
        const { url } = service()
        const before = await prepare(url)
        await fail(postgres())
        try {
          const { accessToken, refreshToken } = before.tokens
          await expectUnavailable('refresh', () => refresh(url, refreshToken))
          await expectUnavailable('exchange', () => redeem(url, before.code))
          for (const ask of [userinfo, introspect, revoke])
            await expectUnavailable(ask.name, () => ask(url, accessToken))
          await expectAlive(url)
          await expectPage(() => makeHeadlessPerson(sam).open(authorizeUrl(url)))
          await expectPage(before.openPage)
        } finally {
          await mend(postgres())
        }
        await expectRecovered(url, before)
      })
    }
  }
})

describe('work that storage interrupts [design 10, design 24]', function () {
  this.retries(2)
  it('a refresh succeeds when it is repeated after PostgreSQL hung in the middle', async function () {
    await using postgres = await startPostgres(requireProgram(this, 'postgres'))
    const DATABASE_URL = await postgres.createDatabase('demo')
    await using service = await startProcess({ SECRET, DATABASE_URL, DEMO_DATA: 'on' })
    const obtained = await Array.fromAsync({ length: 6 }, () => obtainTokens(service.url))
    const families = obtained.map(({ refreshToken }) => refreshToken)
    for (let round = 0; round < 3; round += 1) {
      let answered = 0
      const refreshUntilFailure = async (_: string, family: number) => {
        for (;;) {
          const answer = await refresh(service.url, families[family] ?? '')
          if (answer.status !== 200) return refusalOf(answer)
          families[family] = answer.body.refresh_token
          answered += 1
          if (answered === 20 + 7 * round) postgres.freeze()
        }
      }
      const failed = await Promise.all(families.map(refreshUntilFailure))
      expect(failed).to.deep.equal(families.map(() => '503 temporarily_unavailable'))
      postgres.thaw()
      await expectReady(service.url)
      for (const [family, token] of families.entries())
        families[family] = (await refreshAt(service.url, token)).refresh_token
    }
  })

  async function whileFamiliesFail<Result>(
    event: 'insert' | 'update',
    { kysely }: RunningService,
    work: () => Promise<Result>,
  ): Promise<Result> {
    await sql`create trigger failing before ${sql.raw(event)} on refresh_token_family
      begin select raise(abort, 'disk'); end`.execute(kysely)
    const result = await work()
    await sql`drop trigger failing`.execute(kysely)
    return result
  }

  it('a refresh that was not written succeeds when repeated after the retry window', async () => {
    let time = Date.now()
    await using running = await startService({ now: () => time })
    const { url } = running
    const { refreshToken } = await obtainTokens(url)
    const failed = await whileFamiliesFail('update', running, () => refresh(url, refreshToken))
    expect(refusalOf(failed)).to.equal('503 temporarily_unavailable')
    time += 60_000
    const repeated = await refreshAt(url, refreshToken)
    // The client received this response, so a later use of the old refresh token counts as theft.
    time += 60_000
    expect((await refresh(url, refreshToken)).body.error).to.equal('invalid_grant')
    expect((await refresh(url, repeated.refresh_token)).body.error).to.equal('invalid_grant')
  })

  it('a code exchange that was not written succeeds when repeated', async () => {
    await using running = await startService()
    const { url } = running
    const code = await obtainCode(url)
    const failed = await whileFamiliesFail('insert', running, () => redeem(url, code))
    expect(refusalOf(failed)).to.equal('503 temporarily_unavailable')
    const repeated = await redeem(url, code)
    expect(refusalOf(repeated)).to.equal('200 undefined')
    expect((await userinfo(url, repeated.body.access_token)).status).to.equal(200)
    expect((await refresh(url, repeated.body.refresh_token)).status).to.equal(200)
  })

  it('a sign-in of our own pages completes when the page is loaded again', async () => {
    await using running = await startService()
    const person = makeHeadlessPerson(sam)
    const account = new URL(pages.account, running.url)
    const request = targetOf(await person.open(account), account)
    const callback = await person.authorize(request, new URL(pages.signedIn, account).href)
    const failed = await whileFamiliesFail('insert', running, () => person.open(callback))
    expect([failed.status, failed.headers.get('location')]).to.deep.equal([503, null])
    const again = await person.open(callback)
    expect([again.status, again.headers.get('location')]).to.deep.equal([303, pages.account])
    expect((await person.open(account)).status).to.equal(200)
  })
})

describe('the Member API while storage is out of reach', () => {
  const [redis, demo] = [sharedRedis(), sharedDemo()]
  const member = shared(async () => {
    const environment = { ...demo(), REDIS_URL: redis().url }
    const running = await startService({ environment, inTime: true })
    return { ...running, token: await memberToken(running.url, readOnly) }
  })

  const ask = async (query = '{ viewer { id } }') => {
    const { url, token } = member()
    return await askMember({ url, token }, { query })
  }

  async function expectUnavailableData(asking: () => Promise<Answer>): Promise<void> {
    // Design 24 allows 500 ms. The rest allows for a machine that runs many tests at once.
    const answer = await expectUnavailable('a query', asking, 900)
    expect(answer.body.data).to.equal(undefined)
    expect(answer.text).not.to.match(/127\.0\.0\.1|redis|postgres|course_purchase|timeout/i)
  }

  async function whileLocked(table: string, work: () => Promise<void>): Promise<void> {
    await using client = await connectTo(demo().DATABASE_URL)
    await client.query(`begin; lock table ${table} in access exclusive mode`)
    await work()
  }

  it('answers 503 in time, without a challenge, when it cannot check the token [Errors 7] [Errors 7.2]', async () => {
    await whileLocked('refresh_token_family', async () => await expectUnavailableData(ask))
    await eventually(20_000, async () => expect((await ask()).status).to.equal(200))
  })

  it('answers 503 in time when the database blocks after the token check [design 24]', async () => {
    const query = '{ viewer { id enrolledCourses { nodes { slug } totalCount } } }'
    await whileLocked('course_purchase', async () => {
      await expectUnavailableData(() => ask(query))
      expect((await ask()).status, 'a query without the locked table').to.equal(200)
    })
    await eventually(20_000, async () => expect((await ask(query)).status).to.equal(200))
  })
})

/** Refreshes a token, and expects success. */
async function refreshAt(url: string, token: string) {
  const answer = await refresh(url, token)
  expect(refusalOf(answer)).to.equal('200 undefined')
  return answer.body
}

async function prepare(url: string) {
  const person = makeHeadlessPerson(sam)
  const page = await openAuthorization(person, url)
  const openPage = async () => await person.open(page)
  return { tokens: await obtainTokens(url), code: await obtainCode(url), openPage }
}

async function expectUnavailable(
  name: string,
  request: () => Promise<Answer>,
  withinMs = ANSWER_WITHIN_MS,
): Promise<Answer> {
  const answer = await inTime(withinMs, request)
  const fields = ['retry-after', 'www-authenticate'].map((field) => answer.headers.get(field))
  const expected = ['503 temporarily_unavailable', '1', null]
  expect([refusalOf(answer), ...fields], name).to.deep.equal(expected)
  return answer
}

/** Expects that the process is alive but not ready, and that discovery works without storage. */
async function expectAlive(url: string): Promise<void> {
  const { openidConfiguration, authorizationServer, jwks, health } = paths
  for (const path of [openidConfiguration, authorizationServer, jwks, health])
    expect((await get(url + path)).status, path).to.equal(200)
  expect((await inTime(ANSWER_WITHIN_MS, () => get(url + paths.ready))).status).to.equal(503)
}

async function expectPage(open: () => Promise<Response>): Promise<void> {
  const page = await inTime(ANSWER_WITHIN_MS, async () => await answerOf(await open()))
  expectAnswer(page, 503, 'temporarily_unavailable')
  expect(page.headers.get('retry-after')).to.equal('1')
  expect(page.headers.get('content-type')).to.match(/^text\/html/)
}

async function expectReady(url: string): Promise<void> {
  await eventually(RECOVERED_WITHIN_MS, async () =>
    expect((await get(url + paths.ready)).status).to.equal(200),
  )
}

/** Expects that the service recovers within a second and has lost no token or code. */
async function expectRecovered(url: string, before: Awaited<ReturnType<typeof prepare>>) {
  const { tokens, code, openPage } = before
  const mendedAt = performance.now()
  await expectReady(url)
  expect(performance.now() - mendedAt).to.be.lessThan(RECOVERED_WITHIN_MS)
  expectAnswer(await answerOf(await openPage()), 200, 'name="password"')
  expect((await userinfo(url, tokens.accessToken)).status).to.equal(200)
  const refreshed = await refreshAt(url, tokens.refreshToken)
  expect((await introspect(url, refreshed.access_token)).body.active).to.equal(true)
  expect((await redeem(url, code)).status).to.equal(200)
}
