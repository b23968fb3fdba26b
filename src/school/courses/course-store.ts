/** The courses of a site, as its operators keep them. Who bought one is in students. */

import { z } from 'zod'

import {
  idempotencyKey,
  line,
  pageAddress,
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
  url: pageAddress.nullable(),
  imageUrl: pageAddress.nullable(),
})

export const courses = releasedItems({
  table: 'course',
  prefix: 'crs',
  rowsOf: (kysely, siteId) =>
    kysely
      .selectFrom('course')
      .select([
        'course.id',
        'course.slug',
        'course.title',
        'course.summary',
        'course.url',
        'course.image_url as imageUrl',
        'course.published_at as publishedAt',
        'course.archived_at as archivedAt',
        'course.created_at as createdAt',
      ])
      .where('course.site_id', '=', siteId),
  orders: itemOrders,
  sortedBy: 'SLUG',
  creation: form.extend({
    url: form.shape.url.default(null),
    imageUrl: form.shape.imageUrl.default(null),
    idempotencyKey,
  }),
  changes: form.partial(),
})
