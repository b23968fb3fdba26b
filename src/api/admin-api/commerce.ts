import { DAY_MS, DAYS_MAX } from '../../school/analytics/counting.ts'
import { sumRevenue } from '../../school/analytics/revenue.ts'
import { countReferring } from '../../school/changes/released-items.ts'
import {
  type Attendance,
  cancelRegistration,
  countNotCancelled,
  events,
  findRegistration,
  listRegistrations,
  registerForEvent,
} from '../../school/commerce/events.ts'
import {
  findOrder,
  listBuyers,
  listOrderItems,
  listOrders,
  type Order,
} from '../../school/commerce/order-list.ts'
import { products } from '../../school/commerce/product-store.ts'
import type { FilePurpose } from '../../school/files/file-kinds.ts'
import {
  deleteFile,
  findFile,
  findProductFile,
  listFiles,
  type ProductFile,
  setProductFile,
} from '../../school/files/stored-files.ts'
import { badArgument, type PageArguments } from '../graphql/connections.ts'
import type { Interval } from './analytics.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'
import {
  batched,
  byId,
  changes,
  foundBy,
  itemResolvers,
  listed,
  payloadWith,
  siteList,
} from './resolver-factories.ts'
import { runInTurn } from './site-queue.ts'

/** Resolvers for the site's digital products (scopes `digital_products:read` and `digital_products:write`). */
export const digitalProductResolvers = itemResolvers('DigitalProduct', products, {
  buyerCount: batched(
    'buyers of products',
    countReferring('digital_product', 'digital_product_purchase'),
    0,
  ),
})

type ProductFileArguments = Pick<ProductFile, 'productId'> & { readonly fileId?: string | null }

/** Resolvers for files, including those of products (scopes `storage:write` and `digital_products:write`). */
export const fileResolvers = {
  Query: { files: listed('files', listFiles), file: byId(findFile) },
  Mutation: {
    requestUpload: async (_source, { purpose }: { purpose: FilePurpose }, context) => {
      const { clientId, grantId } = context.caller
      const binding = { purpose, clientId, grantId }
      return await context.parts.uploadLinks.create(actorOf(context), binding)
    },
    deleteFile: async (_source, { id }: { id: string }, context) => {
      const { database, storage } = context.parts
      await deleteFile(database, actorOf(context), { id, storage })
      return { deletedId: id }
    },
    setDigitalProductFile: async (
      _source,
      { productId, fileId = null }: ProductFileArguments,
      context: AdminContext,
    ) => {
      const { database } = context.parts
      await setProductFile(database, actorOf(context), { productId, fileId })
      const file = async () =>
        (await findProductFile(database, context.caller.siteId, productId)) ?? null
      return { id: productId, file }
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
}

const buyerOf = batched('buyers', listBuyers, null)

const REVENUE_DAYS_MAX = 1100
const REVENUE_DAYS_DEFAULT = 30

type RevenueArguments = Interval & { readonly by: Parameters<typeof sumRevenue>[2] }

/** Resolves the site's revenue. @throws GraphQLError if the period is empty or too long */
async function revenueOf(
  _source: unknown,
  { from, until, by }: RevenueArguments,
  { caller: { siteId }, parts: { database, now } }: AdminContext,
) {
  const untilMs = until ?? now()
  const fromMs = from ?? untilMs - REVENUE_DAYS_DEFAULT * DAY_MS
  const daysMax = by === 'DAY' ? DAYS_MAX : REVENUE_DAYS_MAX
  if (untilMs <= fromMs) throw badArgument('until', '"until" must be after "from"')
  if (untilMs - fromMs > daysMax * DAY_MS) {
    throw badArgument('from', `"from" must be at most ${daysMax} days before "until"`)
  }
  const sum = async () => await sumRevenue(database, { siteId, fromMs, untilMs }, by)
  return { from: fromMs, until: untilMs, sums: await runInTurn(`revenue of ${siteId}`, sum) }
}

/** Resolvers for the site's orders (scope `orders:read`). */
export const orderResolvers = {
  Query: {
    orders: listed('orders', listOrders),
    order: foundBy('number', findOrder),
    revenue: revenueOf,
  },
  RevenueSum: {
    netCents: ({ grossCents, refundedCents }: Record<string, number>) =>
      Number(grossCents) - Number(refundedCents),
  },
  Order: {
    buyer: ({ personId }, args, context) => buyerOf({ id: personId }, args, context),
    items: batched('order items', listOrderItems, []),
  } satisfies Record<string, AdminResolver<Order>>,
}

const ofEvents = itemResolvers('Event', events, {
  registrationCount: batched('active registrations', countNotCancelled, 0),
  registrations: async ({ id }: { readonly id: string }, args: PageArguments, context) => {
    const list = listRegistrations(context.parts.database, id)
    return await siteList(context, args, list, 'event registrations', id)
  },
})

const registrationPayload = payloadWith('registration', findRegistration)

/** Resolvers for the site's events and their registrations (scopes `events:read` and `events:write`). */
export const eventResolvers = {
  ...ofEvents,
  Mutation: {
    ...ofEvents.Mutation,
    registerForEvent: async (_source: unknown, attendance: Attendance, context: AdminContext) => {
      const id = await registerForEvent(context.parts.database, actorOf(context), attendance)
      return registrationPayload(id, context)
    },
    cancelRegistration: changes(cancelRegistration, registrationPayload),
  },
}
