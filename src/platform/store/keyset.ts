import {
  type QueryExecutorProvider,
  type RawBuilder,
  type SelectQueryBuilder,
  type Simplify,
  sql,
} from 'kysely'

// Keyset pagination, used by paged lists: a page begins after the last row of the previous page. Rows that are added or
// removed between requests cause no duplicates or gaps, and the last page is as fast as the first page.

/** The position of a row in a list: its sort value, and its id to break ties. */
export type PlaceInList = readonly [sortedBy: string | number, id: string]

/** A request for one page. The caller must limit `first`. */
export interface PageRequest {
  readonly first: number
  readonly after: PlaceInList | undefined
}

export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly places: readonly PlaceInList[]
  readonly hasNextPage: boolean
}

/** The sort order of a list: the value to sort by, and the direction. */
export interface ListOrder<Row> {
  /** A column, or an expression that has an index. */
  readonly by: string | RawBuilder<unknown>
  readonly id: string
  readonly direction: 'asc' | 'desc'
  readonly placeOf: (row: Row) => PlaceInList
}

/** Creates an order that sorts by a column or expression whose value is also a field of the rows. Ids break ties. */
export function orderBy<Field extends string>(
  field: Field,
  direction: 'asc' | 'desc',
  by: string | RawBuilder<unknown>,
  id = 'id',
): ListOrder<Readonly<Record<Field, string | number>> & { readonly id: string }> {
  return { by, id, direction, placeOf: (row) => [row[field], row.id] }
}

export type TimeOrder = 'NEWEST' | 'OLDEST'

/** Returns an order by time, with the requested direction; newest first by default. */
export function inTimeOrder<Row>(
  order: ListOrder<Row>,
  wanted: TimeOrder | null | undefined,
): ListOrder<Row> {
  return { ...order, direction: wanted === 'OLDEST' ? 'asc' : 'desc' }
}

/** Reads a page with one query. Selects one extra row, to know whether another page follows. */
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

/** A list that is read page by page, and counted only when needed. Each call runs one query. */
export interface PagedRows<Row> {
  readonly page: (request: PageRequest) => Promise<Page<Row>>
  readonly count: () => Promise<number>
}

/** Creates a list of the rows of a query. Pass `count` if a cheaper query can count them. */
export function pagedRows<Schema, Tables extends keyof Schema, Row>(
  query: SelectQueryBuilder<Schema, Tables, Row>,
  order: ListOrder<Simplify<Row>>,
  count: () => Promise<number> = async () => await countRows(query),
): PagedRows<Simplify<Row>> {
  return { page: async (request) => await readPage(query, order, request), count }
}

/** Counts the rows of a query, which must not use `group by`. */
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

/** Counts the rows of a query up to `max`, and reads no further rows. */
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
