import { setTimeout as delay } from 'node:timers/promises'

import { decodeJwt } from 'jose'
import * as oidc from 'openid-client'

import { makeClockWatch } from '../../src/platform/store/clock.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import {
  authorizeUrl,
  exchange,
  introspect,
  obtainCode,
  obtainTokens,
  redeem,
  refresh,
  revoke,
  userinfo,
} from '../support/client.ts'
import { policyWith, sam } from '../support/gatehouse.ts'
import { submitPage } from '../support/page-person.ts'
import {
  configWith,
  dataFolderWithDemo,
  type Pair,
  patientService,
  startBalancedPair,
  startPair,
  startProcess,
  type Variables,
  withClock,
} from '../support/process.ts'
import { eventually } from '../support/programs.ts'
import { startRedisCluster } from '../support/redis.ts'
import { getTokens } from '../support/relying-party.ts'
import { shared } from '../support/shared.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo, SECRET, sharedDemo, sharedRedis } from '../support/storages.ts'
import { type Answer, refusalOf } from '../support/wire.ts'

describe('several processes on one PostgreSQL and one Redis', () => {
  const [redis, demo] = [sharedRedis(), sharedDemo()]
  const pair = shared(async () => await startBalancedPair({ ...demo(), REDIS_URL: redis().url }))

  function at(process: { readonly url: string }, url: URL | string): URL {
    const { pathname, search } = new URL(url, process.url)
    return new URL(pathname + search, process.url)
  }

  it('share an interaction and the session: authorize at A, sign in at B, consent at A, exchange at B, refresh at A', async () => {
    const { first, second, url: resource } = pair()
    const person = makeHeadlessPerson(sam)
    const url = authorizeUrl(resource)
    const login = await follow(person.open(at(first, url)))
    const signedIn = await follow(submitPage(person, at(second, login), sam))
    const consent = await follow(person.open(at(first, signedIn)))
    expect(consent).to.match(/\/consent$/)
    const consented = await follow(submitPage(person, at(first, consent)))
    const callback = new URL(await follow(person.open(at(second, consented))))
    const code = callback.searchParams.get('code') ?? ''
    const exchanged = await exchange(second.url, code, { resource })
    expect(exchanged.status).to.equal(200)
    expect((await refresh(first.url, exchanged.body.refresh_token)).status).to.equal(200)
    for (const process of [first, second])
      expect(await follow(person.open(at(process, url)))).not.to.match(/\/login$/)
  })

  // [threat 13; 85]
  it('refuse at A at once what was revoked at B [design 12]', async () => {
    const { first, second, url } = pair()
    const { access_token, refresh_token = '' } = (await getTokens(url)).tokens
    expect((await userinfo(first.url, access_token)).status).to.equal(200)
    expect((await revoke(second.url, refresh_token)).status).to.equal(200)
    expect((await userinfo(first.url, access_token)).status).to.equal(401)
    expect((await introspect(first.url, access_token)).body).to.deep.equal({ active: false })
    expect(refusalOf(await refresh(first.url, refresh_token))).to.equal('400 invalid_grant')
  })
})

it('a process on a Redis Cluster serves the whole flow, and revocation ends it', async function () {
  await using cluster = await startRedisCluster(requireProgram(this, 'redis-server'))
  const variables = { SECRET, REDIS_CLUSTER_NODES: cluster.addresses.join(',') }
  await using service = await startProcess(variables, patientService)
  const { configuration, tokens } = await getTokens(service.url)
  const refreshed = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
  expect((await introspect(service.url, refreshed.access_token)).body.active).to.equal(true)
  await oidc.tokenRevocation(configuration, refreshed.refresh_token ?? '')
  for (const { access_token } of [tokens, refreshed])
    expect((await userinfo(service.url, access_token)).status).to.equal(401)
  const sizes = await Promise.all(cluster.nodes.map((node) => node.ask('DBSIZE')))
  expect(sizes.filter((size) => Number(size) > 0)).to.have.length.greaterThan(1)
})

async function follow(answer: Promise<Response>): Promise<string> {
  const { status, headers } = await answer
  expect(status).to.equal(303)
  return headers.get('location') ?? ''
}

