import type { Config } from '../../config/config.ts'
import { type Change, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import { openStoreClock } from '../../platform/store/clock.ts'
import type { Database } from '../../platform/store/database.ts'
import { openServiceDatabase } from '../../platform/store/open-stores.ts'

/** The time limit for a store call. Longer than the limit for requests, so a store under load can respond. */
const ANSWER_WITHIN_MS = 30_000

/**
 * Runs `work` with the configured database and its clock. With `writes`, applies pending migrations first. Throws if
 * migrations are pending and `use` is `reads` or MIGRATE_AT_START is `no`.
 */
export async function withDatabase<Result>(
  config: Config,
  use: 'reads' | 'writes',
  work: (database: Database, now: () => number) => Promise<Result>,
): Promise<Result> {
  await using database = await openServiceDatabase(config, {
    answerWithinMs: ANSWER_WITHIN_MS,
    ...(use === 'reads' && { migrations: 'refuse' }),
  })
  return await work(database, (await openStoreClock(database)).now)
}

const REDIS_READY_TIMEOUT_MS = 2_000

/** Opens Redis, if it is configured. @throws if it is not ready within two seconds */
export async function openRedisOf({ redis, service }: Config) {
  const options = { ...service.storage, readyTimeoutMs: REDIS_READY_TIMEOUT_MS }
  return redis && (await import('../../platform/store/redis.ts')).openRedis(redis, options)
}

/** Records an audit event for a command, without a site. */
export async function recordCommand(
  kysely: Database['kysely'],
  nowMs: number,
  change: Omit<Change, 'siteId'>,
): Promise<void> {
  await recordAuditEvent(kysely, { now: nowMs }, { ...change, siteId: undefined })
}
