import { z } from 'zod'

import { readScope } from '../scopes/catalogue.ts'
import {
  findOrder,
  findSiteSettings,
  listOrders,
  type SiteOrder,
} from '../sites/operator-school.ts'
import { operatorTool, siteOf } from './operator.ts'
import {
  count,
  isoTime,
  isoTimeOrNull,
  listAnswer,
  pageArguments,
  pageOf,
  timestamp,
} from './shapes.ts'
import { type Tool, ToolProblem } from './tool.ts'

const getSchool = operatorTool({
  name: 'get_site',
  title: 'The site',
  description: "Returns name and settings of the token's site.",
  scope: readScope('school'),
  input: z.strictObject({}),
  output: z.strictObject({
    id: z.string(),
    slug: z.string(),
    name: z.string(),
    createdAt: timestamp,
    features: z.array(z.string()).describe('Beta features that are switched on.'),
  }),
  run: async (_none, call) => {
    const school = await call.parts.read((db) => findSiteSettings(db, siteOf(call)))
    if (!school) throw new ToolProblem('The site of this token is gone.')
    return { ...school, createdAt: isoTime(school.createdAt), features: [...school.features] }
  },
})

const order = {
  number: z.string(),
  placedAt: timestamp,
  customer: z.strictObject({ id: z.string(), name: z.string() }),
  totalCents: z.int().describe('In hundredths of the currency.'),
  currency: z.string(),
  couponCode: z.string().nullable(),
  invoiceNumber: z.string().nullable(),
  refundedAt: timestamp.nullable().describe('Null for an order that was not refunded.'),
}

const item = z.strictObject({
  kind: z.enum(['course', 'digital product', 'consulting service', 'event']),
  slug: z.string(),
  title: z.string(),
})

const ITEMS_SHOWN_MAX = 500

const orderTools = [
  operatorTool({
    name: 'list_site_orders',
    title: 'Orders of the site',
    description: "Lists the orders of the token's site, the latest first.",
    scope: readScope('orders'),
    input: z.strictObject(pageArguments),
    output: pageOf(z.strictObject(order)),
    run: async (wanted, call) =>
      await listAnswer(call, 'orders', {
        wanted,
        read: (db, page) => listOrders(db, siteOf(call), page),
        nodeOf: orderOf,
      }),
  }),
  operatorTool({
    name: 'get_site_order',
    title: 'An order of the site',
    description: "Returns one order of the token's site with what was bought.",
    scope: readScope('orders'),
    input: z.strictObject({
      number: z
        .string()
        .regex(/^[ -~]{1,64}$/, 'must be a number as list_site_orders returned it')
        .describe('Number of the order.'),
    }),
    output: z.strictObject({
      ...order,
      itemCount: count,
      items: z.array(item).max(ITEMS_SHOWN_MAX),
    }),
    run: async ({ number }, call) => {
      const row = await call.parts.read((db) => findOrder(db, siteOf(call), number))
      if (!row) throw new ToolProblem('The site has no order of that number.')
      const { items } = row
      return { ...orderOf(row), itemCount: items.length, items: items.slice(0, ITEMS_SHOWN_MAX) }
    },
  }),
]

/** The site itself, and its orders. */
export const siteTools: readonly Tool[] = [getSchool, ...orderTools]

function orderOf(row: SiteOrder) {
  const { number, placedAt, customerId, customerName, refundedAt, ...rest } = row
  const { totalCents, currency, couponCode, invoiceNumber } = rest
  return {
    number,
    placedAt: isoTime(placedAt),
    customer: { id: customerId, name: customerName },
    totalCents,
    currency,
    couponCode,
    invoiceNumber,
    refundedAt: isoTimeOrNull(refundedAt),
  }
}
