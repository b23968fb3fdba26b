/** Reads and changes a site's digital products. Their files are in `files`, their sales in `order-list.ts`. */

import { fileName, idempotencyKey, itemFields } from '../changes/input.ts'
import { itemColumns, itemOrders, releasedItems } from '../changes/released-items.ts'

const fields = itemFields.extend({ fileName })

export const products = releasedItems({
  table: 'digital_product',
  prefix: 'dig',
  rowsOf: (kysely, siteId) =>
    kysely
      .selectFrom('digital_product')
      .select(itemColumns('digital_product'))
      .select(['digital_product.file_name as fileName', 'digital_product.file_id as fileId'])
      .where('digital_product.site_id', '=', siteId),
  orders: itemOrders,
  sortedBy: 'SLUG',
  creation: fields.extend({ idempotencyKey }),
  changes: fields.partial(),
})