const PARALLEL = 50

async function inParallel({ first, second }: Pair, call: (address: string) => Promise<Answer>) {
  const addresses = Array.from({ length: PARALLEL }, (_, i) => (i % 2 ? first : second).url)
  return await Promise.all(addresses.map(call))
}

const count = (answers: readonly Answer[]) =>
  [...Map.groupBy(answers, refusalOf)].map(([refusal, all]) => `${all.length} × ${refusal}`).sort()

function races(stores: string, storageOf: (test: Mocha.Context) => Promise<Variables>): void {
  describe(`races between two processes on ${stores}`, function () {
    this.retries(0)
    const storage = shared(async function () {
      return await storageOf(this)
    })
    const pair = shared(async () => await startPair(storage()))
    const impatient = shared(async () => {
      const CONFIG_DIR = configWith(policyWith({ lifetimes: { refreshRetrySeconds: 1 } }))
      return await startPair({ ...storage(), CONFIG_DIR })
    })

    // [RFC 6749 §4.1.2; RFC 6749 §10.5; threat 9]
    it('let exactly one of 50 parallel exchanges of a code succeed [design 11]', async () => {
      for (let round = 0; round < 3; round += 1) {
        const code = await obtainCode(pair().first.url)
        const answers = await inParallel(pair(), (address) => redeem(address, code))
        const expected = ['1 × 200 undefined', `${PARALLEL - 1} × 400 invalid_grant`]
        expect(count(answers)).to.deep.equal(expected)
      }
    })

    it('answer 50 parallel uses of a refresh token with the same new tokens [design 10] [69]', async () => {
      let current = (await obtainTokens(pair().first.url)).refreshToken
      for (let round = 0; round < 3; round += 1) {
        const used = current
        const answers = await inParallel(pair(), (address) => refresh(address, used))
        expect(count(answers)).to.deep.equal([`${PARALLEL} × 200 undefined`])
        const families = answers.map(({ body }) => `${body.access_token} ${body.refresh_token}`)
        expect(new Set(families)).to.have.property('size', 1)
        const { access_token, refresh_token } = answers[0]?.body ?? {}
        for (const { url } of [pair().first, pair().second])
          expect((await introspect(url, access_token)).body.active).to.equal(true)
        expect(refresh_token).to.be.a('string').that.is.not.equal(used)
        current = refresh_token
      }
    })

    // [threat 10]
    it('end the grant when a replaced refresh token is used later [design 10]', async () => {
      const { first, second } = impatient()
      const { refreshToken } = await obtainTokens(first.url)
      const { body: next } = await refresh(first.url, refreshToken)
      const refusalAt = async (url: string, token: string) => refusalOf(await refresh(url, token))
      // Within the window of one second, this is a retry, which changes nothing.
      await eventually(20_000, async () =>
        expect(await refusalAt(second.url, refreshToken)).to.equal('400 invalid_grant'),
      )
      for (const { url } of [first, second])
        expect((await introspect(url, next.access_token)).body).to.deep.equal({ active: false })
      expect(await refusalAt(first.url, next.refresh_token)).to.equal('400 invalid_grant')
    })
  })
}

races('one SQLite file', async () => ({ DATA_DIR: await dataFolderWithDemo() }))
races('PostgreSQL', async (test) => await postgresWithDemo(requireProgram(test, 'postgres')))

const SKEW_SECONDS = 300
const LIFE_SECONDS = 4
/** Allows for times that are rounded to whole seconds, and for delays on a busy machine. */
const TOLERANCE_SECONDS = 2

