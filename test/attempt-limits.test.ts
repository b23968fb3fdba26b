import fc from 'fast-check'
import { Redis } from 'ioredis'

import { readConfig } from '../src/config/config.ts'
import { makeAttemptLimits } from '../src/directory/people/attempt-limits.ts'
import { networkOf, wideNetworkOf } from '../src/platform/limits/client-network.ts'
import { makeLimits } from '../src/platform/limits/limits.ts'
import type { Database } from '../src/platform/store/database.ts'
import { openSharedCounts } from '../src/platform/store/shared-counts.ts'
import { configFolder, policyWith } from './support/gatehouse.ts'
import { startRedis } from './support/redis.ts'
import { fresh } from './support/shared.ts'
import { describeOnServers, sharedProgram } from './support/skipped.ts'

const failureWindowSeconds = 900
const signIn = {
  ...{ failuresPerAccountAndAddressMax: 3, failuresPerAccountMax: 5, failuresPerAddressMax: 7 },
  ...{ reservedAttemptsPerNetworkMax: 1, reservedAttemptsPerAccountMax: 4, failureWindowSeconds },
}
const policy = policyWith({ signIn })(readConfig({}, configFolder).service)

type Attempt = Parameters<ReturnType<typeof makeAttemptLimits>['begin']>[0]

function limitsOf(redis?: Redis) {
  const shared = openSharedCounts({ database: { engine: 'sqlite' } as Database, redis }, false)
  const requestLimits = makeLimits({ policy, shared, now: Date.now })
  const limits = makeAttemptLimits(requestLimits)
  return {
    size: requestLimits.size,
    /** Begins an attempt, and refunds its points if `succeeds`. Returns the seconds to wait if the attempt is refused. */
    async begin(attempt: Attempt, succeeds = false) {
      const begun = await limits.begin(attempt)
      if ('waitSeconds' in begun) return begun.waitSeconds
      if (succeeds) await limits.giveBack(begun.taken)
      return undefined
    },
    [Symbol.asyncDispose]: async () => redis?.disconnect(),
  }
}

type Limits = ReturnType<typeof limitsOf>

const sam = 'sam@northlight.example'
const address = '192.0.2.1'
const attempt = { login: sam, address }

async function begin(limits: Limits, count: number, of: (turn: number) => Attempt) {
  let free = 0
  for (let turn = 0; turn < count; turn += 1) {
    if ((await limits.begin(of(turn))) === undefined) free += 1
  }
  return free
}

const ofAnyAccount = (turn: number) => ({ login: `${turn}@nowhere.example`, address })
const ofOneNetwork = (turn: number) => ({ ...ofAnyAccount(turn), address: `2001:db8::${turn}` })

function limitsSuite(start: () => Limits): void {
  for (const [title, of, max] of [
    ['one account from one address', () => attempt, 3],
    ['one account', (turn: number) => ({ login: sam, address: `192.0.2.${turn}` }), 5],
    ['all accounts from one address, known or not', ofAnyAccount, 7],
    ['all addresses of one IPv6 network (CVE-2026-45364)', ofOneNetwork, 7],
  ] as const) {
    it(`admit ${max} failures of ${title}`, async () => {
      await using limits = start()
      expect(await begin(limits, 20, of)).to.equal(max)
      expect(await limits.begin(of(0))).to.be.within(1, failureWindowSeconds)
    })
  }

  // [threat 4]
  it('count parallel guesses, but do not lock a person out elsewhere', async () => {
    await using limits = start()
    const guesses = Array.from({ length: 50 }, () => limits.begin(attempt))
    expect((await Promise.all(guesses)).filter((wait) => wait === undefined)).to.have.lengthOf(3)
    expect(await limits.begin({ login: sam, address: '198.51.100.7' })).to.equal(undefined)
  })

  it('do not count successes', async () => {
    await using limits = start()
    for (let turn = 0; turn < 30; turn += 1)
      expect(await limits.begin(attempt, true), `turn ${turn}`).to.equal(undefined)
    expect(await begin(limits, 20, () => attempt)).to.equal(3)
  })

  it('reserve attempts for networks without failures', async () => {
    await using limits = start()
    const ofFew = (turn: number) => ({ login: sam, address: `192.0.${turn % 2}.${turn}` })
    expect(await begin(limits, 20, ofFew)).to.equal(5)
    expect(await limits.begin({ login: sam, address: '192.0.1.77' })).to.be.a('number')
    const fresh = (turn: number) => ({ login: sam, address: `198.51.${turn}.1` })
    expect(await limits.begin(fresh(0), true), 'the right password').to.equal(undefined)
    expect(await begin(limits, 20, fresh)).to.equal(4)
  })

  it('count only its own failures against a known browser', async () => {
    await using limits = start()
    await begin(limits, 40, (turn) => ({ login: sam, address: `192.0.${turn}.1` }))
    const known = { login: sam, address: '192.0.1.1', browserId: 'one' }
    expect(await begin(limits, 40, () => known)).to.equal(policy.signIn.failuresPerKnownBrowserMax)
    expect(await limits.begin({ ...known, browserId: 'two' })).to.equal(undefined)
  })

  it('do not store account counts for an exhausted address (weakness 4)', async () => {
    await using limits = start()
    await begin(limits, 7, ofAnyAccount)
    const before = limits.size()
    expect(await begin(limits, 2000, (turn) => ofAnyAccount(turn + 100))).to.equal(0)
    expect(limits.size() - before).to.be.at.most(4)
  })
}

describe('attempt limits in one process', () => limitsSuite(limitsOf))

describeOnServers('attempt limits with Redis', () => {
  const file = sharedProgram('redis-server')
  const server = fresh(async () => await startRedis(file()))

  limitsSuite(() => limitsOf(new Redis(server().port, '127.0.0.1')))

  it('are shared by processes, and store neither address nor account in clear text', async () => {
    await using one = limitsOf(new Redis(server().port, '127.0.0.1'))
    await using two = limitsOf(new Redis(server().port, '127.0.0.1'))
    let free = 0
    for (let turn = 0; turn < 5; turn += 1) {
      for (const limits of [one, two]) free += await begin(limits, 1, () => attempt)
    }
    expect(free).to.equal(3)
    expect(String(await server().ask('KEYS', '*'))).to.not.include('sam')
  })
})

describe('attempt limits: the network of an address', () => {
  for (const [written, network] of [
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:4711', '192.0.2.1'],
    [' 192.0.2.1 ', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:4711', '192.0.2.1'],
    ['2001:db8:1:2::', '2001:db8:1:2'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2'],
    ['[2001:db8:1:2::9]:443', '2001:db8:1:2'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['fe80::1%eth1', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['unknown', 'unknown'],
    ['', ''],
  ] as const) {
    it(`${JSON.stringify(written)} is in ${JSON.stringify(network)}`, () => {
      expect(networkOf(written)).to.equal(network)
    })
  }

  it('is the /64 of IPv6 in any spelling', () => {
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

  it('belongs to a wide network, which groups addresses that are rented together', () => {
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
