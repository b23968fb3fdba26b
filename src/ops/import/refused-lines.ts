import { sql, type Transaction } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { DataRecord, LineProblem } from './read-records.ts'
import type { Writing } from './record-kind.ts'
import { isKindName, kindOf } from './record-kinds.ts'
import { referencesIn } from './record-rows.ts'
import { Contradiction, writeBatch } from './write-batch.ts'

/** Ends the transaction in which the lines were tried, without a trace. */
class Tried extends Error {}

/**
 * Finds the lines by which a batch failed: each is tried by itself, in a transaction that is undone.
 *
 * @throws the cause when it is none of a line's: the database is away, or has no room
 */
export async function explainFailure(
  database: Database,
  lines: readonly { readonly number: number; readonly record: DataRecord }[],
  writing: Writing,
  cause: unknown,
): Promise<LineProblem[]> {
  const problems: LineProblem[] = []
  try {
    await database.kysely.transaction().execute(async (trx) => {
      for (const { number, record } of lines) {
        const problem = await tryLine(trx, record, writing)
        if (problem !== undefined) problems.push({ number, problem })
      }
      throw new Tried()
    })
  } catch (error) {
    if (!(error instanceof Tried)) throw error
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
    return (await findUnknownName(trx, record)) ?? isTaken(error)
  } finally {
    await sql`release savepoint line`.execute(trx)
  }
}

/** SQLite's name for every constraint, and class 23 of PostgreSQL. */
function isConstraint(error: unknown): error is Error & { readonly detail?: string } {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('SQLITE_CONSTRAINT') || code.startsWith('23')
}

/** The first field that holds the id of a record which does not exist. */
async function findUnknownName(trx: Transaction<Schema>, { values }: DataRecord) {
  for (const { field, kind, id } of referencesIn(values)) {
    if (!isKindName(kind)) continue
    const { rows } =
      await sql`select 1 from ${sql.table(kindOf(kind).table)} where id = ${id}`.execute(trx)
    if (rows.length === 0) return `${field}: no ${kind} has the id ${id}`
  }
  return undefined
}

/** What another row has: the columns, as the database names them. */
function isTaken({ message, detail }: Error & { readonly detail?: string }): string {
  const columns =
    /UNIQUE constraint failed: (.*)/.exec(message)?.[1] ?? /Key \(([^)]*)\)/.exec(detail ?? '')?.[1]
  return columns === undefined
    ? 'contradicts what is in the database'
    : `another record has the same ${columns.replace(/\w+\./g, '').replaceAll('_', ' ')}`
}
