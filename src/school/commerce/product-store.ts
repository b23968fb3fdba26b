/** Reads and changes a site's digital products. Their files are in `files`, and their sales in `order-list.ts`. */

import { fileName, itemFields } from '../changes/input.ts'
import { releasedItems } from '../changes/released-items.ts'

export const products = releasedItems({
  table: 'digital_product',
  prefix: 'dig',
  fields: itemFields.extend({ fileName }),
  linked: ['fileId'],
})
