/** Lists a site's orders for its operators. The service stores no card or bank details. */

import { type Kysely, sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { inTimeOrder, orderBy, pagedRows, type TimeOrder } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'

interface OrderQuestion {
  readonly siteId: string
  readonly personId?: string | null | undefined
  /** Only orders placed at or after this time, in epoch milliseconds. */
  readonly from?: number | null | undefined
  /** Only orders placed before this time, in epoch milliseconds. */
  readonly until?: number | null | undefined
  readonly sort?: TimeOrder | null | undefined
}

export type Order = NonNullable<Awaited<ReturnType<typeof findOrder>>>

const newestFirst = orderBy('placedAt', 'desc', 'placed.placed_at', 'placed.id')

/** Lists a site's orders, newest first by default. Runs one query for a page, and one for the count. */
export function listOrders({ kysely }: Database, question: OrderQuestion) {
  const { siteId, personId, from, until, sort } = question
  const found = ordersOf(kysely, siteId)
    .$if(personId != null, (query) => query.where('placed.person_id', '=', personId ?? ''))
    .$if(from != null, (query) => query.where('placed.placed_at', '>=', from ?? 0))
    .$if(until != null, (query) => query.where('placed.placed_at', '<', until ?? 0))
  return pagedRows(found, inTimeOrder(newestFirst, sort))
}

export async function findOrder(
  kysely: Kysely<Schema>,
  siteId: string,
  by: { readonly id: string } | { readonly number: string },
) {
  const found = ordersOf(kysely, siteId).where((e) => e.and(by))
  return await found.executeTakeFirst()
}

function ordersOf(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('customer_order as placed')
    .select(['placed.id', 'placed.number', 'placed.person_id as personId'])
    .select(['placed.placed_at as placedAt', 'placed.total_cents as totalCents', 'placed.currency'])
    .select(['placed.coupon_code as couponCode', 'placed.invoice_number as invoiceNumber'])
    .select(['placed.refunded_at as refundedAt'])
    .where('placed.site_id', '=', siteId)
}

/** The two tables for each kind of order item: the purchases and the items for sale. */
const itemTables = {
  COURSE: ['course_purchase', 'course'],
  DIGITAL_PRODUCT: ['digital_product_purchase', 'digital_product'],
  CONSULTING_SERVICE: ['consulting_service_purchase', 'consulting_service'],
  EVENT: ['event_registration', 'event'],
} as const

interface OrderItem {
  readonly orderId: string
  readonly kind: keyof typeof itemTables
  readonly id: string
  readonly title: string
}

/** Lists the items of each order, sorted by kind and title, with one query. Omits orders without items. */
export async function listOrderItems(kysely: Kysely<Schema>, orderIds: readonly string[]) {
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

/** Finds buyers by their person ids, with one query. Includes people who have left the site. */
export async function listBuyers(kysely: Kysely<Schema>, personIds: readonly string[]) {
  const rows = await kysely
    .selectFrom('person')
    .select(['id', 'name', 'email'])
    .where('id', 'in', personIds)
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}
