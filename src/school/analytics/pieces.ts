import { setImmediate } from 'node:timers/promises'

import { type RawBuilder, sql } from 'kysely'

import { DAY_MS } from './period.ts'

/** How many of each, by the day or by the id that they are of; what is not in it is none. */
export type Tally<Key extends string | number> = Map<Key, number>

export function addTo<Key extends string | number>(
  tally: Tally<Key>,
  rows: readonly { readonly key: Key; readonly total: number }[],
): void {
  for (const { key, total } of rows) tally.set(key, (tally.get(key) ?? 0) + total)
}

/** The day of a time, as the database counts it; the number stands in the text, so that a query can group by it. */
export function dayOf(column: string): RawBuilder<number> {
  return sql<number>`${sql.ref(column)} / ${sql.lit(DAY_MS)}`
}

/**
 * All rows of a long list, so many at a time, so that no statement is long. Between two pieces the
 * process does something else: SQLite keeps it to itself while it works.
 *
 * @param next at most `size` rows after this one, or from the beginning, in the order of the list
 */
export async function* inPieces<Row>(
  size: number,
  next: (after: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let after: Row | undefined
  for (;;) {
    const rows = await next(after)
    if (rows.length > 0) yield rows
    if (rows.length < size) return
    after = rows.at(-1)
    await setImmediate()
  }
}
