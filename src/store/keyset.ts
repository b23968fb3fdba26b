import { type RawBuilder, sql } from 'kysely'

/** What identifies a row's place in a list: the value it is sorted by, and its id to break ties. */
export type PlaceInList = readonly [sortedBy: string | number, id: string]

/** A part of a list. `first` is bounded by the surface that was asked. */
export interface PageRequest {
  readonly first: number
  /** The place of the last row that the caller has already. */
  readonly after: PlaceInList | undefined
}

export interface Page<Row> {
  readonly rows: readonly Row[]
  /** The place of the last row of this page; undefined for an empty one. */
  readonly last: PlaceInList | undefined
  readonly hasNextPage: boolean
  readonly totalCount: number
}

/** The columns that a list is sorted by, and in which direction. */
export interface ListOrder {
  readonly by: string
  readonly id: string
  readonly direction: 'asc' | 'desc'
}

/**
 * The rows after a place. Keyset pagination: a row that is added or removed meanwhile neither repeats
 * nor hides another, and the last page costs as much as the first.
 */
export function isAfter(order: ListOrder, after: PlaceInList | undefined): RawBuilder<boolean> {
  if (!after) return sql<boolean>`1 = 1`
  const columns = sql`(${sql.ref(order.by)}, ${sql.ref(order.id)})`
  const place = sql`(${after[0]}, ${after[1]})`
  return order.direction === 'asc'
    ? sql<boolean>`${columns} > ${place}`
    : sql<boolean>`${columns} < ${place}`
}

/**
 * Makes a page of rows that were asked for with one more than wanted, which tells whether more follow
 * without a second question.
 */
export function pageOf<Row>(
  found: readonly Row[],
  { first }: PageRequest,
  { totalCount, placeOf }: { totalCount: number; placeOf: (row: Row) => PlaceInList },
): Page<Row> {
  const rows = found.slice(0, first)
  const last = rows.at(-1)
  return {
    rows,
    last: last === undefined ? undefined : placeOf(last),
    hasNextPage: found.length > first,
    totalCount,
  }
}
