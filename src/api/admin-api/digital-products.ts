import { type ReleaseChange, releaseStateOf } from '../../school/changes/release.ts'
import {
  countBuyers,
  createProduct,
  findProduct,
  listProducts,
  mustFindProduct,
  type Product,
  type ProductChanges,
  type ProductCreation,
  type ProductQuestion,
  releaseProduct,
  updateProduct,
} from '../../school/commerce/product-store.ts'
import type { PageArguments } from '../graphql/page-arguments.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'
import { siteList } from './lists.ts'

interface ProductListArguments
  extends PageArguments,
    Pick<ProductQuestion, 'search' | 'state' | 'sort'> {}

interface ProductArguments {
  readonly id?: string | null
  readonly slug?: string | null
}

/** The digital products of the site: `digital_products:read` and `digital_products:write`. */
export const digitalProductResolvers = {
  Query: {
    digitalProducts: async (_source, args: ProductListArguments, context) => {
      const { search, state, sort } = args
      const { caller, parts } = context
      const question = { siteId: caller.siteId, nowMs: parts.now(), search, state, sort }
      const list = listProducts(parts.database, question)
      return await siteList({
        named: ['digitalProducts', search, state, sort],
        args,
        context,
        list,
      })
    },
    digitalProduct: async (_source, { id, slug }: ProductArguments, { caller, parts }) => {
      const { kysely } = parts.database
      if (id != null) return (await findProduct(kysely, caller.siteId, { id })) ?? null
      if (slug == null) return null
      return (await findProduct(kysely, caller.siteId, { slug })) ?? null
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Mutation: {
    createDigitalProduct: async (_source, { input }: { input: ProductCreation }, context) =>
      await productAfter(
        context,
        await createProduct(context.parts.database, actorOf(context), input),
      ),
    updateDigitalProduct: async (
      _source,
      { input }: { input: ProductChanges & { id: string } },
      context,
    ) => {
      await updateProduct(context.parts.database, actorOf(context), input)
      return await productAfter(context, input.id)
    },
    publishDigitalProduct: async (
      _source,
      { id, at }: { id: string; at?: number | null },
      context,
    ) => await released(context, id, { kind: 'publish', at: at ?? undefined }),
    unpublishDigitalProduct: async (_source, { id }: { id: string }, context) =>
      await released(context, id, { kind: 'unpublish' }),
    archiveDigitalProduct: async (_source, { id }: { id: string }, context) =>
      await released(context, id, { kind: 'archive' }),
    restoreDigitalProduct: async (_source, { id }: { id: string }, context) =>
      await released(context, id, { kind: 'restore' }),
  } satisfies Record<string, AdminResolver<undefined, never>>,
  DigitalProduct: {
    state: (product, _args, { parts }) => releaseStateOf(product, parts.now()),
    buyerCount: async ({ id }, _args, { oneOfMany, parts }) => {
      const ofProducts = async (ids: readonly string[]) =>
        await countBuyers(parts.database.kysely, ids)
      return (await oneOfMany('buyers of products', ofProducts, id)) ?? 0
    },
  } satisfies Record<string, AdminResolver<Product>>,
}

async function released(context: AdminContext, id: string, change: ReleaseChange) {
  await releaseProduct(context.parts.database, actorOf(context), { id, change })
  return await productAfter(context, id)
}

/** The payload of a change: the product as it is now, for whoever may read it and asks. */
async function productAfter({ caller, parts }: AdminContext, id: string) {
  return {
    id,
    digitalProduct: async () => await mustFindProduct(parts.database.kysely, caller.siteId, id),
  }
}
