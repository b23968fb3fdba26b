import { sql } from 'kysely'

import type { ReadLine, RejectedLine } from './read-records.ts'
import { isKindName, kindOf } from './record-kinds.ts'
import { referencesIn, type Writing } from './record-rows.ts'
import { Contradiction, writeBatch } from './write-batch.ts'

/**
 * Writes lines, parents before children. If the database rejects a line, writes each half separately, down to single
 * lines. An invalid line therefore affects only the lines that refer to its record.
 *
 * @returns the rejected lines
 * @throws errors that are not caused by a line, for example if the disk is full
 */
export async function writeLines(
  lines: readonly ReadLine[],
  writing: Writing,
): Promise<RejectedLine[]> {
  const [first, second] = lines
  const error = first && (await tryLines(lines, writing))
  if (!first || error === undefined) return []
  if (second === undefined) {
    return [{ line: first.line, problem: await explain(first.record, error, writing) }]
  }
  const half = Math.ceil(lines.length / 2)
  // Write the halves in order, because lines of the second may refer to records of the first.
  const rejected = await writeLines(lines.slice(0, half), writing)
  return [...rejected, ...(await writeLines(lines.slice(half), writing))]
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
async function explain(
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
  if (columns === undefined) return 'the record violates a constraint of the database'
  return `another record has the same ${columns.replace(/\w+\.|_canonical/g, '').replaceAll('_', ' ')}`
}

/** Whether the database has a record with this id. `kind` may also be `section` or `lecture`. */
async function isStored(kind: string, id: string, { trx }: Writing): Promise<boolean> {
  const table = isKindName(kind) ? kindOf(kind).table : kind
  const { rows } = await sql`select 1 from ${sql.table(table)} where id = ${id}`.execute(trx)
  return rows.length > 0
}