// The clocks of the two processes are ten minutes apart, as on different machines (design 32).
describe('processes whose clocks are 5 minutes ahead and 5 minutes behind', () => {
  const demo = sharedDemo()
  /** The first process is ahead, the second behind. */
  const pair = shared(async () => {
    const lives = { authorizationCodeSeconds: LIFE_SECONDS, accessTokenSeconds: LIFE_SECONDS }
    const policy = policyWith({ lifetimes: lives, storage: { answerWithinMs: 450 } })
    const commands = [withClock(SKEW_SECONDS), withClock(-SKEW_SECONDS)]
    return await startBalancedPair({ ...demo(), CONFIG_DIR: configWith(policy) }, commands)
  })

  /** Runs the check in both directions at once, because each direction waits for lifetimes to end. */
  async function both(check: (one: string, other: string) => Promise<void>): Promise<void> {
    const { first, second } = pair()
    await Promise.all([check(first.url, second.url), check(second.url, first.url)])
  }

  const redeemAt = async (url: string, code: string) =>
    await exchange(url, code, { resource: pair().url })

  it('accept a benign retry of a refresh at the other process [design 10]', async () => {
    await both(async (one, other) => {
      const { refreshToken } = await obtainTokens(pair().url)
      const first = await refresh(one, refreshToken)
      const again = await refresh(other, refreshToken)
      expect([first.status, again.status]).to.deep.equal([200, 200])
      expect(again.body.refresh_token).to.equal(first.body.refresh_token)
      expect((await refresh(one, again.body.refresh_token)).status).to.equal(200)
    })
  })

  it('keep the grant when a page runs its callback twice [design 11]', async () => {
    await both(async (one, other) => {
      const { code } = await obtainCode(pair().url)
      const first = await redeemAt(one, code)
      expect([first.status, (await redeemAt(other, code)).status]).to.deep.equal([200, 400])
      expect((await refresh(other, first.body.refresh_token)).status).to.equal(200)
    })
  })

  it('accept a code for its lifetime and no longer [RFC 6749 §4.1.2]', async () => {
    await both(async (one, other) => {
      expect((await redeemAt(other, await codeOf(one))).status).to.equal(200)
      const late = await codeOf(one)
      await delay((LIFE_SECONDS + TOLERANCE_SECONDS) * 1000)
      expect(refusalOf(await redeemAt(other, late))).to.equal('400 invalid_grant')
    })
  })

  it('end an access token at the true time, and use true time for its dates and those of the id_token', async () => {
    await both(async (one, other) => {
      const { body } = await redeemAt(one, await codeOf(one))
      const issuedMs = Date.now()
      const { iat, exp, active } = (await introspect(other, body.access_token)).body
      expect([active, exp - iat]).to.deep.equal([true, LIFE_SECONDS])
      expect(iat).to.be.closeTo(issuedMs / 1000, TOLERANCE_SECONDS)
      const idToken = decodeJwt(body.id_token)
      expect(idToken.iat).to.be.closeTo(issuedMs / 1000, TOLERANCE_SECONDS)
      expect(idToken.exp).to.be.greaterThan(issuedMs / 1000)
      await eventually(20_000, async () => {
        expect((await introspect(other, body.access_token)).body.active).to.equal(false)
      })
      expect((Date.now() - issuedMs) / 1000).to.be.closeTo(LIFE_SECONDS, TOLERANCE_SECONDS)
    })
  })

  it('log the difference', () => {
    const [ahead, behind] = [pair().first, pair().second].map(({ output }) => output.soFar())
    expect(ahead).to.match(/The clock of this machine is 30\d\.\d s ahead of the database clock/)
    const said = /The clock of this machine is (29\d|300)\.\d s behind the database clock/
    expect(behind).to.match(said)
  })

  async function codeOf(url: string): Promise<string> {
    const { pathname, search } = authorizeUrl(pair().url)
    const answer = await (await obtainCode(pair().url)).person.open(new URL(pathname + search, url))
    return new URL(answer.headers.get('location') ?? 'none:').searchParams.get('code') ?? ''
  }
})

it('a machine clock that drifts is logged once, and so is its correction', async () => {
  const lines: string[] = []
  const add = (line: unknown) => void lines.push(String(line))
  const differences = [0, -1900, 2500, 3000, 10, 0]
  const watch = makeClockWatch(async () => differences.shift() ?? 0, { warn: add, info: add })
  const seen: number[] = []
  while (differences.length > 0) {
    await watch()
    seen.push(lines.length)
  }
  expect(seen).to.deep.equal([0, 0, 1, 1, 2, 2])
  expect(lines[0]).to.include('2.5 s ahead of the database clock')
  expect(lines[1]).to.include('matches the database clock again')
})
