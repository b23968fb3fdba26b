import { startRedis } from '../support/redis.ts'
import { type CountedOperation, countRoundTrips, type RoundTrips } from '../support/round-trips.ts'
import { shared } from '../support/shared.ts'
import { requireProgram } from '../support/skipped.ts'

/** The round trips of each operation. They do not depend on the machine, so a change that adds one fails here. */
const expected: Readonly<Record<CountedOperation, RoundTrips>> = {
  'code exchange': { sql: 2, redisCommands: 0, redisBatches: 0, deep: 2 },
  refresh: { sql: 2, redisCommands: 0, redisBatches: 0, deep: 2 },
  'refresh, self-registered client': { sql: 2, redisCommands: 1, redisBatches: 1, deep: 2 },
  UserInfo: { sql: 1, redisCommands: 0, redisBatches: 0, deep: 1 },
  'forward auth': { sql: 1, redisCommands: 0, redisBatches: 0, deep: 1 },
  introspection: { sql: 1, redisCommands: 0, redisBatches: 0, deep: 1 },
  '{ viewer { id } }': { sql: 1, redisCommands: 0, redisBatches: 0, deep: 1 },
  'tools/call, anonymous': { sql: 3, redisCommands: 0, redisBatches: 0, deep: 2 },
  'tools/call, member': { sql: 2, redisCommands: 0, redisBatches: 0, deep: 2 },
  'Admin API mutation': { sql: 9, redisCommands: 0, redisBatches: 0, deep: 5 },
  discovery: { sql: 0, redisCommands: 0, redisBatches: 0, deep: 0 },
  'key set': { sql: 0, redisCommands: 0, redisBatches: 0, deep: 0 },
}

describe('round trips on PostgreSQL and Redis', () => {
  const counted = shared(async function () {
    const postgresFile = requireProgram(this, 'postgres')
    await using redis = await startRedis(requireProgram(this, 'redis-server'))
    return await countRoundTrips({ postgresFile, redisUrl: redis.url })
  })

  for (const [name, roundTrips] of Object.entries(expected)) {
    it(`of ${name} match the table`, () => {
      expect(Reflect.get(counted(), name)).to.deep.equal(roundTrips)
    })
  }
})
