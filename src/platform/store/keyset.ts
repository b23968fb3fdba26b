import {
  type QueryExecutorProvider,
  type RawBuilder,
  type SelectQueryBuilder,
  type Simplify,
  sql,
} from 'kysely'

/**
 * Keyset pagination, for every list of the service: a page begins where the one before it ended, so
 * that a row which is added or removed meanwhile neither repeats nor hides another, and the last page
 * costs as much as the first.
 */

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
  /** The place of each of the rows. */
  readonly places: readonly PlaceInList[]
  readonly hasNextPage: boolean
}

export interface CountedPage<Row> extends Page<Row> {
  /** How many rows the list has on all pages. */
  readonly totalCount: number
}

/** The columns that a list is sorted by, in which direction, and where a row of it stands. */
export interface ListOrder<Row> {
  /** A column, or an expression that an index has. */
  readonly by: string | RawBuilder<unknown>
  readonly id: string
  readonly direction: 'asc' | 'desc'
  readonly placeOf: (row: Row) => PlaceInList
}

/** The order by a column that rows have as a field. Their ids break ties. */
export function orderBy<Field extends string>(
  field: Field,
  direction: 'asc' | 'desc',
  by: string | RawBuilder<unknown>,
  id = 'id',
): ListOrder<Readonly<Record<Field, string | number>> & { readonly id: string }> {
  return { by, id, direction, placeOf: (row) => [row[field], row.id] }
}

/** Whether what came last stands first. */
export type TimeOrder = 'NEWEST' | 'OLDEST'

/** A list that is sorted by a time, in the order that is asked for: the newest first without any. */
export function inTimeOrder<Row>(
  order: ListOrder<Row>,
  wanted: TimeOrder | null | undefined,
): ListOrder<Row> {
  return { ...order, direction: wanted === 'OLDEST' ? 'asc' : 'desc' }
}

/**
 * One page of a list, in one query: it asks for one row more than wanted, which tells whether more
 * follow.
 */
export async function readPage<Schema, Tables extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Tables, Row>,
  { by, id, direction, placeOf }: ListOrder<Simplify<Row>>,
  { first, after }: PageRequest,
): Promise<Page<Simplify<Row>>> {
  const isAfter = sql.raw(direction === 'asc' ? '>' : '<')
  const sortedBy = typeof by === 'string' ? sql.ref(by) : by
  const following = after
    ? query.where(sql<boolean>`(${sortedBy}, ${sql.ref(id)}) ${isAfter} (${after[0]}, ${after[1]})`)
    : query
  const found = await following
    .orderBy(sortedBy, direction)
    .orderBy(sql.ref(id), direction)
    .limit(first + 1)
    .execute()
  const rows = found.slice(0, first)
  return { rows, places: rows.map(placeOf), hasNextPage: found.length > first }
}

/** One page of a list and the length of the whole, in two queries. */
export async function readCountedPage<Schema, Tables extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Tables, Row>,
  order: ListOrder<Simplify<Row>>,
  request: PageRequest,
): Promise<CountedPage<Simplify<Row>>> {
  const [page, totalCount] = await Promise.all([readPage(query, order, request), countRows(query)])
  return { ...page, totalCount }
}

/** A list that is read one page at a time, and counted only on request. Each call is one query. */
export interface PagedRows<Row> {
  readonly page: (request: PageRequest) => Promise<Page<Row>>
  readonly count: () => Promise<number>
}

/** The list of the rows of a query. `count` counts them where that can be done with less. */
export function pagedRows<Schema, Tables extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Tables, Row>,
  order: ListOrder<Simplify<Row>>,
  count: () => Promise<number> = async () => await countRows(query),
): PagedRows<Simplify<Row>> {
  return { page: async (request) => await readPage(query, order, request), count }
}

/** How many rows a query finds, whatever it selects of them; it must not group them. */
export async function countRows<Schema, Tables extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Tables, Row>,
): Promise<number> {
  const { total } = await query
    .clearSelect()
    .select(sql<number>`count(*)`.as('total'))
    .$castTo<{ total: number }>()
    .executeTakeFirstOrThrow()
  return Number(total)
}

/** The same, and never more than `max`: it costs no more than to find so many. */
export async function countRowsUpTo<Schema, Tables extends keyof Schema, Row>(
  kysely: QueryExecutorProvider,
  query: SelectQueryBuilder<Schema, Tables, Row>,
  max: number,
): Promise<number> {
  const found = query.clearSelect().select(sql<number>`1`.as('one')).limit(max)
  const { rows } = await sql<{
    total: number
  }>`select count(*) as total from (${found}) as found`.execute(kysely)
  return Number(rows[0]?.total)
}
