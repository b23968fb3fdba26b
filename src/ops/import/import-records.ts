/** Imports records from files into the database. */

import { setTimeout as pause } from 'node:timers/promises'

import { sql, type Transaction } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type Missing, settleAbsentPeople } from './absent-people.ts'
import type { Source } from './import-sources.ts'
import { type Batch, batchesOf, type RejectedLine } from './read-records.ts'
import { isKindName, type KindName, kindOf } from './record-kinds.ts'
import { type RejectedIds, trackRejectedIds } from './rejected-ids.ts'
import { hashPasswords } from './write-batch.ts'
import { writeLines } from './write-lines.ts'

const REJECTED_SHOWN_MAX = 200

/** After this many rows, update the statistics of a table. */
const MANY_ROWS = 10_000

export interface ImportSettings {
  readonly database: Database
  readonly sources: readonly Source[]
  readonly hashPassword: (password: string) => Promise<string>
  readonly verifyPassword: (hash: string, password: string) => Promise<boolean>
  readonly now: () => number
  /** What happens to imported people whom the sources lack; undefined to look for none. */
  readonly missing?: Missing | undefined
  /** Called after each batch with its lines and its size in the unit of the source. */
  readonly onProgress: (lines: number, size: number) => void
  /** Called with each rejected line as it was read; not for lines longer than 1 MiB. */
  readonly onReject?: (text: string) => void
}

type Counts = Partial<Record<KindName, number>>

export interface ImportReport {
  /** Imported records by kind, including unchanged ones. */
  readonly written: Counts
  /** The first wrong lines. */
  readonly rejected: { source: string; line: number; problem: string }[]
  rejectedCount: number
  /** Lines by kind that were not written only because they refer to a rejected record. */
  readonly dependents: Counts
  /** Lines that an earlier run wrote. */
  skipped: number
  /** Imported people whom the sources lack, or why they were not looked for. */
  absent: number | string | undefined
}

/** The state of one import. */
interface Run extends ImportSettings {
  readonly report: ImportReport
  readonly rejectedIds: RejectedIds
  /** The ids of people in the sources. */
  readonly people: Set<string>
  /** Whether every line says which record it is about. */
  knowsEveryRecord: boolean
}

/**
 * Imports records in batches, each in one transaction. A wrong line rejects itself and the lines that need
 * its record; all others are written. An interrupted import of the same file resumes after the last batch up
 * to which everything was written.
 */
export async function importLines(settings: ImportSettings): Promise<Readonly<ImportReport>> {
  const { database, sources, missing, now } = settings
  const report: ImportReport = {
    ...{ written: {}, rejected: [], rejectedCount: 0, dependents: {}, skipped: 0 },
    absent: undefined,
  }
  const tracking = { rejectedIds: trackRejectedIds(), people: new Set<string>() }
  const run: Run = { ...settings, report, ...tracking, knowsEveryRecord: true }
  for (const source of sources) {
    const place = await openPlace(database, source)
    // Finding absent people takes all lines.
    const after = missing === undefined ? place.line : 0
    report.skipped += after
    for await (const batch of batchesOf(source, after, database.engine)) {
      const rejected = await importBatch(run, batch, place)
      place.isComplete &&= rejected.length === 0
      count(run, source, batch, rejected)
      if (missing !== undefined) notePeople(run, batch)
      settings.onProgress(batch.lines.length + batch.rejected.length, batch.size)
    }
    if (place.isComplete) await forgetPlace(database, place)
  }
  if (missing !== undefined) report.absent = await settleAbsent(run, missing, now())
  await refreshStatistics(database, report)
  return report
}

function count(
  run: Run,
  { name: source }: Source,
  { lines }: Batch,
  rejected: readonly RejectedLine[],
): void {
  const { written, rejected: shown, dependents } = run.report
  const left = new Set(rejected.map(({ line }) => line))
  for (const { record } of lines.filter(({ line }) => !left.has(line))) add(written, record.type)
  for (const { line, problem, dependent } of rejected.toSorted(byLine)) {
    if (line.text !== undefined) run.onReject?.(line.text)
    if (dependent !== undefined) {
      add(dependents, dependent)
      continue
    }
    run.report.rejectedCount += 1
    if (shown.length < REJECTED_SHOWN_MAX) shown.push({ source, line: line.number, problem })
  }
}

function add(counts: Counts, type: KindName): void {
  counts[type] = (counts[type] ?? 0) + 1
}

/** Notes who is in the sources, also by rejected lines. */
function notePeople(run: Run, { lines, rejected }: Batch): void {
  for (const { line } of [...lines, ...rejected]) {
    const { type, id } = Object(line.value) as Record<string, unknown>
    if (type === 'person' && typeof id === 'string') run.people.add(id)
    else run.knowsEveryRecord &&= isKindName(type) && type !== 'person'
  }
}

function byLine(a: RejectedLine, b: RejectedLine): number {
  return a.line.number - b.line.number
}

/** @returns its rejected lines; all others are written */
async function importBatch(run: Run, batch: Batch, place: Place): Promise<RejectedLine[]> {
  const { database, rejectedIds } = run
  for (const { line } of batch.rejected) rejectedIds.add(line.value)
  const records = batch.lines.map(({ record }) => record)
  const passwordHashes = await hashPasswords(records, run.hashPassword, (id, password) =>
    findSameHash(run, id, password),
  )
  const writing = { nowMs: run.now(), passwordHashes }
  const startedMs = performance.now()
  const rejected = await database.kysely.transaction().execute(async (trx) => {
    const found = await writeLines(trx, batch.lines, writing, rejectedIds)
    const isComplete = place.isComplete && batch.rejected.length + found.length === 0
    if (isComplete) await keepPlace(trx, place, batch.last, writing.nowMs)
    return [...batch.rejected, ...found]
  })
  // SQLite has one writer. Pause, because waiting requests only retry at intervals.
  if (database.engine === 'sqlite') await pause((performance.now() - startedMs) / 4)
  return rejected
}

/** Keeps the hash of an unchanged password, because a new hash would end the person's sessions. */
async function findSameHash({ database, verifyPassword }: Run, id: string, password: string) {
  const person = await database.kysely
    .selectFrom('person')
    .select('password_hash')
    .where('id', '=', id)
    .executeTakeFirst()
  const hash = person?.password_hash ?? undefined
  return hash !== undefined && (await verifyPassword(hash, password)) ? hash : undefined
}

/** @returns how many people are absent, or why that is unknown; then it ends nothing */
async function settleAbsent(
  { database, people, knowsEveryRecord }: Run,
  missing: Missing,
  nowMs: number,
): Promise<number | string> {
  if (people.size === 0) return 'the import has no people'
  if (!knowsEveryRecord) return 'a rejected line does not name its record'
  return await settleAbsentPeople(database, people, { missing, nowMs })
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

async function keepPlace(
  trx: Transaction<Schema>,
  { name }: Place,
  line: number,
  nowMs: number,
): Promise<void> {
  if (name === undefined) return
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
