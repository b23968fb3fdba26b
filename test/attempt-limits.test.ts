import { expect } from 'chai'
import fc from 'fast-check'
import { Redis } from 'ioredis'

import { type AttemptPolicy, makeAttemptLimits } from '../src/people/attempt-limits.ts'
import { networkOf } from '../src/store/rate-limits.ts'
import { startRedis } from './support/redis.ts'
import { requireProgram } from './support/skipped.ts'

const policy: AttemptPolicy = {
  failuresPerAccountAndAddressMax: 3,
  failuresPerAccountMax: 5,
  failuresPerAddressMax: 7,
  failureWindowSeconds: 900,
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
    expect(wait).to.be.within(1, policy.failureWindowSeconds)
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

  it('lets no parallel guess slip past', async function () {
    await using use = await start(this)
    const guesses = Array.from({ length: 50 }, () => use.limits.begin({ login: sam, address }))
    const free = (await Promise.all(guesses)).filter((wait) => wait === undefined)
    expect(free).to.have.lengthOf(3)
  })

  it('gives back what succeeded, and the failures of that account and address with it', async function () {
    await using use = await start(this)
    const attempt = { login: sam, address }
    for (let turn = 0; turn < 30; turn += 1) {
      expect(await use.limits.begin(attempt), `turn ${turn}`).to.equal(undefined)
      await use.limits.succeeded(attempt)
    }
    expect(await begin(use.limits, 2, () => attempt)).to.equal(2)
    expect(await use.limits.begin(attempt)).to.equal(undefined)
    await use.limits.succeeded(attempt)
    // Two failures are left on the account, from wherever.
    const of = (turn: number) => ({ login: sam, address: `198.51.100.${turn}` })
    expect(await begin(use.limits, 20, of)).to.equal(3)
  })

  it('does not count an attempt whose password was not checked', async function () {
    await using use = await start(this)
    const attempt = { login: sam, address }
    for (let turn = 0; turn < 30; turn += 1) {
      expect(await use.limits.begin(attempt), `turn ${turn}`).to.equal(undefined)
      await use.limits.unchecked(attempt)
    }
    expect(await begin(use.limits, 20, () => attempt)).to.equal(3)
  })
}

type Limits = ReturnType<typeof makeAttemptLimits>
type Attempt = Parameters<Limits['begin']>[0]
interface LimitsInUse extends AsyncDisposable {
  readonly limits: Limits
}

describe('attempt limits in one process', () => {
  limitsSuite(async () => ({
    limits: makeAttemptLimits(policy, 'process'),
    async [Symbol.asyncDispose]() {},
  }))
})

describe('attempt limits with Redis', () => {
  limitsSuite(async (context) => {
    const server = await startRedis(requireProgram(context, 'redis-server'))
    const redis = new Redis(server.port, '127.0.0.1')
    return {
      limits: makeAttemptLimits(policy, redis),
      async [Symbol.asyncDispose]() {
        redis.disconnect()
        await server[Symbol.asyncDispose]()
      },
    }
  })

  it('several processes count together, and keep neither address nor account in clear', async function () {
    await using server = await startRedis(requireProgram(this, 'redis-server'))
    const connections = [1, 2].map(() => new Redis(server.port, '127.0.0.1'))
    const [one, two] = connections.map((redis) => makeAttemptLimits(policy, redis))
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
    const limits = makeAttemptLimits(policy, redis)
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

  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void networkOf(text)))
    fc.assert(fc.property(fc.ipV6(), (text) => void networkOf(text)))
  })
})
