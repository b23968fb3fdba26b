import { expect } from 'chai'

import { type LoopbackClients, makeLoopbackClients } from '../src/oauth/clients/loopback-clients.ts'
import type { Database } from '../src/platform/store/database.ts'
import type { StateStore } from '../src/platform/store/oauth-state.ts'
import { redisState, sqlState } from '../src/platform/store/oauth-state.ts'
import { openDatabase } from '../src/platform/store/open-stores.ts'
import { openRedis } from '../src/platform/store/redis.ts'
import { cleanUpAt } from './support/clean-up.ts'
import { patiently, sqlitePlace, withDatabases } from './support/database.ts'
import { type RedisServer, startRedis } from './support/redis.ts'
import { requireProgram } from './support/skipped.ts'
import { describeOnServers } from './support/stores-of-run.ts'

const DAY_MS = 86_400_000
const UNUSED_SECONDS = 86_400
const IDLE_SECONDS = 90 * 86_400
const UNUSED_MAX = 3
const HERE = '192.0.2.7'

const registration = {
  name: 'A program',
  redirectUris: ['http://127.0.0.1:1/callback', 'http://localhost:1/callback'],
  grantTypes: ['authorization_code', 'refresh_token'],
  scope: 'openid',
} as const

interface Watched {
  readonly clients: LoopbackClients
  /** Writes since the start. */
  writes(): number
}

interface Stores {
  readonly state: StateStore
  readonly database: Database
}

/** Loopback clients on a store, with a look at how often they write to it. */
function watch(
  { state, database }: Stores,
  now: () => number,
  hosts = ['127.0.0.1', 'localhost'],
): Watched {
  const records = state.adapterFor('Client')
  let count = 0
  const clients = makeLoopbackClients({
    records: {
      find: async (id) => await records.find(id),
      async upsert(...record) {
        count += 1
        await records.upsert(...record)
      },
      destroy: async (id) => await records.destroy(id),
    },
    database,
    networkKey: Buffer.alloc(32, 1),
    registration: {
      unusedClientSeconds: UNUSED_SECONDS,
      unusedClientsPerNetworkMax: UNUSED_MAX,
      idleClientSeconds: IDLE_SECONDS,
    },
    loopbackHosts: hosts,
    now,
  })
  return { clients, writes: () => count }
}

interface Clock {
  readonly now: () => number
  readonly pass: () => void
}

/** Several networks register more than they may have; what somebody uses is nobody's to push out. */
async function giveWay(stores: Stores, { now, pass }: Clock): Promise<void> {
  const { clients } = watch(stores, now)
  const register = async (address: string) => {
    pass()
    return (await clients.register(registration, address)).clientId
  }
  const isKnown = async (id: string) => (await clients.find(id)) !== undefined
  const used = await register('2001:db8:0:1::1')
  await clients.use(used)
  const elsewhere = await register(HERE)
  const ids: string[] = []
  // Addresses of one /64 are one network.
  for (const host of [2, 3, 4, 5, 6]) ids.push(await register(`2001:db8:0:1::${host}`))
  const other = await register('2001:db8:0:2::1')
  const known = await Promise.all([used, elsewhere, ...ids, other].map(isKnown))
  const kept = known.filter(Boolean)
  expect(kept).to.have.lengthOf(UNUSED_MAX + 3)
  expect([known[0], known[1], known.at(-1)]).to.deep.equal([true, true, true])
}

