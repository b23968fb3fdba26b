import { expect } from 'chai'

import type { Database } from '../../src/platform/store/database.ts'
import { redisState, type StateStore, sqlState } from '../../src/platform/store/oauth-state.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { openRedis } from '../../src/platform/store/redis.ts'
import { settings } from '../support/database.ts'
import { inTime, within } from '../support/in-time.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { eventually, freePort } from '../support/programs.ts'
import { type RedisCluster, startRedis, startRedisCluster } from '../support/redis.ts'
import { rejection } from '../support/rejection.ts'
import { requireProgram } from '../support/skipped.ts'

describe('A PostgreSQL server that fails', function () {
  // The second in which it has to be used again is over sooner on a busy machine.
  this.retries(2)
  let server: PostgresServer

  before(async function () {
    server = await startPostgres(requireProgram(this, 'postgres'))
  })

  after(async () => {
    await server?.[Symbol.asyncDispose]()
  })

  async function openOne(): Promise<Database> {
    const url = await server.createDatabase()
    return await openDatabase({ kind: 'postgres', url, connectionsMax: 4 })
  }

  for (const [how, fail, mend] of [
    ['is dead', () => server.kill(), () => server.restart()],
    ['hangs', async () => server.freeze(), async () => server.thaw()],
  ] as const) {
    it(`is refused within half a second while it ${how}, and used again within one`, async () => {
      await using database = await openOne()
      await using state = sqlState(database)
      const codes = state.adapterFor('AuthorizationCode')
      await codes.upsert('id-1', { jti: 'id-1' }, 60)
      const { read, write } = settings(database)
      const twenty = (use: (index: number) => Promise<unknown>) =>
        Array.from({ length: 20 }, (_, i) => use(i))
      const uses: Record<string, () => Promise<unknown>[]> = {
        'a query': () => [database.ping()],
        'many queries': () => twenty(() => database.ping()),
        'OAuth state': () => [codes.find('id-1')],
        'compiled statements': () =>
          twenty((i) => (i % 2 ? read({ name: 'a' }) : write({ name: `name-${i}`, value: '1' }))),
      }
      const outcomes = async (use: () => Promise<unknown>[]) => [
        ...new Set((await Promise.allSettled(use())).map(({ status }) => status)),
      ]
      for (const [name, use] of Object.entries(uses)) {
        expect(await outcomes(use), name).to.deep.equal(['fulfilled'])
      }
      await fail()
      try {
        for (const [name, use] of [...Object.entries(uses), ...Object.entries(uses)]) {
          expect(await inTime(500, () => outcomes(use)), name).to.deep.equal(['rejected'])
        }
      } finally {
        await mend()
      }
      const allAnswer = () => Promise.all(Object.values(uses).flatMap((use) => use()))
      await within(1_000, eventually(1_000, allAnswer))
      expect(await database.kysely.selectFrom('site').selectAll().execute()).to.be.empty
    })
  }

  it('undoes the transaction during which it hung', async () => {
    await using database = await openOne()
    const work = database.kysely.transaction().execute(async (transaction) => {
      await transaction
        .insertInto('setting')
        .values({ name: 'a', value: '1', updated_at: 1 })
        .execute()
      server.freeze()
      await transaction.selectFrom('setting').selectAll().execute()
    })
    try {
      await within(600, rejection(work))
    } finally {
      server.thaw()
    }
    await eventually(20_000, async () => {
      await database.kysely
        .insertInto('setting')
        .values({ name: 'a', value: '2', updated_at: 2 })
        .execute()
    })
    const rows = await database.kysely.selectFrom('setting').select('value').execute()
    expect(rows).to.deep.equal([{ value: '2' }])
  })

  it('fails a transaction in the middle of which it dies, and not this process', async () => {
    await using database = await openOne()
    const work = database.kysely.transaction().execute(async (transaction) => {
      await transaction.selectFrom('site').selectAll().execute()
      await server.kill()
      // Long enough for the end of the connection to arrive while no query is under way.
      await eventually(20_000, async () => await rejection(database.ping()))
      await transaction.selectFrom('site').selectAll().execute()
    })
    try {
      // The driver says it in its own words, or hands on those of the socket.
      expect((await rejection(work)).message).to.match(/connection|ECONNRESET/i)
    } finally {
      await server.restart()
    }
    await eventually(20_000, () => database.ping())
  })

  it('reports a connection that breaks while nobody uses it, and the process lives on', async () => {
    const url = await server.createDatabase()
    const errors: Error[] = []
    await using database = await openDatabase(
      { kind: 'postgres', url, connectionsMax: 4 },
      { onIdleError: (error) => errors.push(error) },
    )
    await database.ping()
    await server.restart()
    await eventually(20_000, async () => expect(errors).not.to.be.empty)
    await database.ping()
  })

  it('is named without its password when it cannot be reached at the start', async () => {
    const port = await freePort()
    const url = `postgres://gate:topsecret@127.0.0.1:${port}/none`
    const error = await rejection(openDatabase({ kind: 'postgres', url, connectionsMax: 1 }))
    expect(error.message).to.equal(`PostgreSQL at 127.0.0.1:${port} cannot be reached.`)
    expect(String(error.cause)).not.to.include('topsecret')
  })
})

