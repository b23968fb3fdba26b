import type { Config } from '../../config/config.ts'
import type { Database } from '../../platform/store/database.ts'
import { openRedis } from '../../platform/store/redis.ts'
import { findRestore } from '../../platform/store/restore-marker.ts'
import { type Finding, found } from './checks.ts'

const REDIS_READY_TIMEOUT_MS = 2_000

/** Looks for a restore without the `restore` command. A Redis that does not respond has a finding of its own. */
export async function* checkRestore(config: Config, database: Database): AsyncGenerator<Finding> {
  const redis = await openRedisOf(config).catch(() => undefined)
  const finding = findRestore({ database, redis, dataDir: config.dataDir })
  const { isOlder, sentence } = await finding.finally(() => redis?.disconnect())
  if (sentence) yield found(isOlder ? 'restore.older' : 'restore.timeline', sentence)
}

/** Opens Redis, if it is configured. @throws if it is not ready within two seconds */
export async function openRedisOf({ redis, service }: Config) {
  const { answerWithinMs } = service.storage
  return redis && openRedis(redis, { answerWithinMs, readyTimeoutMs: REDIS_READY_TIMEOUT_MS })
}