withDatabases('loopback clients', (open) => {
  it('are found as they were registered', async () => {
    await using database = await open()
    const { clients } = watch({ state: sqlState(database), database }, Date.now)
    const { clientId, issuedAtSeconds } = await clients.register(registration, HERE)
    expect(issuedAtSeconds).to.be.closeTo(Date.now() / 1000, 5)
    expect(await clients.find(clientId)).to.include({
      clientId,
      origin: 'loopback',
      name: 'A program',
      applicationType: 'native',
      authMethod: 'none',
      state: 'active',
    })
    expect(await clients.find(`${clientId}x`)).to.equal(undefined)
  })

  it('are forgotten after 90 days without use (design 8)', async () => {
    await using database = await open()
    let nowMs = Date.now()
    const state = sqlState(database, { now: () => nowMs })
    const { clients } = watch({ state, database }, () => nowMs)
    const { clientId } = await clients.register(registration, HERE)
    await clients.use(clientId)
    nowMs += 89.9 * DAY_MS
    expect(await clients.find(clientId)).to.include({ clientId })
    nowMs += 89.9 * DAY_MS
    expect(await clients.find(clientId)).to.include({ clientId })
    nowMs += 90.1 * DAY_MS
    expect(await clients.find(clientId)).to.equal(undefined)
    await cleanUpAt(database, nowMs)
    const rows = await database.kysely.selectFrom('oauth_state').select('id').execute()
    expect(rows).to.deep.equal([])
  })

  it('are forgotten after a day when nobody allowed anything with them, however often they were looked up (design 8)', async () => {
    await using database = await open()
    let nowMs = Date.now()
    const state = sqlState(database, { now: () => nowMs })
    const { clients } = watch({ state, database }, () => nowMs)
    const { clientId } = await clients.register(registration, HERE)
    for (let hour = 0; hour < 24; hour += 1) {
      expect(await clients.find(clientId)).to.include({ clientId })
      nowMs += DAY_MS / 24
    }
    nowMs += 1
    expect(await clients.find(clientId)).to.equal(undefined)
    // What came too late makes nothing of it.
    await clients.use(clientId)
    expect(await clients.find(clientId)).to.equal(undefined)
    await cleanUpAt(database, nowMs)
    const left = await database.kysely.selectFrom('unused_client').selectAll().execute()
    expect(left).to.deep.equal([])
  })

  it('give way to those that their network registers later, the oldest first (design 8)', async () => {
    await using database = await open()
    let nowMs = Date.now()
    const now = () => nowMs
    const pass = () => {
      nowMs += 1000
    }
    const state = sqlState(database, { now })
    await giveWay({ state, database }, { now, pass })
    const rows = await database.kysely.selectFrom('unused_client').select('network').execute()
    expect(rows.map(({ network }) => network).join()).to.not.match(/192|2001|db8/)
  })

  it('are written once a day at most, however often they are used', async () => {
    await using database = await open()
    let nowMs = Date.now()
    const { clients, writes } = watch(
      { state: sqlState(database, { now: () => nowMs }), database },
      () => nowMs,
    )
    const { clientId } = await clients.register(registration, HERE)
    await clients.use(clientId)
    for (let hour = 0; hour < 72; hour += 1) {
      nowMs += DAY_MS / 24
      await clients.find(clientId)
    }
    expect(writes()).to.equal(2 + 2)
  })

  it('lose the addresses of hosts that are switched off later (design 7)', async () => {
    await using database = await open()
    const state = sqlState(database)
    const { clients } = watch({ state, database }, Date.now)
    const both = await clients.register(registration, HERE)
    const local = await clients.register(
      { ...registration, redirectUris: ['http://localhost:1/callback'] },
      HERE,
    )
    const strict = watch({ state, database }, Date.now, ['127.0.0.1']).clients
    expect((await strict.find(both.clientId))?.redirectUris).to.deep.equal([
      'http://127.0.0.1:1/callback',
    ])
    expect(await strict.find(local.clientId)).to.equal(undefined)
  })
})

describeOnServers('loopback clients on Redis', () => {
  let redis: RedisServer | undefined
  before(async function () {
    redis = await startRedis(requireProgram(this, 'redis-server'))
  })
  after(async () => {
    await redis?.[Symbol.asyncDispose]()
  })

  it('live 90 days from their last use, give or take a day (design 8)', async () => {
    if (!redis) throw new Error('Redis was not started')
    let nowMs = Date.now()
    await using state = redisState(await openRedis({ url: redis.url }, { answerWithinMs: 300 }))
    await using place = await sqlitePlace()
    await using database = await openDatabase(place.location, patiently)
    const { clients, writes } = watch({ state, database }, () => nowMs)
    const { clientId } = await clients.register(registration, HERE)
    const key = String(await redis.ask('KEYS', '*Client*').then((keys) => [keys].flat()[0]))
    expect(Number(await redis.ask('PTTL', key))).to.be.closeTo(UNUSED_SECONDS * 1000, 5000)
    await clients.use(clientId)
    expect(Number(await redis.ask('PTTL', key))).to.be.closeTo(IDLE_SECONDS * 1000, 5000)
    await redis.ask('PEXPIRE', key, 60_000)
    expect(await clients.find(clientId)).to.include({ clientId })
    expect(writes()).to.equal(2)
    nowMs += DAY_MS + 1
    expect(await clients.find(clientId)).to.include({ clientId })
    expect(writes()).to.equal(3)
    expect(Number(await redis.ask('PTTL', key))).to.be.closeTo(IDLE_SECONDS * 1000, 5000)
    await redis.ask('PEXPIRE', key, 0)
    expect(await clients.find(clientId)).to.equal(undefined)
  })

  it('give way to those that their network registers later', async () => {
    if (!redis) throw new Error('Redis was not started')
    await using state = redisState(await openRedis({ url: redis.url }, { answerWithinMs: 300 }))
    await using place = await sqlitePlace()
    await using database = await openDatabase(place.location, patiently)
    await giveWay({ state, database }, { now: Date.now, pass: () => {} })
  })
})

describe('loopback clients of two processes', () => {
  it('are known to each other at once', async () => {
    await using place = await sqlitePlace()
    await using first = await openDatabase(place.location, patiently)
    await using second = await openDatabase(place.location, patiently)
    const { clientId } = await watch(
      { state: sqlState(first), database: first },
      Date.now,
    ).clients.register(registration, HERE)
    const found = await watch({ state: sqlState(second), database: second }, Date.now).clients.find(
      clientId,
    )
    expect(found).to.include({ clientId })
  })
})
