import { expect } from 'chai'
import fc from 'fast-check'
import { Redis } from 'ioredis'

import { readConfig } from '../src/config/config.ts'
import { makeAttemptLimits } from '../src/directory/people/attempt-limits.ts'
import { networkOf, wideNetworkOf } from '../src/platform/limits/client-network.ts'
import { makeLimits } from '../src/platform/limits/limits.ts'
import type { Database } from '../src/platform/store/database.ts'
import { openSharedCounts } from '../src/platform/store/shared-counts.ts'
import { configFolder } from './support/gatehouse.ts'
import { startRedis } from './support/redis.ts'
import { requireProgram } from './support/skipped.ts'
import { describeOnServers } from './support/stores-of-run.ts'

const failureWindowSeconds = 900
const { service } = readConfig({}, configFolder)
const policy = {
  ...service,
  signIn: {
    ...service.signIn,
    failuresPerAccountAndAddressMax: 3,
    failuresPerAccountMax: 5,
    failuresPerAddressMax: 7,
    reservedAttemptsPerNetworkMax: 1,
    reservedAttemptsPerAccountMax: 4,
    failureWindowSeconds,
  },
}

/** The limits as one process has them; several count together in Redis. */
function limitsOf(redis?: Redis) {
  const database = { engine: 'sqlite' } as Database
  const shared = openSharedCounts({ database, redis }, false)
  const requestLimits = makeLimits({ policy, shared, now: Date.now })
  const limits = makeAttemptLimits(requestLimits)
  return {
    size: requestLimits.size,
    begin: async (attempt: Attempt) => {
      const begun = await limits.begin(attempt)
      return 'waitSeconds' in begun ? begun.waitSeconds : undefined
    },
    /** An attempt that is no failure after all. */
    async beginAndGiveBack(attempt: Attempt) {
      const begun = await limits.begin(attempt)
      if ('waitSeconds' in begun) return begun.waitSeconds
      await limits.giveBack(begun.taken)
      return undefined
    },
  }
}

const sam = 'sam@northlight.example'
const address = '192.0.2.1'

/** The limits in one process, and as several processes share them. */
function limitsSuite(start: (context: Mocha.Context) => Promise<LimitsInUse>): void {
  const begin = async (limits: Limits, count: number, of: (turn: number) => Attempt) => {
    const answers = []
    for (let turn = 0; turn < count; turn += 1) answers.push(await limits.begin(of(turn)))
    return answers.filter((wait) => wait === undefined).length
  }

  it('lets the configured number of failures of one account from one address through', async function () {
    await using use = await start(this)
    expect(await begin(use.limits, 20, () => ({ login: sam, address }))).to.equal(3)
    const wait = await use.limits.begin({ login: sam, address })
    expect(wait).to.be.within(1, failureWindowSeconds)
    const elsewhere = await use.limits.begin({ login: sam, address: '198.51.100.7' })
    expect(elsewhere, 'the person elsewhere is not locked out').to.equal(undefined)
  })

  it('of one account from everywhere', async function () {
    await using use = await start(this)
    const of = (turn: number) => ({ login: sam, address: `192.0.2.${turn}` })
    expect(await begin(use.limits, 20, of)).to.equal(5)
  })

  it('of all accounts from one address, whether they exist or not', async function () {
    await using use = await start(this)
    const of = (turn: number) => ({ login: `${turn}@nowhere.example`, address })
    expect(await begin(use.limits, 20, of)).to.equal(7)
  })

  it('of all addresses of one IPv6 network (CVE-2026-45364)', async function () {
    await using use = await start(this)
    const of = (turn: number) => ({ login: `${turn}@x.example`, address: `2001:db8::${turn}` })
    expect(await begin(use.limits, 20, of)).to.equal(7)
  })

  // [threat 4]
  it('lets no parallel guess slip past', async function () {
    await using use = await start(this)
    const guesses = Array.from({ length: 50 }, () => use.limits.begin({ login: sam, address }))
    const free = (await Promise.all(guesses)).filter((wait) => wait === undefined)
    expect(free).to.have.lengthOf(3)
  })

  it('gives back what was no failure', async function () {
    await using use = await start(this)
    const attempt = { login: sam, address }
    for (let turn = 0; turn < 30; turn += 1) {
      expect(await use.limits.beginAndGiveBack(attempt), `turn ${turn}`).to.equal(undefined)
    }
    expect(await begin(use.limits, 20, () => attempt)).to.equal(3)
  })

  it('lets attempts from networks that have not failed through for a while longer', async function () {
    await using use = await start(this)
    const ofFew = (turn: number) => ({ login: sam, address: `192.0.${turn % 2}.${turn}` })
    expect(await begin(use.limits, 20, ofFew)).to.equal(5)
    expect(await use.limits.begin({ login: sam, address: '192.0.1.77' })).to.be.a('number')
    const fresh = (turn: number) => ({ login: sam, address: `198.51.${turn}.1` })
    expect(await use.limits.beginAndGiveBack(fresh(0)), 'the right password').to.equal(undefined)
    expect(await begin(use.limits, 20, fresh)).to.equal(4)
  })

  it('keeps a browser that is known out for its own failures only', async function () {
    await using use = await start(this)
    const strangers = (turn: number) => ({ login: sam, address: `192.0.${turn}.1` })
    await begin(use.limits, 40, strangers)
    const known = { login: sam, address: '192.0.1.1', browserId: 'one' }
    expect(await begin(use.limits, 40, () => known)).to.equal(
      policy.signIn.failuresPerKnownBrowserMax,
    )
    expect(await use.limits.begin({ ...known, browserId: 'two' })).to.equal(undefined)
  })

  it('counts nothing of an account for an address that has nothing left (weakness 4)', async function () {
    await using use = await start(this)
    const of = (turn: number) => ({ login: `${turn}@x.example`, address })
    await begin(use.limits, 7, of)
    const before = use.size()
    expect(await begin(use.limits, 2000, (turn) => of(turn + 100))).to.equal(0)
    expect(use.size() - before).to.be.at.most(4)
  })
}

