import type { SelectQueryBuilder, Simplify } from 'kysely'

import {
  countRows,
  type ListOrder,
  type Page,
  type PageRequest,
  readPage,
} from '../store/keyset.ts'

/** The person and the site of a token: the two that every statement of this folder is bound to. */
export interface Membership {
  readonly personId: string
  readonly siteId: string
}

/** A list of which one page is asked for at a time. Each call is one statement. */
export interface PagedList<Row> {
  page(membership: Membership, request: PageRequest): Promise<Page<Row>>
  count(membership: Membership): Promise<number>
}

/** What a list is of. */
export type RowOf<List> = List extends PagedList<infer Row> ? Row : never

/** Makes a list of a query for the rows that belong to a member. */
export function pagedList<Schema, Tables extends keyof Schema, Row>(
  rowsOf: (membership: Membership) => SelectQueryBuilder<Schema, Tables, Row>,
  order: ListOrder<Simplify<Row>>,
): PagedList<Simplify<Row>> {
  return {
    page: async (membership, request) => await readPage(rowsOf(membership), order, request),
    count: async (membership) => await countRows(rowsOf(membership)),
  }
}
