/** Imports records from files into the database. */

import { setTimeout as pause } from 'node:timers/promises'

import { sql, type Transaction } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { Source } from './import-sources.ts'
import { type Batch, batchesOf, type DataRecord, type LineProblem } from './read-records.ts'
import { isKindName, type KindName, kindOf } from './record-kinds.ts'
import { referencesIn, type Writing } from './record-rows.ts'
import { Contradiction, hashPasswords, writeBatch } from './write-batch.ts'

const REFUSED_SHOWN_MAX = 200

/** After this many rows, update the statistics of a table. */
const MANY_ROWS = 10_000

export interface ImportSettings {
  readonly database: Database
  readonly sources: readonly Source[]
  readonly hashPassword: (password: string) => Promise<string>
  readonly now: () => number
  /** Called after each batch with its lines and its size in the unit of the source. */
  readonly onProgress: (lines: number, size: number) => void
}

export interface ImportReport {
  /** Imported records by kind, including unchanged ones. */
  readonly written: Partial<Record<KindName, number>>
  /** The first rejected lines. */
  readonly refused: { source: string; line: number; problem: string }[]
  refusedCount: number
  /** Valid lines that were not written because another line of their batch was rejected. */
  leftOut: number
  /** Lines that an earlier run wrote. */
  skipped: number
}

/**
 * Imports records in batches. A batch is one transaction: if a line is rejected, none of its batch is
 * written, and the import continues with the next batch. An interrupted import of the same file resumes
 * after the last batch up to which everything was written.
 */
export async function importLines(settings: ImportSettings): Promise<Readonly<ImportReport>> {
  const { database, sources } = settings
  const report: ImportReport = { written: {}, refused: [], refusedCount: 0, leftOut: 0, skipped: 0 }
  for (const source of sources) {
    const place = await openPlace(database, source)
    report.skipped += place.line
    for await (const batch of batchesOf(source, place.line, database.engine)) {
      const problems = await importBatch(settings, batch, place)
      place.isComplete &&= problems.length === 0
      count(report, source, batch, problems)
      settings.onProgress(batch.lines.length, batch.size)
    }
    if (place.isComplete) await forgetPlace(database, place)
  }
  await refreshStatistics(database, report)
  return report
}

function count(
  report: ImportReport,
  { name: source }: Source,
  { lines }: Batch,
  problems: readonly LineProblem[],
): void {
  const { written, refused } = report
  if (problems.length === 0) {
    for (const { record } of lines) written[record.type] = (written[record.type] ?? 0) + 1
    return
  }
  const numbers = new Set(problems.map(({ number }) => number))
  report.refusedCount += problems.length
  report.leftOut += lines.filter(({ number }) => !numbers.has(number)).length
  const shown = problems.slice(0, REFUSED_SHOWN_MAX - refused.length)
  refused.push(...shown.map(({ number, problem }) => ({ source, line: number, problem })))
}

/** @returns the problems of its lines; if there are any, nothing was written */
async function importBatch(
  { database, hashPassword, now }: ImportSettings,
  batch: Batch,
  place: Place,
): Promise<readonly LineProblem[]> {
  if (batch.problems.length > 0) return batch.problems
  const records = batch.lines.map(({ record }) => record)
  const writing = { nowMs: now(), passwordHashes: await hashPasswords(records, hashPassword) }
  const startedMs = performance.now()
  try {
    await database.kysely.transaction().execute(async (trx) => {
      await writeBatch(trx, records, writing)
      await keepPlace(trx, place, batch.last, writing.nowMs)
    })
  } catch (cause) {
    return await explainFailure(database, batch.lines, writing, cause)
  }
  // SQLite has one writer. Pause, because waiting requests only retry at intervals.
  if (database.engine === 'sqlite') await pause((performance.now() - startedMs) / 4)
  return []
}

/**
 * Finds the lines that made a batch fail: writes each separately, in a transaction that is rolled back.
 *
 * @throws the cause if no line fails, for example when the disk is full
 */
