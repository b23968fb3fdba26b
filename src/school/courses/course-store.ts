/** Reads and changes a site's courses. Enrolments are in `members/enrolments.ts`. */

import { idempotencyKey, itemFields, pageAddress } from '../changes/input.ts'
import { itemColumns, itemOrders, releasedItems } from '../changes/released-items.ts'

const address = pageAddress.nullable()

export const courses = releasedItems({
  table: 'course',
  prefix: 'crs',
  rowsOf: (kysely, siteId) =>
    kysely
      .selectFrom('course')
      .select(itemColumns('course'))
      .select(['course.url', 'course.image_url as imageUrl'])
      .where('course.site_id', '=', siteId),
  orders: itemOrders,
  sortedBy: 'SLUG',
  creation: itemFields.extend({
    url: address.default(null),
    imageUrl: address.default(null),
    idempotencyKey,
  }),
  changes: itemFields.extend({ url: address, imageUrl: address }).partial(),
})
