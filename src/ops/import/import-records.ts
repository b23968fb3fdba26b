/** Imports records into the database in batches. */

import { setTimeout as pause } from 'node:timers/promises'

import { sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { readSetting, writeSetting } from '../../platform/store/settings.ts'
import { type Missing, type PresentPeople, settleAbsentPeople } from './absent-people.ts'
import type { Source } from './import-sources.ts'
import { type Batch, batchesOf, type ReadLine, type RejectedLine } from './read-records.ts'
import { isKindName, type KindName, kindOf } from './record-kinds.ts'
import { referencesIn } from './record-rows.ts'
import { hashPasswords } from './write-batch.ts'
import { type RejectedIds, trackRejectedIds, writeLines } from './write-lines.ts'

const REJECTED_SHOWN_MAX = 200

/** PostgreSQL's statistics on a kind's tables are updated after an import of at least this many lines of that kind. */
const MANY_ROWS = 10_000

export interface ImportSettings {
  readonly database: Database
  readonly sources: readonly Source[]
  /** Hashes passwords; undefined to reject lines with a password. */
  readonly hashPassword?: (password: string) => Promise<string>
  readonly verifyPassword?: (hash: string, password: string) => Promise<boolean>
  readonly firebaseSignerKey?: string | undefined
  readonly now: () => number
  /** How to treat people from earlier imports who are missing from this one; undefined to ignore them. */
  readonly missing?: Missing | undefined
  readonly emitsEvents?: boolean | undefined
  /** Called after each batch with its number of lines, and their size in bytes. */
  readonly onProgress?: (lines: number, size: number) => void
  /** Called with the result of each processed line, in any order. */
  readonly onLine?: (result: LineResult) => void
  /** Called with the text of each rejected line of at most 1 MiB. */
  readonly onReject?: (text: string) => void
}

/** The result of a line: whether it changed its record, or why it was not written. */
export interface LineResult {
  readonly line: number
  readonly changed: boolean
  readonly error?: string
}

type Counts = Partial<Record<KindName, number>>

export interface ImportReport {
  /** The number of accepted lines by kind, including those that changed nothing. */
  readonly written: Counts
  /** The first 200 invalid lines. */
  readonly rejected: { source: string; line: number; problem: string }[]
  rejectedCount: number
  /** The number of lines that were rejected only because they refer to a rejected record, by kind. */
  readonly dependents: Counts
  /** The number of lines that were skipped because the person deleted the account, by kind. */
  readonly deleted: Counts
  /** The number of lines that were skipped because an earlier run had processed them. */
  skipped: number
  /** The number of missing people, or a message if it is unknown or too high; undefined if not requested. */
  absent: number | string | undefined
}

interface Run extends ImportSettings, PresentPeople {
  readonly report: ImportReport
  readonly rejectedIds: RejectedIds
  readonly people: Set<string>
  knowsEveryRecord: boolean
}

/**
 * Imports records in batches, each in one transaction, and then handles missing people if `missing` is set. Rejects an
 * invalid line and, if its record is not stored yet, the lines that refer to it. Skips the lines of people who deleted
 * their accounts. Without `missing`, a repeated import of a file skips the batches that were written before an
 * interruption or the first rejected line.
 */
export async function importLines(settings: ImportSettings): Promise<Readonly<ImportReport>> {
  const { database, sources, missing, now } = settings
  const counts = { written: {}, rejected: [], rejectedCount: 0, dependents: {}, deleted: {} }
  const report: ImportReport = { ...counts, skipped: 0, absent: undefined }
  const tracking = { rejectedIds: trackRejectedIds(), people: new Set<string>() }
  const run: Run = { ...settings, report, ...tracking, knowsEveryRecord: true }
  for (const source of sources) {
    const progress = await readRunProgress(database, source)
    // Read all lines if missing people must be found.
    const after = missing === undefined ? progress.line : 0
    report.skipped += after
    for await (const read of batchesOf(source, after)) {
      const { lines, left } = await leaveOutDeleted(database, read.lines)
      for (const { line, record } of left) {
        countLine(report.deleted, record.type)
        settings.onLine?.({ line: line.number, changed: false, error: ACCOUNT_DELETED })
      }
      const batch = { ...read, lines }
      countBatch(run, source, batch, await importBatch(run, batch, progress))
      if (missing !== undefined) notePeople(run, read)
      settings.onProgress?.(read.lines.length + read.rejected.length, read.size)
    }
    if (progress.isComplete && progress.name !== undefined) {
      await database.kysely.deleteFrom('setting').where('name', '=', progress.name).execute()
    }
  }
  if (missing !== undefined)
    report.absent = await settleAbsentPeople(database, run, { missing, nowMs: now() })
  await refreshStatistics(database, report)
  return report
}

/**
 * Updates the PostgreSQL statistics of tables that received many rows, one table per statement, because a statement has
 * a time limit. Until autovacuum runs, PostgreSQL could otherwise plan queries as if these tables were nearly empty.
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

const ACCOUNT_DELETED = 'person: this person deleted the account; delete it in your platform, too'

interface BatchResult {
  readonly rejected: readonly RejectedLine[]
  /** The records that the batch changed, as `type id`. */
  readonly changed: ReadonlySet<string>
}

