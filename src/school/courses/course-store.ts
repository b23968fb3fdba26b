/** Reads and changes a site's courses. Enrolments are in `members/enrolments.ts`. */

import { itemFields, pageAddress } from '../changes/input.ts'
import { releasedItems } from '../changes/released-items.ts'

const address = pageAddress.nullable()

export const courses = releasedItems({
  table: 'course',
  prefix: 'crs',
  fields: itemFields.extend({ url: address, imageUrl: address }),
})
