import { Cluster, Redis } from 'ioredis'

import { redisState, sqlState } from '../../src/platform/store/oauth-state.ts'
import { openRedis, type RedisLocation } from '../../src/platform/store/redis.ts'
import type { WorkerPlace } from '../store-worker.ts'
import { cleanUpAt } from '../support/clean-up.ts'
import { openAt, type Place, postgresPlace, sqlitePlace } from '../support/database.ts'
import { eventually, race } from '../support/programs.ts'
import { type RedisServer, startRedis, startRedisCluster } from '../support/redis.ts'
import { rejection } from '../support/rejection.ts'
import { shared } from '../support/shared.ts'
import { requireProgram } from '../support/skipped.ts'

type Backend = Awaited<ReturnType<typeof redisBackend>>

/** A short lifetime, because tests wait for the real clock of Redis. For databases, they move the clock. */
const SHORT_TTL_SECONDS = 0.05

const onceModels = ['AuthorizationCode', 'PushedAuthorizationRequest']
const bearerModels = [...onceModels, 'Session']

function contract(name: string, open: (test: Mocha.Context) => Promise<Backend>): void {
  describe(`OAuth state in ${name}`, () => {
    const backend = shared(async function () {
      return await open(this)
    })
    beforeEach(() => backend().clear())

    const adapterFor = (model: string) => backend().store.adapterFor(model)
    const passShortTtl = async () => await backend().pass(SHORT_TTL_SECONDS * 1000)

    for (const model of [...bearerModels, 'Interaction', 'Grant']) {
      it(`finds a stored ${model} of this model only, and nothing once it is destroyed`, async () => {
        const adapter = adapterFor(model)
        const payload = { jti: 'id-1', kind: model, accountId: 'per_1', extra: { text: '{"ü\n' } }
        await adapter.upsert('id-1', payload, 60)
        expect(await adapter.find('id-1')).to.deep.equal(payload)
        expect(await adapter.find('id-2')).to.equal(undefined)
        expect(await adapterFor('Another').find('id-1')).to.equal(undefined)
        await adapter.destroy('id-1')
        expect(await adapter.find('id-1')).to.equal(undefined)
      })
    }

    // [threat 31]
    it('does not store ids of bearer values, so a copy of the store contains no tokens, and every record expires', async () => {
      for (const model of [...bearerModels, 'Interaction', 'Grant']) {
        const id = bearerModels.includes(model) ? `secret-of-${model}` : 'id-1'
        await adapterFor(model).upsert(id, { jti: id, uid: `${model}-1`, grantId: 'grant-1' }, 60)
        await adapterFor(model).consumeOnce(id)
      }
      expect((await backend().dump()).join())
        .to.include('grant-1')
        .and.not.include('secret-of-')
      expect(await backend().immortal()).to.be.empty
    })

    for (const ttlSeconds of [undefined, 0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      it(`refuses a record with a time to live of ${ttlSeconds}`, async () => {
        const writing = adapterFor('Session').upsert('id-1', { jti: 'id-1' }, ttlSeconds)
        expect((await rejection(writing)).message).to.match(/Session needs a time to live/)
        expect(await backend().dump()).to.be.empty
      })
    }

    it('never finds or consumes an expired record, and deletes expired records only', async () => {
      const requests = adapterFor('PushedAuthorizationRequest')
      const sessions = adapterFor('Session')
      await requests.upsert('id-1', { jti: 'id-1', grantId: 'grant-1' }, SHORT_TTL_SECONDS)
      await sessions.upsert('id-1', session('id-1', 'uid-1'), SHORT_TTL_SECONDS)
      await passShortTtl()
      expect(await requests.find('id-1')).to.equal(undefined)
      expect(await requests.consumeOnce('id-1')).to.equal(undefined)
      expect(await sessions.find('id-1')).to.equal(undefined)
      expect(await sessions.findByUid('uid-1')).to.equal(undefined)
      await requests.upsert('new', { jti: 'new' }, 60)
      await backend().cleanUp()
      expect(await requests.find('new')).to.deep.equal({ jti: 'new' })
      expect(await backend().dump()).to.have.length(1)
    })

    it('writes a code or pushed request once until it expires: a late duplicate does not clear its use', async () => {
      for (const model of onceModels) {
        const adapter = adapterFor(model)
        await adapter.upsert('id-1', { jti: 'id-1', scope: 'expired' }, SHORT_TTL_SECONDS)
        await passShortTtl()
        await adapter.upsert('id-1', { jti: 'id-1', scope: 'first' }, 60)
        await adapter.consumeOnce('id-1')
        await adapter.upsert('id-1', { jti: 'id-1', scope: 'second' }, 60)
        const found = await adapter.find('id-1')
        expect(found).to.include({ scope: 'first' })
        expect(found?.consumed).to.be.a('number')
      }
    })

    for (const model of ['Grant', 'Session']) {
      it(`keeps the last write of a ${model}`, async () => {
        const records = adapterFor(model)
        await records.upsert('id-1', { jti: 'id-1', accountId: 'a' }, SHORT_TTL_SECONDS)
        await records.upsert('id-1', { jti: 'id-1', accountId: 'b' }, 60)
        await passShortTtl()
        expect(await records.find('id-1')).to.deep.equal({ jti: 'id-1', accountId: 'b' })
      })
    }

    it('returns the time of the first use to later callers, and nothing for an unknown id', async () => {
      const requests = adapterFor('PushedAuthorizationRequest')
      expect(await requests.consumeOnce('id-1')).to.equal(undefined)
      expect(await backend().dump()).to.be.empty
      await requests.upsert('id-1', { jti: 'id-1' }, 60)
      const first = await requests.consumeOnce('id-1')
      expect(first).to.include({ first: true })
      expect(await requests.consumeOnce('id-1')).to.deep.equal({ ...first, first: false })
      const consumed = Math.floor((first?.consumedAtMs ?? 0) / 1000)
      expect(await requests.find('id-1')).to.deep.equal({ jti: 'id-1', consumed })
    })

    it('counts exactly one of fifty parallel uses in two processes as the first', async () => {
      // The other processes use the real time. The test's clock for databases is years ahead.
      await adapterFor('AuthorizationCode').upsert('id-1', { jti: 'id-1' }, 3600)
      const task = { task: 'consume', place: backend().place, id: 'id-1', times: 25 } as const
      const outcomes = await race(task, task)
      expect(outcomes).to.have.length(50)
      expect(outcomes.filter((outcome) => outcome?.first)).to.have.length(1)
      expect(new Set(outcomes.map((outcome) => outcome?.consumedAtMs)).size).to.equal(1)
    })

    it('finds a session by its uid, also after its id has changed, and no other model', async () => {
      const sessions = adapterFor('Session')
      await sessions.upsert('id-1', session('id-1', 'uid-1'), 60)
      await sessions.upsert('id-2', session('id-2', 'uid-1'), 61)
      await sessions.destroy('id-1')
      const { jti, ...known } = session('id-2', 'uid-1')
      expect(await sessions.find(jti)).to.deep.equal({ jti, ...known })
      expect(await sessions.findByUid('uid-1')).to.deep.equal(known)
      expect(await sessions.findByUid('uid-2')).to.equal(undefined)
      await sessions.destroy('id-2')
      expect(await sessions.findByUid('uid-1')).to.equal(undefined)
      expect(await backend().dump()).to.be.empty
      const interactions = adapterFor('Interaction')
      await interactions.upsert('id-1', session('id-1', 'uid-1'), 60)
      expect(await interactions.findByUid('uid-1')).to.equal(undefined)
    })
  })
}

contract('SQLite', async () => await sqlBackend(await sqlitePlace()))
contract('PostgreSQL', async (test) =>
  sqlBackend(await postgresPlace(requireProgram(test, 'postgres'))),
)
contract('Redis', async (test) => {
  const server = await startRedis(requireProgram(test, 'redis-server'))
  return await redisBackend([server], { url: server.url })
})
contract('a Redis Cluster', async (test) => {
  const { nodes, addresses } = await startRedisCluster(requireProgram(test, 'redis-server'))
  return await redisBackend(nodes, { clusterNodes: addresses })
})

const session = (jti: string, uid: string) => ({ jti, kind: 'Session', uid, accountId: 'per_1' })

async function sqlBackend(place: Place): Promise<Backend> {
  const database = await openAt(place)
  let nowMs = 1_900_000_000_000
  return {
    store: sqlState(database, { now: () => nowMs }),
    place: place.location,
    async pass(timeMs) {
      nowMs += timeMs
    },
    cleanUp: async () => await cleanUpAt(database, nowMs),
    clear: async () => await database.kysely.deleteFrom('oauth_state').execute(),
    async dump() {
      const rows = await database.kysely.selectFrom('oauth_state').selectAll().execute()
      return rows.map((row) => JSON.stringify(row))
    },
    immortal: async () => [],
    [Symbol.asyncDispose]: async () => await database[Symbol.asyncDispose](),
  }
}

async function redisBackend(servers: readonly RedisServer[], location: RedisLocation) {
  const client = await openRedis(location, { answerWithinMs: 10_000 })
  expect(client).to.be.instanceOf('url' in location ? Redis : Cluster)
  const store = redisState(client)
  const probe = store.adapterFor('Interaction')
  return {
    store: { adapterFor: store.adapterFor },
    place: { kind: 'redis', redis: location } as WorkerPlace,
    // Waits until Redis itself expires a record.
    async pass(timeMs: number) {
      await probe.upsert('probe', { jti: 'probe' }, timeMs / 1000)
      await eventually(10_000, async () => expect(await probe.find('probe')).to.equal(undefined))
    },
    async cleanUp() {},
    clear: async (): Promise<unknown> =>
      await Promise.all(servers.map((server) => server.ask('FLUSHALL'))),
    dump: async () => (await everyKey(servers)).map(({ key, value }) => `${key} ${value}`),
    immortal: async () =>
      (await everyKey(servers)).filter(({ ttlMs }) => ttlMs < 0).map(({ key }) => key),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
    },
  }
}

async function everyKey(servers: readonly RedisServer[]) {
  const found = servers.map(async (server) => {
    const keys = (await server.ask('KEYS', '*')) as string[]
    return await Promise.all(
      keys.map(async (key) => {
        expect(key).to.match(/^gatehouse:/)
        const isSet = (await server.ask('TYPE', key)) === 'zset'
        const value = isSet ? await server.ask('ZRANGE', key, 0, -1) : await server.ask('GET', key)
        return { key, value: String(value), ttlMs: Number(await server.ask('PTTL', key)) }
      }),
    )
  })
  return (await Promise.all(found)).flat()
}
