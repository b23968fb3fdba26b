import { sql, type Transaction } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import type { ReadLine, RejectedLine } from './read-records.ts'
import { referencesIn, type Writing } from './record-rows.ts'
import { type RejectedIds, referencedTable } from './rejected-ids.ts'
import { Contradiction, writeBatch } from './write-batch.ts'

/**
 * Writes lines, parents before children, except those that refer to a rejected record. If the database rejects any,
 * writes each half separately, down to single lines. So an invalid line affects only itself and the lines that depend
 * on its record.
 *
 * @returns the rejected lines
 * @throws errors that are not caused by a line, for example if the disk is full
 */
export async function writeLines(
  trx: Transaction<Schema>,
  lines: readonly ReadLine[],
  writing: Writing,
  rejectedIds: RejectedIds,
): Promise<RejectedLine[]> {
  const dependents = await rejectedIds.findDependents(trx, lines)
  const others = lines.filter((line) => !dependents.has(line))
  const rejected = [...dependents].map(({ line, record }): RejectedLine => {
    rejectedIds.add(line.value)
    return { line, problem: 'the record refers to a rejected record', dependent: record.type }
  })
  if (others.length === 0) return rejected
  const error = await tryLines(trx, others, writing)
  if (error === undefined) return rejected
  const [{ line, record } = others[0] as ReadLine, second] = others
  if (second === undefined) {
    rejectedIds.add(line.value)
    return [...rejected, { line, problem: await explain(trx, record, error) }]
  }
  const half = Math.ceil(others.length / 2)
  for (const some of [others.slice(0, half), others.slice(half)]) {
    rejected.push(...(await writeLines(trx, some, writing, rejectedIds)))
  }
  return rejected
}

/** Writes all lines, or none. @returns the error if the database rejects a line */
async function tryLines(
  trx: Transaction<Schema>,
  lines: readonly ReadLine[],
  writing: Writing,
): Promise<Error | undefined> {
  await sql`savepoint lines`.execute(trx)
  try {
    await writeBatch(
      trx,
      lines.map(({ record }) => record),
      writing,
    )
    await sql`release savepoint lines`.execute(trx)
    return undefined
  } catch (error) {
    if (!isRejection(error)) throw error
    await sql`rollback to savepoint lines`.execute(trx)
    await sql`release savepoint lines`.execute(trx)
    return error
  }
}

/** Whether the data caused the error. PostgreSQL's classes are 21 (rows), 22 (data), 23 (constraint) and 54 (size). */
function isRejection(error: unknown): error is Error {
  if (error instanceof Contradiction) return true
  return (
    error instanceof Error &&
    'code' in error &&
    /^(SQLITE_CONSTRAINT|SQLITE_TOOBIG|21|22|23|54)/.test(String(error.code))
  )
}

/** Describes why the database rejected a record: an unknown reference, a duplicate, or a violated rule. */
async function explain(
  trx: Transaction<Schema>,
  { values }: ReadLine['record'],
  error: Error & { readonly detail?: string },
): Promise<string> {
  if (error instanceof Contradiction) return error.message
  for (const { field, kind, id } of referencesIn(values)) {
    const { rows } =
      await sql`select 1 from ${sql.table(referencedTable(kind))} where id = ${id}`.execute(trx)
    if (rows.length === 0) return `${field}: no ${kind} has the id ${id}`
  }
  const columns =
    /UNIQUE constraint failed: (.*)/.exec(error.message)?.[1] ??
    /Key \(([^)]*)\)/.exec(error.detail ?? '')?.[1]
  if (columns === undefined) return 'the record violates a constraint of the database'
  return `another record has the same ${columns.replace(/\w+\./g, '').replaceAll('_', ' ')}`
}