type Limits = ReturnType<typeof limitsOf>
type Attempt = Parameters<ReturnType<typeof makeAttemptLimits>['begin']>[0]
interface LimitsInUse extends AsyncDisposable {
  readonly limits: Limits
  /** How many keys are counted. */
  readonly size: () => number
}

const inUse = (limits: Limits) => ({ limits, size: limits.size })

describe('attempt limits in one process', () => {
  limitsSuite(async () => ({ ...inUse(limitsOf()), async [Symbol.asyncDispose]() {} }))
})

describeOnServers('attempt limits with Redis', () => {
  limitsSuite(async (context) => {
    const server = await startRedis(requireProgram(context, 'redis-server'))
    const redis = new Redis(server.port, '127.0.0.1')
    return {
      ...inUse(limitsOf(redis)),
      async [Symbol.asyncDispose]() {
        redis.disconnect()
        await server[Symbol.asyncDispose]()
      },
    }
  })

  it('several processes count together, and keep neither address nor account in clear', async function () {
    await using server = await startRedis(requireProgram(this, 'redis-server'))
    const connections = [1, 2].map(() => new Redis(server.port, '127.0.0.1'))
    const [one, two] = connections.map((redis) => limitsOf(redis))
    const attempt = { login: sam, address }
    let free = 0
    for (let turn = 0; turn < 5; turn += 1) {
      for (const limits of [one, two]) {
        if ((await limits?.begin(attempt)) === undefined) free += 1
      }
    }
    expect(free).to.equal(3)
    expect(String(await server.ask('KEYS', '*'))).to.not.include('sam')
    for (const redis of connections) redis.disconnect()
  })

  it('each counts by itself while Redis is out of reach', async function () {
    await using server = await startRedis(requireProgram(this, 'redis-server'))
    const redis = new Redis(server.port, '127.0.0.1', {
      ...{ enableOfflineQueue: false, maxRetriesPerRequest: 0, retryStrategy: () => null },
    })
    redis.on('error', () => {})
    const limits = limitsOf(redis)
    const attempt = { login: sam, address }
    expect(await limits.begin(attempt)).to.equal(undefined)
    await server.kill()
    const answers = []
    for (let turn = 0; turn < 10; turn += 1) answers.push(await limits.begin(attempt))
    expect(answers.filter((wait) => wait === undefined).length).to.be.within(1, 3)
    expect(answers.at(-1)).to.be.a('number')
    redis.disconnect()
  })
})

describe('attempt limits: which network an address counts for', () => {
  for (const [written, network] of [
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:4711', '192.0.2.1'],
    [' 192.0.2.1 ', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:4711', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::', '2001:db8:1:2'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2'],
    ['[2001:db8:1:2::9]:443', '2001:db8:1:2'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['fe80::1%eth1', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['unknown', 'unknown'],
    ['', ''],
  ] as const) {
    it(`${JSON.stringify(written)} counts for ${JSON.stringify(network)}`, () => {
      expect(networkOf(written)).to.equal(network)
    })
  }

  it('every address of a /64 is one, in whatever spelling, and those of two are two', () => {
    const half = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 4, maxLength: 4 })
    fc.assert(
      fc.property(half, half, half, (network, one, two) => {
        fc.pre(network.some((group) => group > 0))
        const spell = (groups: number[], digits: number) =>
          groups.map((group) => group.toString(16).padStart(digits, '0')).join(':')
        const short = networkOf(spell([...network, ...one], 0))
        expect(networkOf(spell([...network, ...two], 4).toUpperCase())).to.equal(short)
        const other = [(network[0] ?? 0) ^ 1, ...network.slice(1)]
        fc.pre(other.some((group) => group > 0))
        expect(networkOf(spell([...other, ...one], 0))).to.not.equal(short)
      }),
    )
  })

  it('and in which wide network that is: what is rented or handed out together', () => {
    for (const [one, other] of [
      ['192.0.2.1', '192.0.2.200'],
      ['::ffff:192.0.2.1', '192.0.2.9'],
      ['2001:db8:1:2::1', '2001:db8:1:ffff::1'],
    ] as const) {
      expect(wideNetworkOf(one), one).to.equal(wideNetworkOf(other))
    }
    expect(wideNetworkOf('192.0.2.1')).to.not.equal(wideNetworkOf('192.0.3.1'))
    expect(wideNetworkOf('2001:db8:1::1')).to.not.equal(wideNetworkOf('2001:db8:2::1'))
  })

  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void wideNetworkOf(text)))
    fc.assert(fc.property(fc.ipV6(), (text) => void networkOf(text)))
  })
})
