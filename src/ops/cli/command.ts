import type { Config } from '../../config/config.ts'
import { type KeyDependencies, type KeyUse, openKeys } from '../../oauth/keys/keys.ts'
import { openStoreClock } from '../../platform/store/clock.ts'
import type { Database } from '../../platform/store/database.ts'
import { openServiceDatabase } from '../../platform/store/open-stores.ts'

/** What every command needs: the configured database. */

/**
 * A text that somebody else wrote, as a terminal may be given it: without what moves its cursor, changes its
 * colours or its title, or turns the direction of what stands beside it.
 */
export function asOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
}

/** Nobody waits for a command as for a request, and a store under load is given time. */
const PATIENCE_MS = 30_000

/**
 * Opens the database that the service of this configuration would use, and closes it again. What a command
 * writes is dated by the clock of the database, as what a service writes.
 */
export async function withDatabase<Result>(
  config: Config,
  work: (database: Database, now: () => number) => Promise<Result>,
): Promise<Result> {
  const settings = { ...config, ...config.service.storage, answerWithinMs: PATIENCE_MS }
  await using database = await openServiceDatabase(settings)
  return await work(database, (await openStoreClock(database)).now)
}

/** The signing keys of this configuration, by what they sign. */
export function keysOf(
  config: Config,
  { database, now }: Pick<KeyDependencies, 'database' | 'now'>,
): Readonly<Record<KeyUse, KeyDependencies>> {
  return openKeys({ ...config, database, policy: config.service.keys, now }).signing
}
