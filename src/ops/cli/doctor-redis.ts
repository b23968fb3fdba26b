import type { Config } from '../../config/config.ts'
import { openRedis, type RedisClient } from '../../platform/store/redis.ts'
import {
  judgeDurability,
  lookAtDurability,
  type Remark,
} from '../../platform/store/redis-durability.ts'
import { type Finding, found, ok } from '../doctor/checks.ts'
import { compareClocks, orFound } from './doctor-looks.ts'

/** A person is waiting. */
const REDIS_READY_TIMEOUT_MS = 2_000

/** What doctor finds of Redis, where there is one. */
export async function lookAtRedis({ redis: address, service }: Config): Promise<Finding[]> {
  if (!address) return []
  return await orFound('redis.silent', 'Redis does not answer', async () => {
    const redis = await openRedis(address, {
      answerWithinMs: service.storage.answerWithinMs,
      readyTimeoutMs: REDIS_READY_TIMEOUT_MS,
    })
    try {
      await redis.ping()
      const servers = await lookAtDurability(redis)
      return [
        ok('Redis answers.'),
        await lookAtRedisClock(redis),
        ...servers.flatMap(judgeDurability).map(findingOf),
      ]
    } finally {
      redis.disconnect()
    }
  })
}

async function lookAtRedisClock(redis: RedisClient): Promise<Finding> {
  const before = Date.now()
  const [seconds = 0, microseconds = 0] = await redis.time()
  return compareClocks('Redis', Number(seconds) * 1000 + Number(microseconds) / 1000, before)
}

/** The table says what to do, so that the remark need not. */
function findingOf({ kind, sentence }: Remark): Finding {
  if (kind === 'ok') return ok(sentence)
  return found(kind === 'wrong' ? 'redis.forgets' : 'redis.loses', sentence.replace(/\.$/, ''))
}
