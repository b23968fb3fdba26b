import type { Redis } from 'ioredis'

import { type Copying, copyOf, type Kind, type RedisRecord } from './sample.ts'

/** What one sign-in left in Redis; sessions, codes and interactions are not multiplied. */
export async function readRedisSample(redis: Redis): Promise<RedisRecord[]> {
  const keys = await redis.keys('*')
  const records = await Promise.all(keys.map((key) => readRecord(redis, key)))
  return records.filter((record) => record !== undefined)
}

async function readRecord(redis: Redis, key: string): Promise<RedisRecord | undefined> {
  const kind = kindOf(key)
  if (kind === undefined) return undefined
  const ttlMs = await redis.pttl(key)
  const type = await redis.type(key)
  const write = (command: string, words: readonly string[]) => ({
    ...{ kind, command, ttlMs },
    words: [key, ...words],
  })
  if (type === 'string') return write('set', [(await redis.get(key)) ?? ''])
  if (type === 'hash') return write('hset', Object.entries(await redis.hgetall(key)).flat())
  if (type === 'set') return write('sadd', await redis.smembers(key))
  if (type === 'zset') {
    const turned = await redis.zrange(key, '0', '-1', 'WITHSCORES')
    return write(
      'zadd',
      turned.map((_, at) => turned[at % 2 === 0 ? at + 1 : at - 1] ?? ''),
    )
  }
  throw new Error(`${key} is a ${type}, which this bench cannot copy`)
}

function kindOf(key: string): Kind | undefined {
  if (key.includes('AccessToken')) return 'access token'
  return key.includes('RefreshToken') ? 'refresh token family' : undefined
}

export async function writeRedisCopies(
  redis: Redis,
  records: readonly RedisRecord[],
  { from, to, identifiers }: Copying,
): Promise<void> {
  const batch = redis.pipeline()
  for (const { command, words, ttlMs } of records) {
    const text = JSON.stringify(words)
    for (let i = from; i <= to; i += 1) {
      const [key = '', ...others]: string[] = JSON.parse(copyOf(text, identifiers, i))
      batch.call(command, key, ...others)
      batch.pexpire(key, ttlMs)
    }
  }
  await batch.exec()
}
