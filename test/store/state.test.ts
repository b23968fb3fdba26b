import { expect } from 'chai'
import { Cluster, Redis } from 'ioredis'

import type { Database } from '../../src/platform/store/database.ts'
import type { StateStore } from '../../src/platform/store/oauth-state.ts'
import { redisState, sqlState } from '../../src/platform/store/oauth-state.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { openRedis } from '../../src/platform/store/redis.ts'
import type { WorkerPlace, WorkerResult, WorkerTask } from '../store-worker.ts'
import { cleanUpAt } from '../support/clean-up.ts'
import { type Place, patiently, postgresPlace, sqlitePlace } from '../support/database.ts'
import { eventually, race } from '../support/programs.ts'
import {
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../support/redis.ts'
import { rejection } from '../support/rejection.ts'
import { requireProgram } from '../support/skipped.ts'

const worker = `${import.meta.dirname}/../store-worker.ts`

/** One kind of store, with what a test must see that no user of the store can. */
interface Backend extends AsyncDisposable {
  readonly store: StateStore
  /** Where another process finds the same store. */
  readonly place: WorkerPlace
  /** Lets so much time pass for the records. */
  pass(timeMs: number): Promise<void>
  /** Removes what has expired, where the store does not by itself. */
  cleanUp(): Promise<void>
  /** Everything that is stored, one text for each row or key. */
  dump(): Promise<string[]>
  /** The keys that would stay for ever. */
  immortal(): Promise<string[]>
}

/** The time in the tests of the databases, where it stands still until a test lets it pass. */
const STARTED_AT_MS = 1_900_000_000_000

/** Short enough for a test of Redis, which has a clock of its own, to see it end. */
const SHORT_TTL_SECONDS = 0.05

function contract(open: () => Promise<Backend>): void {
  const bearerModels = ['AuthorizationCode', 'PushedAuthorizationRequest']

  it('answers a ping', async () => {
    await using backend = await open()
    await backend.store.ping()
  })

  for (const model of [...bearerModels, 'Session', 'Interaction', 'Grant']) {
    it(`finds the ${model} that was stored, and nothing once it is destroyed`, async () => {
      await using backend = await open()
      const adapter = backend.store.adapterFor(model)
      const payload = { jti: 'id-1', kind: model, accountId: 'per_1', extra: { text: '{"ü\n' } }
      await adapter.upsert('id-1', payload, 60)
      expect(await adapter.find('id-1')).to.deep.equal(payload)
      expect(await adapter.find('id-2')).to.equal(undefined)
      await adapter.destroy('id-1')
      expect(await adapter.find('id-1')).to.equal(undefined)
    })
  }

  it('keeps models apart that have the same id', async () => {
    await using backend = await open()
    await backend.store.adapterFor('Grant').upsert('id-1', { jti: 'id-1' }, 60)
    expect(await backend.store.adapterFor('Session').find('id-1')).to.equal(undefined)
  })

  // [threat 31]
  it('stores no id of a bearer value, so that a copy of the store holds no token', async () => {
    await using backend = await open()
    for (const model of bearerModels) {
      const id = `secret-of-${model}`
      const adapter = backend.store.adapterFor(model)
      await adapter.upsert(id, { jti: id, grantId: 'grant-1' }, 60)
      await adapter.consumeOnce(id)
    }
    const stored = (await backend.dump()).join('\n')
    expect(stored).to.include('grant-1')
    expect(stored).not.to.include('secret-of-')
  })

  for (const ttlSeconds of [undefined, 0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    it(`refuses a record with ${ttlSeconds} as its time to live`, async () => {
      await using backend = await open()
      const adapter = backend.store.adapterFor('Session')
      const error = await rejection(adapter.upsert('id-1', { jti: 'id-1' }, ttlSeconds))
      expect(error.message).to.match(/Session needs a time to live/)
      expect(await backend.dump()).to.be.empty
    })
  }

  it('never finds or consumes an expired record, and nothing of it is left behind', async () => {
    await using backend = await open()
    const tokens = backend.store.adapterFor('PushedAuthorizationRequest')
    const sessions = backend.store.adapterFor('Session')
    await tokens.upsert('id-1', { jti: 'id-1', grantId: 'grant-1' }, SHORT_TTL_SECONDS)
    await sessions.upsert('id-1', session('id-1', 'uid-1'), SHORT_TTL_SECONDS)
    await backend.pass(SHORT_TTL_SECONDS * 1000)
    expect(await tokens.find('id-1')).to.equal(undefined)
    expect(await tokens.consumeOnce('id-1')).to.equal(undefined)
    expect(await sessions.find('id-1')).to.equal(undefined)
    expect(await sessions.findByUid('uid-1')).to.equal(undefined)
    await backend.cleanUp()
    expect(await backend.dump()).to.be.empty
  })

  it('is cleaned of what has expired and of nothing else', async () => {
    await using backend = await open()
    const tokens = backend.store.adapterFor('AuthorizationCode')
    await tokens.upsert('old', { jti: 'old' }, SHORT_TTL_SECONDS)
    await tokens.upsert('new', { jti: 'new' }, 60)
    await backend.pass(SHORT_TTL_SECONDS * 1000)
    await backend.cleanUp()
    expect(await tokens.find('new')).to.deep.equal({ jti: 'new' })
    expect(await backend.dump()).to.have.length(1)
  })

  it('writes a bearer value once: a late duplicate cannot clear that it was consumed', async () => {
    await using backend = await open()
    for (const model of bearerModels) {
      const adapter = backend.store.adapterFor(model)
      await adapter.upsert('id-1', { jti: 'id-1', scope: 'first' }, 60)
      await adapter.consumeOnce('id-1')
      await adapter.upsert('id-1', { jti: 'id-1', scope: 'second' }, 60)
      const found = await adapter.find('id-1')
      expect(found).to.include({ scope: 'first' })
      expect(found?.consumed).to.be.a('number')
    }
  })

  it('lets the last write of any other model win', async () => {
    await using backend = await open()
    const grants = backend.store.adapterFor('Grant')
    await grants.upsert('id-1', { jti: 'id-1', accountId: 'a' }, SHORT_TTL_SECONDS)
    await grants.upsert('id-1', { jti: 'id-1', accountId: 'b' }, 60)
    await backend.pass(SHORT_TTL_SECONDS * 1000)
    expect(await grants.find('id-1')).to.deep.equal({ jti: 'id-1', accountId: 'b' })
  })

  it('can write a bearer value again whose predecessor has expired', async () => {
    await using backend = await open()
    const codes = backend.store.adapterFor('AuthorizationCode')
    await codes.upsert('id-1', { jti: 'id-1', scope: 'first' }, SHORT_TTL_SECONDS)
    await backend.pass(SHORT_TTL_SECONDS * 1000)
    await codes.upsert('id-1', { jti: 'id-1', scope: 'second' }, 60)
    expect(await codes.find('id-1')).to.include({ scope: 'second' })
  })

  it('gives every later caller the time of the first', async () => {
    await using backend = await open()
    const tokens = backend.store.adapterFor('PushedAuthorizationRequest')
    await tokens.upsert('id-1', { jti: 'id-1' }, 60)
    const first = await tokens.consumeOnce('id-1')
    const second = await tokens.consumeOnce('id-1')
    expect(first).to.include({ first: true })
    expect(second).to.deep.equal({ ...first, first: false })
    expect(await tokens.find('id-1')).to.deep.equal({
      jti: 'id-1',
      consumed: Math.floor((first?.consumedAtMs ?? 0) / 1000),
    })
  })

  it('consumes nothing that does not exist', async () => {
    await using backend = await open()
    expect(
      await backend.store.adapterFor('PushedAuthorizationRequest').consumeOnce('id-1'),
    ).to.equal(undefined)
    expect(await backend.dump()).to.be.empty
  })

  it('knows exactly one first of fifty parallel uses in two processes', async () => {
    await using backend = await open()
    const codes = backend.store.adapterFor('AuthorizationCode')
    // The other processes have the real time, which a test of the databases is years ahead of.
    await codes.upsert('id-1', { jti: 'id-1' }, 3600)
    const task: WorkerTask = { task: 'consume', place: backend.place, id: 'id-1', times: 25 }
    const results = await race<WorkerResult>(worker, [task, task])

    const outcomes = results.flatMap((result) => {
      if ('problem' in result) throw new Error(result.problem)
      return result.outcomes
    })
    expect(outcomes).to.have.length(50)
    expect(outcomes.filter((outcome) => outcome?.first)).to.have.length(1)
    expect(new Set(outcomes.map((outcome) => outcome?.consumedAtMs)).size).to.equal(1)
  })

  it('finds a session by its uid, also after its id has changed', async () => {
    await using backend = await open()
    const sessions = backend.store.adapterFor('Session')
    await sessions.upsert('id-1', session('id-1', 'uid-1'), 60)
    await sessions.upsert('id-2', session('id-2', 'uid-1'), 61)
    await sessions.destroy('id-1')
    expect(await sessions.findByUid('uid-1')).to.deep.equal(session('id-2', 'uid-1'))
    expect(await sessions.findByUid('uid-2')).to.equal(undefined)
    await sessions.destroy('id-2')
    expect(await sessions.findByUid('uid-1')).to.equal(undefined)
    expect(await backend.dump()).to.be.empty
  })

  it('finds nothing by the uid of another model, and nothing by a user code', async () => {
    await using backend = await open()
    const interactions = backend.store.adapterFor('Interaction')
    await interactions.upsert('id-1', session('id-1', 'uid-1'), 60)
    expect(await interactions.findByUid('uid-1')).to.equal(undefined)
  })

  it('keeps nothing for ever', async () => {
    await using backend = await open()
    for (const model of [...bearerModels, 'Session', 'Interaction', 'Grant']) {
      const adapter = backend.store.adapterFor(model)
      await adapter.upsert('id-1', { ...session('id-1', 'uid-1'), grantId: 'grant-1' }, 60)
      await adapter.consumeOnce('id-1')
    }
    expect(await backend.dump()).not.to.be.empty
    expect(await backend.immortal()).to.be.empty
  })
}

describe('OAuth state in SQLite', () => {
  contract(async () => await sqlBackend(await sqlitePlace()))
})

describe('OAuth state in PostgreSQL', () => {
  let file = ''
  before(function () {
    file = requireProgram(this, 'postgres')
  })
  contract(async () => await sqlBackend(await postgresPlace(file)))
})

describe('OAuth state in Redis', () => {
  let server: RedisServer
  before(async function () {
    server = await startRedis(requireProgram(this, 'redis-server'))
  })
  after(async () => {
    await server?.[Symbol.asyncDispose]()
  })
  contract(async () => await redisBackend([server], { url: server.url }))
})

describe('OAuth state in a Redis Cluster', () => {
  let cluster: RedisCluster
  before(async function () {
    cluster = await startRedisCluster(requireProgram(this, 'redis-server'))
  })
  after(async () => {
    await cluster?.[Symbol.asyncDispose]()
  })
  contract(async () => {
    const clusterNodes = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`)
    return await redisBackend(cluster.nodes, { clusterNodes })
  })
})

function session(jti: string, uid: string) {
  return { jti, kind: 'Session', uid, accountId: 'per_1' }
}

async function sqlBackend(place: Place): Promise<Backend> {
  const database = await openDatabase(place.location, patiently)
  let nowMs = STARTED_AT_MS
  return {
    store: sqlState(database, { now: () => nowMs }),
    place: place.location,
    async pass(timeMs) {
      nowMs += timeMs
    },
    cleanUp: async () => await cleanUpAt(database, nowMs),
    dump: async () => (await rows(database)).map((row) => JSON.stringify(row)),
    immortal: async () => [],
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      await place[Symbol.asyncDispose]()
    },
  }
}

async function rows(database: Database) {
  return await database.kysely.selectFrom('oauth_state').selectAll().execute()
}

async function redisBackend(
  servers: readonly RedisServer[],
  location: Parameters<typeof openRedis>[0],
): Promise<Backend> {
  await Promise.all(servers.map((server) => server.ask('FLUSHALL')))
  const client = await openRedis(location, { answerWithinMs: 10_000 })
  expect(client).to.be.instanceOf('url' in location ? Redis : Cluster)
  const store = redisState(client)
  const probe = redisState(client).adapterFor('Interaction')
  return {
    store,
    place: { kind: 'redis', redis: location },
    // Nothing makes the clock of Redis go faster, but a record tells when it has gone far enough.
    async pass(timeMs) {
      await probe.upsert('probe', { jti: 'probe' }, timeMs / 1000)
      await eventually(10_000, async () => {
        expect(await probe.find('probe')).to.equal(undefined)
      })
    },
    async cleanUp() {},
    dump: async () => (await everyKey(servers)).map(({ key, value }) => `${key} ${value}`),
    immortal: async () =>
      (await everyKey(servers)).filter(({ ttlMs }) => ttlMs < 0).map(({ key }) => key),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

async function everyKey(servers: readonly RedisServer[]) {
  const found = servers.map(async (server) => {
    const keys = await server.ask('KEYS', '*')
    if (!Array.isArray(keys)) throw new Error('KEYS gave no list')
    return await Promise.all(
      keys.map(async (key: string) => {
        expect(key).to.match(/^gatehouse:/)
        const kind = await server.ask('TYPE', key)
        const value =
          kind === 'zset' ? await server.ask('ZRANGE', key, 0, -1) : await server.ask('GET', key)
        return { key, value: String(value), ttlMs: Number(await server.ask('PTTL', key)) }
      }),
    )
  })
  return (await Promise.all(found)).flat()
}
