import { expect } from 'chai'

import { introspect, obtainCode, redeem, refresh } from '../support/client.ts'
import {
  configWith,
  dataFolderWithDemo,
  type Pair,
  patientService,
  startPair,
  type Variables,
} from '../support/process.ts'
import { eventually } from '../support/programs.ts'
import { startRedis } from '../support/redis.ts'
import { getTokens } from '../support/relying-party.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo } from '../support/storages.ts'
import type { Answer } from '../support/wire.ts'

const PARALLEL = 50

/** As many at the same time, half of them at each process. */
async function inParallel(
  { first, second }: Pair,
  call: (address: string) => Promise<Answer>,
): Promise<Answer[]> {
  const addresses = Array.from({ length: PARALLEL }, (_, i) => (i % 2 ? first : second).url)
  return await Promise.all(addresses.map(call))
}

function count(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of answers) {
    const key = `${status} ${body.error ?? ''}`.trim()
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

function races(storageOf: (test: Mocha.Context) => Promise<Variables>): void {
  let pair: Pair
  let impatient: Pair
  before(async function () {
    const storage = await storageOf(this)
    pair = await startPair(storage, patientService)
    const CONFIG_DIR = configWith((policy) => ({
      ...policy,
      lifetimes: { ...policy.lifetimes, refreshRetrySeconds: 1 },
    }))
    impatient = await startPair({ ...storage, CONFIG_DIR }, patientService)
  })
  after(async () => {
    await pair?.[Symbol.asyncDispose]()
    await impatient?.[Symbol.asyncDispose]()
  })

  // [RFC 6749 §4.1.2; RFC 6749 §10.5; threat 9]
  it('lets exactly one of 50 parallel exchanges of one code succeed [design 11]', async () => {
    for (let round = 0; round < 3; round += 1) {
      const code = await obtainCode(pair.first.url)
      const answers = await inParallel(pair, (address) => redeem(address, code))
      expect(count(answers)).to.deep.equal({ '200': 1, '400 invalid_grant': PARALLEL - 1 })
    }
  })

  // [69]
  it('makes one family of 50 parallel uses of one refresh token [design 10]', async () => {
    const { tokens } = await getTokens(pair.first.url)
    let current = tokens.refresh_token ?? ''
    for (let round = 0; round < 3; round += 1) {
      const used = current
      const answers = await inParallel(pair, (address) => refresh(address, used))
      expect(count(answers)).to.deep.equal({ '200': PARALLEL })
      const families = new Set(
        answers.map(({ body }) => `${body.access_token} ${body.refresh_token}`),
      )
      expect(families.size).to.equal(1)
      const [answer] = answers
      for (const { url } of [pair.first, pair.second]) {
        const { body } = await introspect(url, answer?.body.access_token)
        expect(body.active).to.equal(true)
      }
      expect(answer?.body.refresh_token).to.be.a('string').that.is.not.equal(used)
      current = answer?.body.refresh_token
    }
  })

  it('gives a client that repeats a refresh within seconds the same answer in the other process [design 10]', async () => {
    const { tokens } = await getTokens(pair.first.url)
    const answer = await refresh(pair.first.url, tokens.refresh_token ?? '')
    const retry = await refresh(pair.second.url, tokens.refresh_token ?? '')
    expect(retry.status).to.equal(200)
    expect(retry.body).to.deep.equal(answer.body)
  })

  // [threat 10]
  it('ends the grant when a replaced refresh token is used later [design 10]', async () => {
    const { tokens } = await getTokens(impatient.first.url)
    const replaced = tokens.refresh_token ?? ''
    const { body: next } = await refresh(impatient.first.url, replaced)
    // Until the window of one second is over it is a retry, which changes nothing.
    await eventually(20_000, async () => {
      const late = await refresh(impatient.second.url, replaced)
      expect(count([late])).to.deep.equal({ '400 invalid_grant': 1 })
    })
    for (const { url } of [impatient.first, impatient.second]) {
      expect((await introspect(url, next.access_token)).body).to.deep.equal({ active: false })
    }
    const { status, body } = await refresh(impatient.first.url, next.refresh_token)
    expect([status, body.error]).to.deep.equal([400, 'invalid_grant'])
  })
}

describe('races between two processes on one SQLite file', function () {
  this.retries(0)
  races(async () => ({ DATA_DIR: await dataFolderWithDemo() }))
})

describe('races between two processes on PostgreSQL', function () {
  this.retries(0)
  races(async (test) => await postgresWithDemo(requireProgram(test, 'postgres')))
})

describe('races between two processes on PostgreSQL and Redis', function () {
  this.retries(0)
  const redis = new AsyncDisposableStack()
  after(() => redis.disposeAsync())
  races(async (test) => {
    const { url } = redis.use(await startRedis(requireProgram(test, 'redis-server')))
    return { ...(await postgresWithDemo(requireProgram(test, 'postgres'))), REDIS_URL: url }
  })
})
