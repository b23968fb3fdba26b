/** What commands share: the configured database, text for a terminal, and how a command fails. */

import type { Config } from '../../config/config.ts'
import { type KeyDependencies, type KeyUse, openKeys } from '../../oauth/keys/keys.ts'
import { openStoreClock } from '../../platform/store/clock.ts'
import type { Database } from '../../platform/store/database.ts'
import { openServiceDatabase } from '../../platform/store/open-stores.ts'

/** A command that has a report to print although it fails. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused'
  readonly report: string
  /** The exit code of the process. */
  readonly exitCode: number

  constructor(report: string, message: string, exitCode = 1) {
    super(message)
    this.report = report
    this.exitCode = exitCode
  }
}

/**
 * Foreign text as one line that is safe for a terminal: without characters that move its cursor, change its
 * colors or its title, or turn the direction of text.
 */
export function asOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
}

/** A command may wait longer than a request, so that a store under load has time. */
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
