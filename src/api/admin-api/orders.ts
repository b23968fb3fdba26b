import {
  findOrder,
  listBuyers,
  listOrderItems,
  listOrders,
  type Order,
  type OrderQuestion,
} from '../../school/commerce/order-list.ts'
import type { PageArguments } from '../graphql/page-arguments.ts'
import type { AdminResolver } from './context.ts'
import { siteList } from './lists.ts'

interface OrderListArguments
  extends PageArguments,
    Pick<OrderQuestion, 'personId' | 'from' | 'until' | 'sort'> {}

interface OrderArguments {
  readonly id?: string | null
  readonly number?: string | null
}

/** What was bought at the site: `orders:read`. */
export const orderResolvers = {
  Query: {
    orders: async (_source, args: OrderListArguments, context) => {
      const { from, until, sort } = args
      const personId = args.personId ?? undefined
      const question = { siteId: context.caller.siteId, personId, from, until, sort }
      const list = listOrders(context.parts.database, question)
      return await siteList({ named: ['orders', personId, from, until, sort], args, context, list })
    },
    order: async (_source, { id, number }: OrderArguments, { caller, parts }) => {
      const { kysely } = parts.database
      if (id != null) return (await findOrder(kysely, caller.siteId, { id })) ?? null
      if (number == null) return null
      return (await findOrder(kysely, caller.siteId, { number })) ?? null
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Order: {
    buyer: async ({ personId }, _args, { parts, oneOfMany }) => {
      const ofPeople = async (ids: readonly string[]) =>
        await listBuyers(parts.database.kysely, ids)
      return await oneOfMany('buyers', ofPeople, personId)
    },
    items: async ({ id }, _args, { parts, oneOfMany }) => {
      const ofOrders = async (ids: readonly string[]) =>
        await listOrderItems(parts.database.kysely, ids)
      return (await oneOfMany('order items', ofOrders, id)) ?? []
    },
  } satisfies Record<string, AdminResolver<Order>>,
}
