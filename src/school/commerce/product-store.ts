/** The digital products of a site, as its operators keep them. Who bought one is read here and changed elsewhere. */

import { type Kysely, sql } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import { countRows, type PageRequest, readPage } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import {
  fileName,
  idempotencyKey,
  line,
  SUMMARY_LENGTH_MAX,
  slug,
  TITLE_LENGTH_MAX,
  text,
} from '../changes/fields.ts'
import { type ItemFilter, itemMatches, itemOrders } from '../changes/item-lists.ts'
import { type ItemKey, releasedItems } from '../changes/released-items.ts'

export interface ProductQuestion extends ItemFilter {
  readonly siteId: string
  readonly sort?: ProductSort | null | undefined
}

export type ProductSort = keyof typeof orders

export type Product = NonNullable<Awaited<ReturnType<typeof findProduct>>>

const orders = itemOrders('digital_product')

/** One page of the products of a site, and how many there are, each in one query. */
export function listProducts({ kysely }: Database, question: ProductQuestion) {
  const found = productsOf(kysely, question.siteId).where(itemMatches('digital_product', question))
  return {
    page: async (request: PageRequest) =>
      await readPage(found, orders[question.sort ?? 'SLUG'], request),
    count: async () => await countRows(found),
  }
}

/** One product of a site by its id or its slug, or nothing. One query. */
export async function findProduct(kysely: Kysely<Schema>, siteId: string, by: ItemKey) {
  const query = productsOf(kysely, siteId)
  return await ('id' in by
    ? query.where('digital_product.id', '=', by.id)
    : query.where('digital_product.slug', '=', by.slug)
  ).executeTakeFirst()
}

function productsOf(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('digital_product')
    .select([
      'digital_product.id',
      'digital_product.slug',
      'digital_product.title',
      'digital_product.summary',
      'digital_product.file_name as fileName',
      'digital_product.file_id as fileId',
      'digital_product.published_at as publishedAt',
      'digital_product.archived_at as archivedAt',
      'digital_product.created_at as createdAt',
    ])
    .where('digital_product.site_id', '=', siteId)
}

/** How many people bought each product; one that is not there nobody did. One query. */
export async function countBuyers(
  kysely: Kysely<Schema>,
  productIds: readonly string[],
): Promise<Map<string, number>> {
  const counted = await kysely
    .selectFrom('digital_product_purchase')
    .select(['digital_product_id', sql<number>`count(*)`.as('total')])
    .where('digital_product_id', 'in', productIds)
    .groupBy('digital_product_id')
    .execute()
  return new Map(
    counted.map(({ digital_product_id, total }) => [digital_product_id, Number(total)]),
  )
}

const form = z.strictObject({
  slug,
  title: line(TITLE_LENGTH_MAX),
  summary: text(SUMMARY_LENGTH_MAX),
  fileName,
})
const creation = form.extend({ idempotencyKey })
const changes = form.partial()

type ProductFields = z.output<typeof form>
export type ProductCreation = z.input<typeof creation>
export type ProductChanges = z.input<typeof changes>

const products = releasedItems<ProductFields, Product, ProductCreation, ProductChanges>({
  table: 'digital_product',
  noun: 'digital product',
  prefix: 'dig',
  find: findProduct,
  creation,
  changes,
  actions: {
    create: { action: 'digital_product.create' },
    update: { action: 'digital_product.update' },
    publish: { action: 'digital_product.publish' },
    unpublish: { action: 'digital_product.unpublish' },
    archive: { action: 'digital_product.archive' },
    restore: { action: 'digital_product.restore' },
  },
})

/** @throws ChangeRefused when the site has no such digital product */
export const mustFindProduct: typeof products.mustFind = products.mustFind
export const createProduct: typeof products.create = products.create
export const updateProduct: typeof products.update = products.update
export const releaseProduct: typeof products.release = products.release
