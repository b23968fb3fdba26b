import { type SelectQueryBuilder, type Simplify, sql } from 'kysely'

import {
  countRows,
  type ListOrder,
  type Page,
  type PageRequest,
  readPage,
} from '../../platform/store/keyset.ts'

/** The person and the site of a token: the two that every statement of this folder is bound to. */
export interface Membership {
  readonly personId: string
  readonly siteId: string
}

/** What is asked of a list: how it is sorted, and its filters; all of them can be left out. */
export type Question<Filter extends object = object, Sort extends string = string> = Filter & {
  readonly sort?: Sort | null | undefined
}

/** A list of which one page is asked for at a time, and any of its rows. Each call is one statement. */
export interface PagedList<Row, Asked> {
  page(membership: Membership, asked: Asked, request: PageRequest): Promise<Page<Row>>
  count(membership: Membership, asked: Asked): Promise<number>
  /** The row of the member with this id, whatever a filter would say of it. */
  find(membership: Membership, id: string): Promise<Row | undefined>
}

/** What a list is of. */
export type RowOf<List> = List extends PagedList<infer Row, never> ? Row : never

/**
 * Makes a list of a query for the rows that belong to a member, and that a filter leaves.
 *
 * @param sortedBy the order without a `sort`
 */
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
    page: async (membership, asked, request) =>
      await readPage(rowsOf(membership, asked), orders[asked.sort ?? sortedBy], request),
    count: async (membership, asked) => await countRows(rowsOf(membership, asked)),
    async find(membership, id) {
      const isIt = sql<boolean>`${sql.ref(orders[sortedBy].id)} = ${id}`
      // Every field of a filter can be left out.
      return await rowsOf(membership, {} as Filter)
        .where(isIt)
        .executeTakeFirst()
    },
  }
}