function countBatch(
  run: Run,
  { name: source }: Source,
  { lines }: Batch,
  { rejected, changed }: BatchResult,
): void {
  const { written, rejected: shown, dependents } = run.report
  const left = new Set(rejected.map(({ line }) => line))
  for (const { line, record } of lines.filter((one) => !left.has(one.line))) {
    countLine(written, record.type)
    run.onLine?.({ line: line.number, changed: changed.has(`${record.type} ${record.id}`) })
  }
  const inOrder = rejected.toSorted((a, b) => a.line.number - b.line.number)
  for (const { line, problem, dependent } of inOrder) {
    run.onLine?.({ line: line.number, changed: false, error: problem })
    if (line.text !== undefined) run.onReject?.(line.text)
    if (dependent !== undefined) {
      countLine(dependents, dependent)
      continue
    }
    run.report.rejectedCount += 1
    if (shown.length < REJECTED_SHOWN_MAX) shown.push({ source, line: line.number, problem })
  }
}

function countLine(counts: Counts, type: KindName): void {
  counts[type] = (counts[type] ?? 0) + 1
}

/** Collects the ids of the people in a batch, including those of rejected lines. */
function notePeople(run: Run, { lines, rejected }: Batch): void {
  for (const { line } of [...lines, ...rejected]) {
    const { type, id } = Object(line.value) as Record<string, unknown>
    if (type === 'person' && typeof id === 'string') run.people.add(id)
    else run.knowsEveryRecord &&= isKindName(type) && type !== 'person'
  }
}

/**
 * Sets aside the lines of people who deleted their accounts, because an import must not create these people again. Also
 * removes these people from the `lecturers` of courses.
 */
async function leaveOutDeleted({ kysely }: Database, lines: readonly ReadLine[]) {
  const named = ({ record: { type, id, values } }: ReadLine) =>
    type === 'person'
      ? [id]
      : referencesIn(values).flatMap((to) => (to.kind === 'person' ? to.id : []))
  const rows = await kysely
    .selectFrom('person')
    .select('id')
    .where('id', 'in', ['', ...new Set(lines.flatMap(named))])
    .where('deleted_at', 'is not', null)
    .execute()
  const deleted = new Set<unknown>(rows.map(({ id }) => id))
  const isLeft = ({ record: { type, id, values } }: ReadLine) =>
    deleted.has(type === 'person' ? id : values['person'])
  const others = lines.filter((line) => !isLeft(line))
  return {
    left: lines.filter(isLeft),
    lines: others.map(({ line, record }): ReadLine => {
      const lecturers = (record.values['lecturers'] ?? []) as readonly string[]
      if (!lecturers.some((id) => deleted.has(id))) return { line, record }
      const kept = lecturers.filter((id) => !deleted.has(id))
      return { line, record: { ...record, values: { ...record.values, lecturers: kept } } }
    }),
  }
}

/** Writes the lines of a batch. Stores the progress if no line has been rejected so far. */
async function importBatch(run: Run, batch: Batch, progress: Progress): Promise<BatchResult> {
  const { database, rejectedIds, hashPassword } = run
  rejectUnusable(batch, run)
  for (const { line } of batch.rejected) rejectedIds.add(line.value)
  const records = batch.lines.map(({ record }) => record)
  const findSame = (id: string, password: string) => findSameHash(run, id, password)
  const passwordHashes = hashPassword
    ? await hashPasswords(records, hashPassword, findSame)
    : new Map<string, string>()
  const nowMs = run.now()
  const changed = new Set<string>()
  const startedMs = performance.now()
  const rejected = await database.kysely.transaction().execute(async (trx) => {
    const writing = { trx, nowMs, passwordHashes, changed, emitsEvents: run.emitsEvents }
    const found = [...batch.rejected, ...(await writeLines(batch.lines, writing, rejectedIds))]
    progress.isComplete &&= found.length === 0
    if (progress.isComplete && progress.name !== undefined)
      await writeSetting(trx, progress.name, String(batch.last), nowMs)
    return found
  })
  // SQLite allows a single writer, and waiting requests retry only at intervals. Pause, so they can write.
  if (database.engine === 'sqlite') await pause((performance.now() - startedMs) / 4)
  return { rejected, changed }
}

/** Rejects passwords if there is no `hashPassword`, and Firebase hashes if there is no signer key. */
function rejectUnusable(
  { lines, rejected }: Batch,
  { hashPassword, firebaseSignerKey }: Run,
): void {
  for (const { line, record } of lines.splice(0)) {
    const { password, passwordHash } = record.values
    const isFirebase = String(passwordHash).startsWith('$firescrypt$')
    const hasKey = !isFirebase || firebaseSignerKey !== undefined
    if (!hashPassword && password != null) rejected.push({ line, problem: PASSWORD_NOT_HASHED })
    else if (hasKey) lines.push({ line, record })
    else rejected.push({ line, problem: NO_SIGNER_KEY })
  }
}

const PASSWORD_NOT_HASHED = 'password: only the import command accepts passwords; send passwordHash'
const NO_SIGNER_KEY =
  'passwordHash: a Firebase hash needs FIREBASE_SIGNER_KEY; set it for the import command and the service'

/** Returns the stored hash if it matches the password. A new hash would end the person's sessions. */
async function findSameHash({ database, verifyPassword }: Run, id: string, password: string) {
  const person = await database.kysely
    .selectFrom('person')
    .select('password_hash')
    .where('id', '=', id)
    .executeTakeFirst()
  const hash = person?.password_hash ?? undefined
  return hash !== undefined && (await verifyPassword?.(hash, password)) ? hash : undefined
}

type Progress = Awaited<ReturnType<typeof readRunProgress>>

/** Reads the progress of an earlier run with the same content. */
async function readRunProgress({ kysely }: Database, { digest }: Source) {
  const name = digest && `import ${await digest()}`
  return {
    /** The setting that stores the progress; undefined if the source cannot be resumed. */
    name,
    /** The number of the line after which to resume; 0 if there is no progress. */
    line: name === undefined ? 0 : Number((await readSetting(kysely, name)) ?? 0),
    /** Whether no line has been rejected so far. */
    isComplete: true,
  }
}