describe('A Redis server that fails', function () {
  // The second in which it has to be used again is over sooner on a busy machine.
  this.retries(2)
  let file = ''
  before(function () {
    file = requireProgram(this, 'redis-server')
  })

  it('is refused within half a second while it is dead, and used again within one', async () => {
    await using server = await startRedis(file)
    await using store = redisState(await openRedis({ url: server.url }, { answerWithinMs: 300 }))
    const codes = store.adapterFor('AuthorizationCode')
    await use(store, 'before')
    await server.kill()
    await inTime(500, () => rejection(codes.find('before')))
    await inTime(500, () => rejection(store.ping()))
    await server.restart()
    await within(
      1_000,
      eventually(1_000, () => codes.find('before')),
    )
    // The scripts went with the old server.
    await use(store, 'after')
  })

  it('is refused within half a second while it hangs, and used again within one', async () => {
    await using server = await startRedis(file)
    await using store = redisState(await openRedis({ url: server.url }, { answerWithinMs: 300 }))
    await use(store, 'before')
    server.freeze()
    await inTime(500, () => rejection(store.adapterFor('AuthorizationCode').find('before')))
    await inTime(500, () => rejection(use(store, 'meanwhile')))
    server.thaw()
    await within(
      1_000,
      eventually(1_000, () => store.ping()),
    )
    await use(store, 'after')
  })

  it('is named without its password when it is not ready at the start', async () => {
    const port = await freePort()
    const error = await rejection(
      openRedis(
        { url: `redis://gate:topsecret@127.0.0.1:${port}` },
        { answerWithinMs: 300, readyTimeoutMs: 100 },
      ),
    )
    expect(error.message).to.equal(`Redis at 127.0.0.1:${port} is not ready.`)
    expect(String(error.cause)).to.include('ECONNREFUSED').and.not.include('topsecret')
  })

  it('says that it needs its password', async () => {
    await using server = await startRedis(file, ['--requirepass', 'topsecret'])
    const opening = openRedis({ url: server.url }, { answerWithinMs: 300, readyTimeoutMs: 200 })
    expect(String((await rejection(opening)).cause)).to.match(/NOAUTH/)
    const client = await openRedis(
      { url: server.url.replace('//', '//:topsecret@') },
      { answerWithinMs: 300 },
    )
    await using store = redisState(client)
    await store.ping()
  })
})

describe('A Redis Cluster that fails', () => {
  let cluster: RedisCluster
  before(async function () {
    cluster = await startRedisCluster(requireProgram(this, 'redis-server'))
  })
  after(async () => {
    await cluster?.[Symbol.asyncDispose]()
  })

  it('is refused within half a second while a node hangs, and used again within one', async function () {
    this.retries(2)
    const [first] = cluster.nodes
    const client = await openRedis(
      { clusterNodes: [`127.0.0.1:${first?.port}`] },
      { answerWithinMs: 300 },
    )
    await using store = redisState(client)
    const tokens = store.adapterFor('AuthorizationCode')
    const findAll = () => Promise.all(ids.map((id) => tokens.find(id)))
    const ids = Array.from({ length: 30 }, (_, index) => `id-${index}`)
    await findAll()
    first?.freeze()
    try {
      await inTime(500, () => rejection(findAll()))
    } finally {
      first?.thaw()
    }
    await within(1_000, eventually(1_000, findAll))
  })
})

/** A code and a session from birth to end, which uses both scripts. */
async function use(store: StateStore, id: string): Promise<void> {
  const codes = store.adapterFor('AuthorizationCode')
  await codes.upsert(id, { jti: id }, 60)
  await codes.consumeOnce(id)
  await codes.destroy(id)
  expect(await codes.find(id)).to.equal(undefined)
  const sessions = store.adapterFor('Session')
  await sessions.upsert(id, { jti: id, kind: 'Session', uid: `uid-${id}`, accountId: 'per_1' }, 60)
  await sessions.destroy(id)
}
