import { compiled, type Valued } from '../../src/platform/store/compiled-queries.ts'
import type { Database, DatabaseOptions } from '../../src/platform/store/database.ts'
import { redisState } from '../../src/platform/store/oauth-state.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { openRedis } from '../../src/platform/store/redis.ts'
import { postgresPlace, rowsOf, settings } from '../support/database.ts'
import { inTime, within } from '../support/in-time.ts'
import { startPostgres } from '../support/postgres.ts'
import { eventually } from '../support/programs.ts'
import { startRedis, startRedisCluster } from '../support/redis.ts'
import { rejection } from '../support/rejection.ts'
import { shared } from '../support/shared.ts'
import { requireProgram, sharedProgram } from '../support/skipped.ts'

const setting = { name: 'a', value: '1', updated_at: 1 }

describe('A PostgreSQL server that fails', function () {
  // On a busy machine, one second may be too short for the recovery.
  this.retries(2)
  const server = shared(async function () {
    return await startPostgres(requireProgram(this, 'postgres'))
  })

  async function openOne(options?: DatabaseOptions): Promise<Database> {
    const url = await server().createDatabase()
    return await openDatabase({ kind: 'postgres', url, connectionsMax: 4 }, options)
  }

  for (const [how, fail, mend] of [
    ['is dead', () => server().kill(), () => server().restart()],
    ['hangs', async () => server().freeze(), async () => server().thaw()],
  ] as const) {
    it(`rejects many queries within half a second while it ${how}, and recovers within one`, async () => {
      await using database = await openOne()
      const { read, write } = settings(database)
      const uses = (i: number): Promise<unknown>[] => [
        database.ping(),
        i % 2 === 0 ? read({ name: 'a' }) : write({ name: `name-${i}`, value: '1' }),
      ]
      const many = () => Array.from({ length: 20 }, (_, i) => uses(i)).flat()
      const outcomes = async () => {
        const settled = await Promise.allSettled(many())
        return [...new Set(settled.map(({ status }) => status))]
      }
      expect(await outcomes()).to.deep.equal(['fulfilled'])
      await fail()
      try {
        for (let turn = 0; turn < 2; turn += 1)
          expect(await inTime(500, outcomes)).to.deep.equal(['rejected'])
      } finally {
        await mend()
      }
      const recovery = eventually(1_000, async () => await Promise.all(many()))
      await within(1_000, recovery)
    })
  }

  it('undoes the transaction during which it hung', async () => {
    await using database = await openOne()
    const work = database.kysely.transaction().execute(async (transaction) => {
      await transaction.insertInto('setting').values(setting).execute()
      server().freeze()
      await transaction.selectFrom('setting').selectAll().execute()
    })
    try {
      await within(600, rejection(work))
    } finally {
      server().thaw()
    }
    const again = database.kysely.insertInto('setting').values({ ...setting, value: '2' })
    await eventually(20_000, () => again.execute())
    const rows = await rowsOf(database.kysely, 'setting')
    expect(rows.map(({ value }) => value)).to.deep.equal(['2'])
  })

  it('fails the transaction during which it dies, and not this process', async () => {
    await using database = await openOne()
    const work = database.kysely.transaction().execute(async (transaction) => {
      await transaction.selectFrom('site').selectAll().execute()
      await server().kill()
      // The transaction's connection must end while no query is running on it.
      await eventually(20_000, async () => await rejection(database.ping()))
      await transaction.selectFrom('site').selectAll().execute()
    })
    try {
      // The message comes from the driver or from the socket.
      expect((await rejection(work)).message).to.match(/connection|ECONNRESET/i)
    } finally {
      await server().restart()
    }
    await eventually(20_000, () => database.ping())
  })

  it('is reported when an idle connection breaks, and the process lives on', async () => {
    const errors: Error[] = []
    await using database = await openOne({ onIdleError: (error) => errors.push(error) })
    await database.ping()
    await server().restart()
    await eventually(20_000, async () => expect(errors).not.to.be.empty)
    await database.ping()
  })

  it('is named with its own reason when it refuses the connection', async () => {
    const url = Object.assign(new URL(await server().createDatabase()), { pathname: '/none' }).href
    const error = await rejection(openDatabase({ kind: 'postgres', url, connectionsMax: 1 }))
    expect(error.message).to.include('refused the connection: database "none" does not exist')
  })
})

