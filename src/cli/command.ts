import { pino } from 'pino'

import type { Config } from '../config/config.ts'
import { openConfiguredDatabase } from '../open-gatehouse.ts'
import type { Database } from '../store/database.ts'

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
  await using database = await openConfiguredDatabase(config, pino({ level: 'silent' }))
  return await work(database)
}
