import type { Database } from '../store/database.ts'
import {
  type CountedPage,
  type ListOrder,
  type PageRequest,
  readCountedPage,
} from '../store/keyset.ts'

/** The site itself, as its operator sees it. */
export interface SiteSettings {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly createdAt: number
  /** The beta features that are switched on. */
  readonly features: readonly string[]
}

/** An order of a site. Members never see one; this is for who runs the site. */
export interface SiteOrder {
  readonly number: string
  readonly placedAt: number
  readonly customerId: string
  readonly customerName: string
  readonly totalCents: number
  readonly currency: string
  readonly couponCode: string | null
  readonly invoiceNumber: string | null
  /** Null when the order was not refunded. */
  readonly refundedAt: number | null
}

export interface OrderItem {
  readonly kind: 'course' | 'digital product' | 'consulting service' | 'event'
  readonly slug: string
  readonly title: string
}

export async function findSiteSettings(
  { kysely }: Database,
  siteId: string,
): Promise<SiteSettings | undefined> {
  const rows = await kysely
    .selectFrom('site')
    .leftJoin('site_feature', 'site_feature.site_id', 'site.id')
    .select(['site.id', 'site.slug', 'site.name', 'site.created_at', 'site_feature.feature'])
    .where('site.id', '=', siteId)
    .orderBy('site_feature.feature')
    .execute()
  const [row] = rows
  return (
    row && {
      id: row.id,
      slug: row.slug,
      name: row.name,
      createdAt: row.created_at,
      features: rows.flatMap(({ feature }) => feature ?? []),
    }
  )
}

const latestFirst: ListOrder<{ readonly placedAt: number; readonly id: string }> = {
  by: 'customer_order.placed_at',
  id: 'customer_order.id',
  direction: 'desc',
  placeOf: ({ placedAt, id }) => [placedAt, id],
}

/** The orders of the site, the latest first. Two queries. */
export async function listOrders(
  database: Database,
  siteId: string,
  page: PageRequest,
): Promise<CountedPage<SiteOrder>> {
  const found = await readCountedPage(orders(database, siteId), latestFirst, page)
  return { ...found, rows: found.rows.map(orderOf) }
}

/** One order of the site with what was bought, or nothing. Five queries. */
export async function findOrder(
  database: Database,
  siteId: string,
  number: string,
): Promise<(SiteOrder & { items: readonly OrderItem[] }) | undefined> {
  const row = await orders(database, siteId)
    .where('customer_order.number', '=', number)
    .executeTakeFirst()
  if (!row) return undefined
  return { ...orderOf(row), items: await itemsOf(database, row.id) }
}

function orders({ kysely }: Database, siteId: string) {
  return kysely
    .selectFrom('customer_order')
    .innerJoin('person', 'person.id', 'customer_order.person_id')
    .select([
      'customer_order.id',
      'customer_order.number',
      'customer_order.placed_at as placedAt',
      'person.id as customerId',
      'person.name as customerName',
      'customer_order.total_cents as totalCents',
      'customer_order.currency',
      'customer_order.coupon_code as couponCode',
      'customer_order.invoice_number as invoiceNumber',
      'customer_order.refunded_at as refundedAt',
    ])
    .where('customer_order.site_id', '=', siteId)
}

function orderOf({ id: _id, ...order }: SiteOrder & { id: string }): SiteOrder {
  return order
}

async function itemsOf({ kysely }: Database, orderId: string): Promise<OrderItem[]> {
  const [courses, products, services, events] = await Promise.all([
    kysely
      .selectFrom('course_purchase as bought')
      .innerJoin('course as offer', 'offer.id', 'bought.course_id')
      .select(['offer.slug', 'offer.title'])
      .where('bought.order_id', '=', orderId)
      .orderBy('offer.slug')
      .execute(),
    kysely
      .selectFrom('digital_product_purchase as bought')
      .innerJoin('digital_product as offer', 'offer.id', 'bought.digital_product_id')
      .select(['offer.slug', 'offer.title'])
      .where('bought.order_id', '=', orderId)
      .orderBy('offer.slug')
      .execute(),
    kysely
      .selectFrom('consulting_service_purchase as bought')
      .innerJoin('consulting_service as offer', 'offer.id', 'bought.consulting_service_id')
      .select(['offer.slug', 'offer.title'])
      .where('bought.order_id', '=', orderId)
      .orderBy('offer.slug')
      .execute(),
    kysely
      .selectFrom('event_registration as bought')
      .innerJoin('event as offer', 'offer.id', 'bought.event_id')
      .select(['offer.slug', 'offer.title'])
      .where('bought.order_id', '=', orderId)
      .orderBy('offer.slug')
      .execute(),
  ])
  return [
    ...courses.map((offer) => ({ kind: 'course' as const, ...offer })),
    ...products.map((offer) => ({ kind: 'digital product' as const, ...offer })),
    ...services.map((offer) => ({ kind: 'consulting service' as const, ...offer })),
    ...events.map((offer) => ({ kind: 'event' as const, ...offer })),
  ]
}
