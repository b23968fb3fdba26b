import { type SelectQueryBuilder, type Simplify, sql } from 'kysely'

import { type ListOrder, type PagedRows, pagedRows } from '../../platform/store/keyset.ts'

/** A person and a site. A paged list contains only rows of this person at this site. */
export interface Membership {
  readonly personId: string
  readonly siteId: string
}

/** The sort order and filters of a list, all optional. */
export type Question<Filter extends object = object, Sort extends string = string> = Filter & {
  readonly sort?: Sort | null | undefined
}

/** The rows of a member, by page or by id. Each page, count or lookup runs one statement. */
export interface PagedList<Row, Asked> {
  rows(membership: Membership, asked: Asked): PagedRows<Row>
  /** Finds a row of the member by id. Ignores filters. */
  find(membership: Membership, id: string): Promise<Row | undefined>
}

export type RowOf<List> = List extends PagedList<infer Row, never> ? Row : never

/** Creates a list from a query for the rows of a member that match a filter. @param sortedBy the default sort order */
export function pagedList<
  Schema,
  Tables extends keyof Schema,
  Row,
  Filter extends object,
  Sort extends string,
>(
  rowsOf: (membership: Membership, filter: Filter) => SelectQueryBuilder<Schema, Tables, Row>,
  orders: Readonly<Record<Sort, ListOrder<NoInfer<Simplify<Row>>>>>,
  sortedBy: NoInfer<Sort>,
): PagedList<Simplify<Row>, Question<Filter, Sort>> {
  return {
    rows: (membership, asked) =>
      pagedRows(rowsOf(membership, asked), orders[asked.sort ?? sortedBy]),
    async find(membership, id) {
      const isIt = sql<boolean>`${sql.ref(orders[sortedBy].id)} = ${id}`
      // An empty filter is valid, because all its fields are optional.
      return await rowsOf(membership, {} as Filter)
        .where(isIt)
        .executeTakeFirst()
    },
  }
}
