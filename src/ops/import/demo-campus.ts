import { existsSync } from 'node:fs'

import type { z } from 'zod'

import type { Config } from '../../config/config.ts'
import type { Platform } from '../../platform/platform.ts'
import type { Database } from '../../platform/store/database.ts'
import { readSetting, writeSetting } from '../../platform/store/settings.ts'
import { openSources } from './import-sources.ts'
import { BATCH_LINES, type ReadLine, type RejectedLine, readBatch } from './read-records.ts'
import type { KindName, kinds } from './record-kinds.ts'
import { hashPasswords } from './write-batch.ts'
import { trackRejectedIds, writeLines } from './write-lines.ts'

const DEMO_MARKER = 'demo_campus'

type HashPassword = (password: string) => Promise<string>

/**
 * Loads the demo campus into an empty SQLite database, if allowed. Returns its accounts, or none if it is not loaded.
 *
 * @throws if the database contains the demo campus, whose passwords are public, but the configuration forbids it
 */
export async function settleDemo(
  config: Config,
  { database, logger, now }: Platform,
  hashPassword: HashPassword,
) {
  const { demoFolder, mayServeDemo, databaseUrl } = config
  if (await holdsDemoCampus(database)) {
    if (!mayServeDemo) throw new Error(demoRefusal(config))
    return demoPeople(await readDemo(demoFolder))
  }
  if (!mayServeDemo) return []
  // Do not fill a database that the operator configured.
  if (databaseUrl !== undefined) {
    logger.info(
      'DEMO_DATA loads the demo campus only into the embedded database. To load it into the database in DATABASE_URL, import config/demo. Its passwords are public.',
    )
    return []
  }
  if (!(await isEmpty(database))) return []
  if (!existsSync(demoFolder)) {
    logger.info(`The demo campus is not loaded, because there is no folder ${demoFolder}.`)
    return []
  }
  const lines = await readDemo(demoFolder)
  await loadDemo(database, lines, { hashPassword, now })
  return demoPeople(lines)
}

function demoRefusal({ baseUrl, host, databaseUrl }: Config): string {
  const where = databaseUrl ? 'the database in DATABASE_URL' : 'the embedded database'
  return (
    `Gatehouse cannot start: ${where} contains the demo campus, whose passwords are public ` +
    `(BASE_URL ${baseUrl}, HOST ${host}). Use an empty database or, if this is intended, set DEMO_DATA=on.`
  )
}

/** Reads the records of the demo campus, parents before children. @throws an Error that lists the invalid lines */
export async function readDemo(folder: string): Promise<readonly ReadLine[]> {
  const files = (await openSources(folder)).map(async ({ lines }) => await Array.fromAsync(lines))
  const { lines, rejected } = readBatch((await Promise.all(files)).flat())
  mustBeValid(rejected)
  return lines
}

function mustBeValid(rejected: readonly RejectedLine[]): void {
  if (rejected.length === 0) return
  const problems = rejected.map(({ line, problem }) => `- ${problem}: ${line.text}`)
  throw new Error(`The demo campus is invalid:\n${problems.join('\n')}`)
}

/** Writes the demo campus and a marker, in one transaction. Returns false if the database is not empty. */
export async function loadDemo(
  database: Database,
  lines: readonly ReadLine[],
  { hashPassword, now }: { readonly hashPassword: HashPassword; readonly now: () => number },
): Promise<boolean> {
  // Hashing is slow by design, so hash before the transaction takes locks.
  const records = lines.map(({ record }) => record)
  const passwordHashes = await hashPasswords(records, hashPassword)
  const nowMs = now()
  return await database.kysely.transaction().execute(async (trx) => {
    // Another process may have filled the database in the meantime.
    if (!(await isEmpty({ kysely: trx }))) return false
    const writing = { trx, nowMs, passwordHashes, changed: new Set<string>() }
    const rejected: RejectedLine[] = []
    const rejectedIds = trackRejectedIds()
    for (let at = 0; at < lines.length; at += BATCH_LINES) {
      const some = lines.slice(at, at + BATCH_LINES)
      rejected.push(...(await writeLines(some, writing, rejectedIds)))
    }
    mustBeValid(rejected.filter(({ dependent }) => dependent === undefined))
    const value = JSON.stringify({ loadedAt: new Date(nowMs).toISOString() })
    await writeSetting(trx, DEMO_MARKER, value, nowMs)
    return true
  })
}

async function isEmpty({ kysely }: Pick<Database, 'kysely'>): Promise<boolean> {
  for (const table of ['person', 'site'] as const) {
    if (await kysely.selectFrom(table).select('id').limit(1).executeTakeFirst()) return false
  }
  return true
}

export async function holdsDemoCampus({ kysely }: Database): Promise<boolean> {
  return (await readSetting(kysely, DEMO_MARKER)) !== undefined
}

/** Returns the login, password and roles of each person with a password, for the welcome texts. */
export function demoPeople(lines: readonly ReadLine[]) {
  const siteNames = new Map(valuesOfKind(lines, 'site').map((site) => [site.id, site.name]))
  return valuesOfKind(lines, 'person').flatMap(({ email, password, roles, disabledAt }) => {
    if (password === null) return []
    const bySite = Map.groupBy(roles, ({ site }) => siteNames.get(site) ?? site)
    const places = [...bySite].map(
      ([name, held]) => `${held.map(({ role }) => role).join(' and ')} at ${name}`,
    )
    const what = places.join(', ') || 'no role at any site'
    return [{ login: email, password, what: disabledAt === null ? what : `${what}; disabled` }]
  })
}

/** Returns the values of all records of one kind. */
export function valuesOfKind<Name extends KindName>(lines: readonly ReadLine[], name: Name) {
  type Values = z.output<(typeof kinds)[Name]['schema']>
  return lines.flatMap(({ record }) => (record.type === name ? [record.values as Values] : []))
}
