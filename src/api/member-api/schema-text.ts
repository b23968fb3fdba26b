import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expandPages } from '../graphql/schema-text.ts'

const connections = {
  ...{ EnrolledCourse: '', DigitalProduct: '', ConsultingService: '', EventRegistration: '' },
  Notification: ', filtered by `unreadOnly`',
}

/** The published schema with its descriptions. */
export const schemaText: string = expandPages(
  readFileSync(join(import.meta.dirname, 'schema.graphql'), 'utf8'),
  connections,
  { boundTo: 'this person, site' },
)
