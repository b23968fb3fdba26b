import { sql, type Transaction } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import type { ReadLine } from './read-records.ts'
import { isKindName, kindOf } from './record-kinds.ts'
import { type Fields, referencesIn } from './record-rows.ts'

/** The maximum number of tracked records. Beyond it, dependent lines are reported as invalid themselves. */
const IDS_MAX = 200_000

/** Returns the table of a kind of record, or of sections or lectures, which are parts of courses. */
export function referencedTable(kind: string): string {
  return isKindName(kind) ? kindOf(kind).table : kind
}

export type RejectedIds = ReturnType<typeof trackRejectedIds>

/** Tracks rejected records, to distinguish invalid lines from lines that depend on them. */
export function trackRejectedIds() {
  const ids = new Set<string>()
  const addId = (kind: string, record: unknown) => {
    const { id } = Object(record) as Fields
    if (typeof id === 'string' && ids.size < IDS_MAX) ids.add(`${kind} ${id}`)
  }
  return {
    /** Adds the record of a parsed line, which may be invalid, and its sections and lectures. */
    add(value: unknown) {
      const { type, sections, lectures } = Object(value) as Fields
      addId(String(type), value)
      for (const section of [sections].flat()) addId('section', section)
      for (const lecture of [lectures].flat()) addId('lecture', lecture)
    },
    /** Finds the lines that refer to a rejected record, unless the database has an earlier version of that record. */
    async findDependents(
      trx: Transaction<Schema>,
      lines: readonly ReadLine[],
    ): Promise<Set<ReadLine>> {
      if (ids.size === 0) return new Set()
      const needed = lines.flatMap((line) =>
        referencesIn(line.record.values)
          .filter(({ kind, id }) => ids.has(`${kind} ${id}`))
          .map(({ kind, id }) => ({ line, table: referencedTable(kind), id })),
      )
      const missing = new Set<string>()
      for (const [id, [first]] of Map.groupBy(needed, (one) => one.id)) {
        if (first && !(await isStored(trx, first.table, id))) missing.add(id)
      }
      return new Set(needed.filter(({ id }) => missing.has(id)).map(({ line }) => line))
    },
  }
}

async function isStored(trx: Transaction<Schema>, table: string, id: string): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(table)} where id = ${id}`.execute(trx)
  return rows.length > 0
}
