import { sql } from 'kysely'

import type { ReadLine, RejectedLine } from './read-records.ts'
import { isKindName, kindOf } from './record-kinds.ts'
import { type Fields, referencesIn, type Writing } from './record-rows.ts'
import { Contradiction, writeBatch } from './write-batch.ts'

/** The maximum number of tracked ids. Lines that refer to an untracked rejected record are reported as invalid. */
const IDS_MAX = 200_000

export type RejectedIds = ReturnType<typeof trackRejectedIds>

/** Tracks rejected records, to distinguish invalid lines from lines that depend on rejected records. */
export function trackRejectedIds() {
  const ids = new Set<string>()
  const addId = (kind: string, record: unknown) => {
    const { id } = Object(record) as Fields
    if (typeof id === 'string' && ids.size < IDS_MAX) ids.add(`${kind} ${id}`)
  }
  return {
    /** Adds the record in a parsed line, and its sections and lectures. The record may be invalid. */
    add(value: unknown) {
      const { type, sections, lectures } = Object(value) as Fields
      addId(String(type), value)
      for (const section of [sections].flat()) addId('section', section)
      for (const lecture of [lectures].flat()) addId('lecture', lecture)
    },
    /** Finds lines that refer to a rejected record, unless the database has an earlier version of it. */
    async findDependents(lines: readonly ReadLine[], writing: Writing): Promise<Set<ReadLine>> {
      if (ids.size === 0) return new Set()
      const needed = lines.flatMap((line) =>
        referencesIn(line.record.values)
          .filter(({ kind, id }) => ids.has(`${kind} ${id}`))
          .map(({ kind, id }) => ({ line, kind, id })),
      )
      const missing = new Set<string>()
      for (const [id, [first]] of Map.groupBy(needed, (one) => one.id)) {
        if (first && !(await isStored(first.kind, id, writing))) missing.add(id)
      }
      return new Set(needed.filter(({ id }) => missing.has(id)).map(({ line }) => line))
    },
  }
}

/** Whether the database has a record with this id. `kind` may also be `section` or `lecture`. */
async function isStored(kind: string, id: string, { trx }: Writing): Promise<boolean> {
  const table = isKindName(kind) ? kindOf(kind).table : kind
  const { rows } = await sql`select 1 from ${sql.table(table)} where id = ${id}`.execute(trx)
  return rows.length > 0
}

/**
 * Writes lines, parents before children, except lines that refer to a rejected record. If the database rejects a line,
 * retries each half of the lines separately, down to single lines. So an invalid line affects only its dependents.
 *
 * @returns the rejected lines
 * @throws errors that are not caused by a line, for example if the disk is full
 */
export async function writeLines(
  lines: readonly ReadLine[],
  writing: Writing,
  rejectedIds: RejectedIds,
): Promise<RejectedLine[]> {
  const dependents = await rejectedIds.findDependents(lines, writing)
  const others = lines.filter((line) => !dependents.has(line))
  const rejected = [...dependents].map(({ line, record }): RejectedLine => {
    rejectedIds.add(line.value)
    return { line, problem: 'the record refers to a rejected record', dependent: record.type }
  })
  const [first, second] = others
  const error = first && (await tryLines(others, writing))
  if (!first || error === undefined) return rejected
  if (second === undefined) {
    const { line, record } = first
    rejectedIds.add(line.value)
    return [...rejected, { line, problem: await explainRejection(record, error, writing) }]
  }
  const half = Math.ceil(others.length / 2)
  for (const some of [others.slice(0, half), others.slice(half)]) {
    rejected.push(...(await writeLines(some, writing, rejectedIds)))
  }
  return rejected
}

/** Writes all lines, or none. @returns the error if the database rejects a line */
async function tryLines(lines: readonly ReadLine[], writing: Writing): Promise<Error | undefined> {
  const { trx } = writing
  const records = lines.map(({ record }) => record)
  await sql`savepoint lines`.execute(trx)
  try {
    const changed = new Set<string>()
    await writeBatch(records, { ...writing, changed })
    await sql`release savepoint lines`.execute(trx)
    for (const record of changed) writing.changed.add(record)
    return undefined
  } catch (error) {
    if (!isRejection(error)) throw error
    await sql`rollback to savepoint lines`.execute(trx)
    await sql`release savepoint lines`.execute(trx)
    return error
  }
}

/** Whether the data caused the error: PostgreSQL class 21 (cardinality), 22 (data), 23 (constraint) or 54 (limit). */
function isRejection(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  const isOfData = /^(SQLITE_CONSTRAINT|SQLITE_TOOBIG|21|22|23|54)/.test(code)
  return isOfData || error instanceof Contradiction
}

/** Describes why the database rejected a record: unknown reference, duplicate, or violated rule. */
async function explainRejection(
  { values }: ReadLine['record'],
  error: Error & { readonly detail?: string },
  writing: Writing,
): Promise<string> {
  if (error instanceof Contradiction) return error.message
  for (const { field, kind, id } of referencesIn(values)) {
    if (!(await isStored(kind, id, writing))) return `${field}: no ${kind} has the id ${id}`
  }
  const columns =
    /UNIQUE constraint failed: (.*)/.exec(error.message)?.[1] ??
    /Key \(([^)]*)\)/.exec(error.detail ?? '')?.[1]
  const [, rule = 'unknown'] = /constraint (?:failed: |")(\w+)/.exec(error.message) ?? []
  if (columns === undefined) return `the database rejected the record (constraint: ${rule})`
  return `another record has the same ${columns.replace(/\w+\.|_canonical/g, '').replaceAll('_', ' ')}`
}