async function explainFailure(
  database: Database,
  lines: readonly { readonly number: number; readonly record: DataRecord }[],
  writing: Writing,
  cause: unknown,
): Promise<LineProblem[]> {
  const problems: LineProblem[] = []
  const trx = await database.kysely.startTransaction().execute()
  try {
    for (const { number, record } of lines) {
      const problem = await tryLine(trx, record, writing)
      if (problem !== undefined) problems.push({ number, problem })
    }
  } finally {
    await trx.rollback().execute()
  }
  if (problems.length === 0) throw cause
  return problems
}

async function tryLine(trx: Transaction<Schema>, record: DataRecord, writing: Writing) {
  await sql`savepoint line`.execute(trx)
  try {
    await writeBatch(trx, [record], writing)
    return undefined
  } catch (error) {
    await sql`rollback to savepoint line`.execute(trx)
    if (error instanceof Contradiction) return error.message
    if (!isConstraint(error)) throw error
    return (await findUnknownReference(trx, record)) ?? describeConstraint(error)
  } finally {
    await sql`release savepoint line`.execute(trx)
  }
}

/** SQLite has one prefix for constraints; PostgreSQL has class 23. */
function isConstraint(error: unknown): error is Error & { readonly detail?: string } {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('SQLITE_CONSTRAINT') || code.startsWith('23')
}

/** Finds the first reference to a record that does not exist. */
async function findUnknownReference(trx: Transaction<Schema>, { values }: DataRecord) {
  for (const { field, kind, id } of referencesIn(values)) {
    if (!isKindName(kind)) continue
    const { rows } =
      await sql`select 1 from ${sql.table(kindOf(kind).table)} where id = ${id}`.execute(trx)
    if (rows.length === 0) return `${field}: no ${kind} has the id ${id}`
  }
  return undefined
}

/** Names the columns of a violated unique constraint. */
function describeConstraint({ message, detail }: Error & { readonly detail?: string }): string {
  const columns =
    /UNIQUE constraint failed: (.*)/.exec(message)?.[1] ?? /Key \(([^)]*)\)/.exec(detail ?? '')?.[1]
  return columns === undefined
    ? 'contradicts data in the database'
    : `another record has the same ${columns.replace(/\w+\./g, '').replaceAll('_', ' ')}`
}

/**
 * Updates the statistics of PostgreSQL, which would otherwise plan for nearly empty tables until autovacuum
 * runs. SQLite needs none here.
 */
async function refreshStatistics({ kysely, engine }: Database, { written }: ImportReport) {
  if (engine === 'sqlite') return
  const types = (Object.keys(written) as KindName[]).filter(
    (type) => (written[type] ?? 0) >= MANY_ROWS,
  )
  for (const { table, inner } of types.map(kindOf)) {
    const tables = [table, ...(inner?.lists ?? []).map((list) => list.table)]
    for (const name of tables) await sql`analyze ${sql.table(name)}`.execute(kysely)
  }
}

/** The progress in a source, which is stored with each batch. */
interface Place {
  /** Undefined if the source can be read only once. */
  readonly name: string | undefined
  /** The last line of an earlier run. */
  readonly line: number
  /** Whether every batch so far was written. */
  isComplete: boolean
}

/** Reads where an earlier run of the same content ended. */
async function openPlace({ kysely }: Database, { digest }: Source): Promise<Place> {
  if (!digest) return { name: undefined, line: 0, isComplete: true }
  const name = `import ${await digest()}`
  const kept = await kysely
    .selectFrom('setting')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return { name, line: kept ? Number(kept.value) : 0, isComplete: true }
}

/** Stores the progress, if every batch so far was written. */
async function keepPlace(
  trx: Transaction<Schema>,
  { name, isComplete }: Place,
  line: number,
  nowMs: number,
): Promise<void> {
  if (name === undefined || !isComplete) return
  const row = { value: String(line), updated_at: nowMs }
  await trx
    .insertInto('setting')
    .values({ name, ...row })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
    .execute()
}

/** Deletes the progress, so that the next import of the source starts at its beginning. */
async function forgetPlace({ kysely }: Database, { name }: Place): Promise<void> {
  if (name !== undefined) await kysely.deleteFrom('setting').where('name', '=', name).execute()
}