it('A Redis connection without the required password fails at start', async function () {
  const file = requireProgram(this, 'redis-server')
  await using server = await startRedis(file, ['--requirepass', 'topsecret'])
  const opening = openRedis({ url: server.url }, { answerWithinMs: 300, readyTimeoutMs: 200 })
  expect(String((await rejection(opening)).cause)).to.match(/NOAUTH/)
  const url = server.url.replace('//', '//:topsecret@')
  const client = await openRedis({ url }, { answerWithinMs: 300 })
  expect(await client.ping()).to.equal('PONG')
  client.disconnect()
})

it('A Redis Cluster with a node that hangs rejects within half a second, and recovers within one', async function () {
  this.retries(2)
  await using cluster = await startRedisCluster(requireProgram(this, 'redis-server'))
  const [first] = cluster.nodes
  const clusterNodes = [`127.0.0.1:${first?.port}`]
  await using store = redisState(await openRedis({ clusterNodes }, { answerWithinMs: 300 }))
  const codes = store.adapterFor('AuthorizationCode')
  const ids = Array.from({ length: 30 }, (_, index) => `id-${index}`)
  const findAll = () => Promise.all(ids.map((id) => codes.find(id)))
  await findAll()
  first?.freeze()
  try {
    await inTime(500, () => rejection(findAll()))
  } finally {
    first?.thaw()
  }
  await within(1_000, eventually(1_000, findAll))
})

const LIMIT_MS = 250
const HELD_UP_MS = 400

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** In each turn, sends a query and blocks this process past the time limit, at a different step of the query. */
async function askAndBlock(ask: () => Promise<unknown>, turns = [0, 1, 2, 3]): Promise<void> {
  for (const turnsBefore of turns) {
    const answer = ask()
    answer.catch(() => {})
    for (let i = 0; i < turnsBefore; i += 1) await nextTurn()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, HELD_UP_MS)
    await answer
  }
}

describe('A store is not given up because this process was busy [design 24]', function () {
  // On a busy machine, the store itself may be late.
  this.retries(4)
  const postgres = sharedProgram('postgres')
  const redis = sharedProgram('redis-server')

  const statements: Record<string, (database: Database) => () => Promise<unknown>> = {
    'a compiled statement that reads': (database) => () => settings(database).read({ name: 'a' }),
    'a compiled statement that writes': ({ kysely }) => {
      const remove = compiled(kysely, (value: Valued<{ name: string }>) =>
        kysely.deleteFrom('setting').where('name', '=', value('name')),
      )
      return () => remove({ name: 'a' })
    },
    'a transaction': ({ kysely }) => {
      return () => kysely.transaction().execute((trx) => rowsOf(trx, 'setting'))
    },
  }
  for (const [what, prepare] of Object.entries(statements)) {
    it(`with ${what} on PostgreSQL, also before the first connection`, async () => {
      for (const turns of [[1], [0, 1, 2, 3]]) {
        const { location } = await postgresPlace(postgres())
        await using database = await openDatabase(location, { answerWithinMs: LIMIT_MS })
        const ask = prepare(database)
        if (turns.length > 1) await ask()
        await askAndBlock(ask, turns)
      }
    })
  }

  for (const isCluster of [false, true]) {
    it(`with ${isCluster ? 'a Redis Cluster' : 'Redis'}`, async () => {
      await using server = await (isCluster ? startRedisCluster : startRedis)(redis())
      const location = 'url' in server ? { url: server.url } : { clusterNodes: server.addresses }
      const client = await openRedis(location, { answerWithinMs: LIMIT_MS })
      try {
        await client.get('a')
        await askAndBlock(() => client.get('a'))
      } finally {
        client.disconnect()
      }
    })
  }
})
