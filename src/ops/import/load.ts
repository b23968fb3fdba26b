/** A data set of sites and people, checked and imported. The running service does without it. */

import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { type InsertObject, sql, type Transaction } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { parseCampus } from './parse.ts'
import { type CampusRows, campusRows } from './rows.ts'
import type { Campus } from './shape.ts'

/**
 * Brings a campus into the database, whole or not at all. It owns the files of a campus and the
 * transaction; it does not hash passwords and it never changes a row that exists.
 */

const DEMO_MARKER = 'demo_campus'
const FILES_MAX = 100
const FILE_BYTES_MAX = 64 * 1024 * 1024
/** Small enough for one statement of either database, in parameters and in time. */
const ROWS_PER_STATEMENT = 200
const HASHES_AT_ONCE = 8

export interface CampusLoading {
  readonly database: Database
  readonly campus: Campus
  readonly hashPassword: (password: string) => Promise<string>
  readonly now: () => number
  /** Leaves the mark by which `holdsDemoCampus` knows that the passwords of these people are public. */
  readonly demo?: boolean
}

/** Thrown when the database already holds a row of the campus; nothing was changed then. */
export class RowsExist extends Error {
  override name = 'RowsExist'
}

/** Reads every .json file of a folder as one campus; a list may be spread over several files. */
export async function readCampusFolder(folder: string): Promise<Campus> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  if (files.length === 0) throw new Error(`${folder} holds no .json file of a campus`)
  if (files.length > FILES_MAX) throw new Error(`${folder} holds more than ${FILES_MAX} files`)

  const merged = new Map<string, unknown>()
  for (const file of files) {
    for (const [key, value] of Object.entries(await readCampusFile(join(folder, file)))) {
      const before = merged.get(key)
      merged.set(key, Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value)
    }
  }
  return parseCampus(Object.fromEntries(merged))
}

async function readCampusFile(path: string): Promise<object> {
  if ((await stat(path)).size > FILE_BYTES_MAX) throw new Error(`${path} is too large for a campus`)
  const data = parseJson(await readFile(path, 'utf8'), path)
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return data
  throw new Error(`${path} must hold one JSON object with lists like "sites" and "people"`)
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error(`${path} is not JSON`, { cause })
  }
}

/**
 * Writes a campus in one transaction. Identifiers stay as they are, passwords and client secrets
 * are kept as digests only. When any row exists already it throws `RowsExist` and changes nothing.
 *
 * @returns how many rows of each table were written
 */
export async function loadCampus(loading: CampusLoading): Promise<Record<string, number>> {
  // Hashing is slow on purpose, so it is done before the transaction holds any lock.
  const passwordHashes = await hashPasswords(loading)
  const nowMs = loading.now()
  const rows = campusRows(loading.campus, { nowMs, passwordHashes })

  await loading.database.kysely.transaction().execute(async (transaction) => {
    await insertCampus(transaction, rows)
    if (loading.demo) await insertMarker(transaction, nowMs)
  })
  return Object.fromEntries(Object.entries(rows).map(([table, list]) => [table, list.length]))
}

async function hashPasswords({
  campus: { people },
  hashPassword,
}: CampusLoading): Promise<Map<string, string>> {
  const hashes = new Map<string, string>()
  for (const some of chunks(people, HASHES_AT_ONCE)) {
    await Promise.all(
      some.map(async ({ id, password }) => {
        if (password !== null) hashes.set(id, await hashPassword(password))
      }),
    )
  }
  return hashes
}

/** Parents come before their children, or the foreign keys refuse; `campusRows` has this order. */
async function insertCampus(transaction: Transaction<Schema>, rows: CampusRows): Promise<void> {
  for (const table of Object.keys(rows) as (keyof CampusRows)[]) {
    const all: readonly InsertObject<Schema, typeof table>[] = rows[table]
    for (const some of chunks(all, ROWS_PER_STATEMENT)) await insertNew(transaction, table, some)
  }
}

/**
 * Inserts and sees from the answer which rows were there before. Asking first would let another
 * process in between, and the drivers' constraint errors differ.
 */
async function insertNew<T extends keyof CampusRows>(
  transaction: Transaction<Schema>,
  table: T,
  rows: readonly InsertObject<Schema, T>[],
): Promise<void> {
  const key = Object.keys(rows[0] ?? {})[0] ?? 'id'
  const inserted = await transaction
    .insertInto(table)
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .returning(sql<string>`${sql.ref(key)}`.as('key'))
    .execute()
  if (inserted.length === rows.length) return

  const written = new Set(inserted.map((row) => row.key))
  const ids = rows.map((row) => String(Object.values(row)[0])).filter((id) => !written.has(id))
  throw new RowsExist(
    `The campus was not loaded, and nothing was changed: the table ${table} holds ` +
      `${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ` and ${ids.length - 5} more` : ''} already ` +
      '(the same id, or another row with the same e-mail address, slug or number)',
  )
}

async function insertMarker(transaction: Transaction<Schema>, nowMs: number): Promise<void> {
  const value = JSON.stringify({ loadedAt: new Date(nowMs).toISOString() })
  await transaction
    .insertInto('setting')
    .values({ name: DEMO_MARKER, value, updated_at: nowMs })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value, updated_at: nowMs }))
    .execute()
}

function chunks<T>(list: readonly T[], size: number): T[][] {
  const count = Math.ceil(list.length / size)
  return Array.from({ length: count }, (_, index) => list.slice(index * size, (index + 1) * size))
}

/** Whether nobody and nothing lives in the database yet: no person and no site. */
export async function isEmpty({ kysely }: Database): Promise<boolean> {
  for (const table of ['person', 'site'] as const) {
    if (await kysely.selectFrom(table).select('id').limit(1).executeTakeFirst()) return false
  }
  return true
}

/** Whether the database was filled with the demo campus, whose passwords everybody knows. */
export async function holdsDemoCampus({ kysely }: Database): Promise<boolean> {
  const marker = await kysely
    .selectFrom('setting')
    .select('name')
    .where('name', '=', DEMO_MARKER)
    .executeTakeFirst()
  return marker !== undefined
}

/** The people of a demo campus in words, for the start-up text and the welcome page. */
export function demoPeople({ people, sites }: Campus) {
  const siteNames = new Map(sites.map((site) => [site.id, site.name]))
  return people.flatMap(({ email, password, roles, disabledAt }) => {
    if (password === null) return []
    const bySite = Map.groupBy(roles, ({ site }) => siteNames.get(site) ?? site)
    const places = [...bySite].map(
      ([name, held]) => `${held.map(({ role }) => role).join(' and ')} at ${name}`,
    )
    const what = places.join(', ') || 'no role at any site'
    return [{ login: email, password, what: disabledAt === null ? what : `${what}; disabled` }]
  })
}
