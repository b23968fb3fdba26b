import type { Config } from '../../config/config.ts'
import type { MigrationStatus } from '../../platform/store/migrate.ts'
import {
  locationOf,
  openServiceDatabase,
  readSchemaStatus,
} from '../../platform/store/open-stores.ts'
import type { Given } from './command-line.ts'

/** The time limit for a statement. Longer than at start-up, because indexing a large table takes a long time. */
const STATEMENT_TIMEOUT_MS = 60 * 60_000

/** `migrate`: applies pending migrations, even with MIGRATE_AT_START=no. `--dry-run` only lists them. */
export async function migrateDatabase(config: Config, given: Given): Promise<string> {
  const before = await readSchemaStatus(locationOf(config))
  if (given['dry-run']) return describeMigrations(before)
  const database = await openServiceDatabase(config, {
    migrations: 'apply',
    migrationTimeoutMs: STATEMENT_TIMEOUT_MS,
  })
  await database[Symbol.asyncDispose]()
  if (before.pending.length === 0) return 'The schema is up to date; nothing was changed.'
  return `Applied ${before.pending.map(({ name }) => name).join(', ')}.`
}

function describeMigrations({ appliedCount, pending }: MigrationStatus): string {
  if (pending.length === 0) {
    return `The schema is up to date. Applied migrations: ${appliedCount}, pending: none.`
  }
  const lines = pending.map(({ name, effect }) => `  ${name}  ${meanings[effect]}`)
  return [`Applied migrations: ${appliedCount}, pending: ${pending.length}`, ...lines].join('\n')
}

const meanings = {
  expand: 'only adds to the schema: processes of the previous version may keep running',
  contract:
    'removes or restricts something that the previous version may use: stop its processes first',
} as const
