import { expect } from 'chai'

import { compiled, type Valued } from '../../src/platform/store/compiled.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { openRedis } from '../../src/platform/store/redis.ts'
import { postgresPlace } from '../support/database.ts'
import { startRedis, startRedisCluster } from '../support/redis.ts'
import { requireProgram } from '../support/skipped.ts'

const LIMIT_MS = 250
const HELD_UP_MS = 400

/** Keeps this process from everything else, as a long computation or a busy machine does. */
function holdUp(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, HELD_UP_MS)
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** Asks, and can listen only long after the limit: before the question was sent, and after it. */
async function askAndBeHeldUp(ask: () => Promise<unknown>): Promise<void> {
  await ask()
  for (const turnsBefore of [0, 1, 2, 3]) {
    const answer = ask()
    answer.catch(() => {})
    for (let i = 0; i < turnsBefore; i += 1) await nextTurn()
    holdUp()
    await answer
  }
}

describe('A store is not given up because this process was held up [design 24]', function () {
  // On a busy machine a store is late by itself now and then; who has no patience fails each time.
  this.retries(4)

  describe('while it asked PostgreSQL', () => {
    let file: string
    before(function () {
      file = requireProgram(this, 'postgres')
    })

    async function openOne() {
      const place = await postgresPlace(file)
      return await openDatabase(place.location, { answerWithinMs: LIMIT_MS })
    }

    it('by a compiled statement that reads', async () => {
      await using database = await openOne()
      const { kysely } = database
      const read = compiled(kysely, (value: Valued<{ name: string }>) =>
        kysely.selectFrom('setting').selectAll().where('name', '=', value('name')),
      )
      await askAndBeHeldUp(() => read({ name: 'a' }))
    })

    it('by a compiled statement that writes', async () => {
      await using database = await openOne()
      const { kysely } = database
      const remove = compiled(kysely, (value: Valued<{ name: string }>) =>
        kysely.deleteFrom('setting').where('name', '=', value('name')),
      )
      await askAndBeHeldUp(() => remove({ name: 'a' }))
    })

    it('in a transaction', async () => {
      await using database = await openOne()
      await askAndBeHeldUp(() =>
        database.kysely
          .transaction()
          .execute(async (trx) => await trx.selectFrom('setting').selectAll().execute()),
      )
    })

    it('for the first time, before there was a connection', async () => {
      await using database = await openOne()
      const rows = database.kysely.selectFrom('setting').selectAll().execute()
      rows.catch(() => {})
      await nextTurn()
      holdUp()
      expect(await rows).to.be.empty
    })
  })

  it('while it asked Redis', async function () {
    await using server = await startRedis(requireProgram(this, 'redis-server'))
    const client = await openRedis({ url: server.url }, { answerWithinMs: LIMIT_MS })
    try {
      await askAndBeHeldUp(() => client.get('a'))
    } finally {
      client.disconnect()
    }
  })

  it('while it asked a Redis Cluster', async function () {
    await using cluster = await startRedisCluster(requireProgram(this, 'redis-server'))
    const clusterNodes = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`)
    const client = await openRedis({ clusterNodes }, { answerWithinMs: LIMIT_MS })
    try {
      await askAndBeHeldUp(() => client.get('a'))
    } finally {
      client.disconnect()
    }
  })
})
