/** What was bought at a site, by whom and when, as its operators see it. How it was paid is not known here, or anywhere. */

import { type Kysely, sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import {
  inTimeOrder,
  type ListOrder,
  pagedRows,
  type TimeOrder,
} from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'

export interface OrderQuestion {
  readonly siteId: string
  /** Only the orders of this person. */
  readonly personId?: string | null | undefined
  /** Only what was placed then or later, in epoch milliseconds. */
  readonly from?: number | null | undefined
  /** Only what was placed before, in epoch milliseconds. */
  readonly until?: number | null | undefined
  readonly sort?: TimeOrder | null | undefined
}

export type Order = NonNullable<Awaited<ReturnType<typeof findOrder>>>

const newestFirst: ListOrder<Pick<Order, 'id' | 'placedAt'>> = {
  by: 'placed.placed_at',
  id: 'placed.id',
  direction: 'desc',
  placeOf: ({ placedAt, id }) => [placedAt, id],
}

/** The orders of a site by when they were placed: one page, and how many there are, each in one query. */
export function listOrders({ kysely }: Database, question: OrderQuestion) {
  const { siteId, personId, from, until, sort } = question
  const found = ordersOf(kysely, siteId)
    .$if(personId != null, (query) => query.where('placed.person_id', '=', personId ?? ''))
    .$if(from != null, (query) => query.where('placed.placed_at', '>=', from ?? 0))
    .$if(until != null, (query) => query.where('placed.placed_at', '<', until ?? 0))
  return pagedRows(found, inTimeOrder(newestFirst, sort))
}

/** One order of a site by its id or its number, or nothing. One query. */
export async function findOrder(
  kysely: Kysely<Schema>,
  siteId: string,
  by: { readonly id: string } | { readonly number: string },
) {
  const query = ordersOf(kysely, siteId)
  return await ('id' in by
    ? query.where('placed.id', '=', by.id)
    : query.where('placed.number', '=', by.number)
  ).executeTakeFirst()
}

function ordersOf(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('customer_order as placed')
    .select([
      'placed.id',
      'placed.number',
      'placed.person_id as personId',
      'placed.placed_at as placedAt',
      'placed.total_cents as totalCents',
      'placed.currency',
      'placed.coupon_code as couponCode',
      'placed.invoice_number as invoiceNumber',
      'placed.refunded_at as refundedAt',
    ])
    .where('placed.site_id', '=', siteId)
}

/** What an order is for, as the schema of the Admin API names it. */
export type ItemKind = keyof typeof itemTables

/** Where each kind is kept: the purchases, and what was bought. */
const itemTables = {
  COURSE: ['course_purchase', 'course'],
  DIGITAL_PRODUCT: ['digital_product_purchase', 'digital_product'],
  CONSULTING_SERVICE: ['consulting_service_purchase', 'consulting_service'],
  EVENT: ['event_registration', 'event'],
} as const

export interface OrderItem {
  readonly orderId: string
  readonly kind: ItemKind
  /** The id of what was bought. */
  readonly id: string
  readonly title: string
}

/** What orders are for, each order's by kind and title. One query. */
export async function listOrderItems(
  kysely: Kysely<Schema>,
  orderIds: readonly string[],
): Promise<Map<string, OrderItem[]>> {
  const selects = Object.entries(itemTables).map(
    ([kind, [purchases, items]]) => sql`
      select bought.order_id as ${sql.ref('orderId')}, ${sql.lit(kind)} as kind, item.id, item.title
      from ${sql.table(purchases)} as bought
      join ${sql.table(items)} as item on item.id = bought.${sql.ref(`${items}_id`)}
      where bought.order_id in (${sql.join(orderIds)})`,
  )
  const { rows } = await sql<OrderItem>`${sql.join(selects, sql` union all `)}
    order by 2, 4, 3`.execute(kysely)
  return Map.groupBy(rows, ({ orderId }) => orderId)
}

/** Who placed orders: people may have left the site since, and the orders stay theirs. One query. */
export async function listBuyers(kysely: Kysely<Schema>, personIds: readonly string[]) {
  const rows = await kysely
    .selectFrom('person')
    .select(['id', 'name', 'email'])
    .where('id', 'in', personIds)
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}
