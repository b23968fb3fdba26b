/** The digital products of a site, as its operators keep them. Who bought one is changed elsewhere. */

import { z } from 'zod'

import {
  fileName,
  idempotencyKey,
  line,
  SUMMARY_LENGTH_MAX,
  slug,
  TITLE_LENGTH_MAX,
  text,
} from '../changes/input.ts'
import { itemOrders, releasedItems } from '../changes/released-items.ts'

const form = z.strictObject({
  slug,
  title: line(TITLE_LENGTH_MAX),
  summary: text(SUMMARY_LENGTH_MAX),
  fileName,
})

export const products = releasedItems({
  table: 'digital_product',
  prefix: 'dig',
  rowsOf: (kysely, siteId) =>
    kysely
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
      .where('digital_product.site_id', '=', siteId),
  orders: itemOrders,
  sortedBy: 'SLUG',
  creation: form.extend({ idempotencyKey }),
  changes: form.partial(),
})
