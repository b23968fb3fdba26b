/** Imports records into the database in batches. */

import { setTimeout as pause } from 'node:timers/promises'

import { sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { type Missing, type PresentPeople, settleAbsentPeople } from './absent-people.ts'
import type { Source } from './import-sources.ts'
import { type Batch, batchesOf, type ReadLine, type RejectedLine } from './read-records.ts'
import { isKindName, type KindName } from './record-kinds.ts'
import { referencesIn } from './record-rows.ts'
import { hashPasswords } from './write-batch.ts'
import { writeLines } from './write-lines.ts'

const REJECTED_SHOWN_MAX = 200

/** The minimum number of imported records after which PostgreSQL's statistics are updated. */
const MANY_RECORDS = 10_000

export interface ImportSettings {
  readonly database: Database
  readonly sources: readonly Source[]
  /** Hashes passwords; undefined to reject lines with a password. */
  readonly hashPassword?: (password: string) => Promise<string>
  readonly verifyPassword?: (hash: string, password: string) => Promise<boolean>
  readonly firebaseSignerKey?: string | undefined
  readonly now: () => number
  /** The treatment of people from earlier imports who are missing; undefined to ignore them. */
  readonly missing?: Missing | undefined
  readonly emitsEvents?: boolean | undefined
  /** Called after each batch with its number of lines. */
  readonly onProgress?: (lines: number) => void
  /** Called with the result of each line, in any order. */
  readonly onLine?: (result: LineResult) => void
  /** Called with the text of each rejected line of at most 1 MiB. */
  readonly onReject?: (text: string) => void
}

/** Whether a line changed its record, or why it was not written. */
export interface LineResult {
  readonly line: number
  readonly changed: boolean
  readonly error?: string
}

type Counts = Partial<Record<KindName, number>>

export interface ImportReport {
  /** The number of imported records by kind, including unchanged records. */
  readonly written: Counts
  /** The first 200 invalid lines. */
  readonly rejected: { source: string; line: number; problem: string }[]
  rejectedCount: number
  /** The number of lines that were skipped because the person deleted the account, by kind. */
  readonly deleted: Counts
  /** The number of missing people, or why they were not handled; undefined if not requested. */
  absent: number | string | undefined
}

interface Run extends ImportSettings, PresentPeople {
  readonly report: ImportReport
  readonly people: Set<string>
  knowsEveryRecord: boolean
}

/**
 * Imports records in batches, each in one transaction, and then handles missing people. Rejects an invalid line and the
 * lines that refer to its record. Skips the lines of people who deleted their accounts.
 */
export async function importLines(settings: ImportSettings): Promise<Readonly<ImportReport>> {
  const { database, sources, missing, now } = settings
  const counts = { written: {}, rejected: [], rejectedCount: 0, deleted: {} }
  const report: ImportReport = { ...counts, absent: undefined }
  const run: Run = { ...settings, report, people: new Set(), knowsEveryRecord: true }
  for (const source of sources) {
    for await (const read of batchesOf(source)) {
      const { lines, left } = await leaveOutDeleted(database, read.lines)
      for (const { line, record } of left) {
        add(report.deleted, record.type)
        settings.onLine?.({ line: line.number, changed: false, error: ACCOUNT_DELETED })
      }
      const batch = { ...read, lines }
      count(run, source, batch, await importBatch(run, batch))
      if (missing !== undefined) notePeople(run, read)
      settings.onProgress?.(read.lines.length + read.rejected.length)
    }
  }
  if (missing !== undefined)
    report.absent = await settleAbsentPeople(database, run, { missing, nowMs: now() })
  const total = Object.values(report.written).reduce((sum, written) => sum + written, 0)
  // Until autovacuum runs, PostgreSQL would plan queries as if the tables were nearly empty.
  if (database.engine === 'postgres' && total >= MANY_RECORDS)
    await sql`analyze`.execute(database.kysely)
  return report
}

const ACCOUNT_DELETED = 'person: has deleted the account; delete the person in your platform, too'

interface BatchResult {
  readonly rejected: readonly RejectedLine[]
  /** The records that the batch changed, as `type id`. */
  readonly changed: ReadonlySet<string>
}

function count(
  run: Run,
  { name: source }: Source,
  { lines }: Batch,
  { rejected, changed }: BatchResult,
): void {
  const { written, rejected: shown } = run.report
  const left = new Set(rejected.map(({ line }) => line))
  for (const { line, record } of lines.filter((one) => !left.has(one.line))) {
    add(written, record.type)
    run.onLine?.({ line: line.number, changed: changed.has(`${record.type} ${record.id}`) })
  }
  for (const { line, problem } of rejected.toSorted((a, b) => a.line.number - b.line.number)) {
    run.onLine?.({ line: line.number, changed: false, error: problem })
    if (line.text !== undefined) run.onReject?.(line.text)
    run.report.rejectedCount += 1
    if (shown.length < REJECTED_SHOWN_MAX) shown.push({ source, line: line.number, problem })
  }
}

function add(counts: Counts, type: KindName): void {
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
 * Separates the lines of people who deleted their accounts. An import must not create these people again. Also removes
 * them from the lecturers of courses.
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

/** Writes the lines of a batch. */
async function importBatch(run: Run, batch: Batch): Promise<BatchResult> {
  const { database, hashPassword } = run
  rejectUnusable(batch, run)
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
    return [...batch.rejected, ...(await writeLines(batch.lines, writing))]
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

const PASSWORD_NOT_HASHED = 'password: is accepted only by the import command; send passwordHash'
const NO_SIGNER_KEY =
  'passwordHash: is a Firebase hash; set FIREBASE_SIGNER_KEY for this command and the service'

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
