import { expect } from 'chai'

import { type LoopbackClients, makeLoopbackClients } from '../src/clients/loopback-clients.ts'
import type { StateStore } from '../src/store/oauth-state.ts'
import { redisState } from '../src/store/oauth-state-redis.ts'
import { sqlState } from '../src/store/oauth-state-sql.ts'
import { openDatabase } from '../src/store/open-database.ts'
import { openRedis } from '../src/store/redis.ts'
import { cleanUpAt } from './support/clean-up.ts'
import { patiently, sqlitePlace, withDatabases } from './support/database.ts'
import { type RedisServer, startRedis } from './support/redis.ts'
import { requireProgram } from './support/skipped.ts'

const DAY_MS = 86_400_000
const IDLE_SECONDS = 90 * 86_400

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

/** Loopback clients on a store, with a look at how often they write to it. */
function watch(state: StateStore, now: () => number, hosts = ['127.0.0.1', 'localhost']): Watched {
  const records = state.adapterFor('Client')
  let count = 0
  const clients = makeLoopbackClients({
    records: {
      find: async (id) => await records.find(id),
      async upsert(...record) {
        count += 1
        await records.upsert(...record)
      },
    },
    loopbackHosts: hosts,
    idleSeconds: IDLE_SECONDS,
    now,
  })
  return { clients, writes: () => count }
}

withDatabases('loopback clients', (open) => {
  it('are found as they were registered', async () => {
    await using database = await open()
    const { clients } = watch(sqlState(database), Date.now)
    const { clientId, issuedAtSeconds } = await clients.register(registration)
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
    const { clients } = watch(state, () => nowMs)
    const { clientId } = await clients.register(registration)
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

  it('are written once a day at most, however often they are used', async () => {
    await using database = await open()
    let nowMs = Date.now()
    const { clients, writes } = watch(sqlState(database, { now: () => nowMs }), () => nowMs)
    const { clientId } = await clients.register(registration)
    for (let hour = 0; hour < 72; hour += 1) {
      nowMs += DAY_MS / 24
      await clients.find(clientId)
    }
    expect(writes()).to.equal(1 + 2)
  })

  it('lose the addresses of hosts that are switched off later (design 7)', async () => {
    await using database = await open()
    const state = sqlState(database)
    const { clients } = watch(state, Date.now)
    const both = await clients.register(registration)
    const local = await clients.register({
      ...registration,
      redirectUris: ['http://localhost:1/callback'],
    })
    const strict = watch(state, Date.now, ['127.0.0.1']).clients
    expect((await strict.find(both.clientId))?.redirectUris).to.deep.equal([
      'http://127.0.0.1:1/callback',
    ])
    expect(await strict.find(local.clientId)).to.equal(undefined)
  })
})

describe('loopback clients on Redis', () => {
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
    await using state = redisState(await openRedis({ url: redis.url }, { commandTimeoutMs: 300 }))
    const { clients, writes } = watch(state, () => nowMs)
    const { clientId } = await clients.register(registration)
    const key = String(await redis.ask('KEYS', '*Client*').then((keys) => [keys].flat()[0]))
    expect(Number(await redis.ask('PTTL', key))).to.be.closeTo(IDLE_SECONDS * 1000, 5000)
    await redis.ask('PEXPIRE', key, 60_000)
    expect(await clients.find(clientId)).to.include({ clientId })
    expect(writes()).to.equal(1)
    nowMs += DAY_MS + 1
    expect(await clients.find(clientId)).to.include({ clientId })
    expect(writes()).to.equal(2)
    expect(Number(await redis.ask('PTTL', key))).to.be.closeTo(IDLE_SECONDS * 1000, 5000)
    await redis.ask('PEXPIRE', key, 0)
    expect(await clients.find(clientId)).to.equal(undefined)
  })
})

describe('loopback clients of two processes', () => {
  it('are known to each other at once', async () => {
    await using place = await sqlitePlace()
    await using first = await openDatabase(place.location, patiently)
    await using second = await openDatabase(place.location, patiently)
    const { clientId } = await watch(sqlState(first), Date.now).clients.register(registration)
    const found = await watch(sqlState(second), Date.now).clients.find(clientId)
    expect(found).to.include({ clientId })
  })
})
