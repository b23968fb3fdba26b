import type { Config } from '../config/config.ts'
import { openKeys } from '../keys/keys.ts'
import type { KeyDependencies, KeyUse } from '../keys/signing-keys.ts'
import type { Database } from '../store/database.ts'
import { openServiceDatabase } from '../store/open-stores.ts'

/** What every command needs: the configured database. */

/** A command that has a report to print although it ends with an error. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused'
  readonly report: string

  constructor(report: string, message: string) {
    super(message)
    this.report = report
  }
}

/** Opens the database that the service of this configuration would use, and closes it again. */
export async function withDatabase<Result>(
  config: Config,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  await using database = await openServiceDatabase({ ...config, ...config.service.storage })
  return await work(database)
}

/** The signing keys of this configuration, by what they sign. */
export function keysOf(
  config: Config,
  database: Database,
): Readonly<Record<KeyUse, KeyDependencies>> {
  return openKeys({ ...config, database, policy: config.service.keys, now: Date.now }).signing
}
