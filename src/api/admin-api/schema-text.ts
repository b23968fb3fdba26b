import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The areas of the Admin API, each a file of the schema; `areas.ts` has the resolvers of their types. */
export const areaNames = [
  'site',
  'courses',
  'curriculum',
  'students',
  'members',
  'lecturers',
  'orders',
  'digital-products',
  'events',
  'posts',
  'analytics',
  'files',
  'appearance',
] as const

export type AreaName = (typeof areaNames)[number]

/** The schema as it is published, descriptions and all. */
export const schemaText: string = ['schema', ...areaNames]
  .map((name) => readFileSync(join(import.meta.dirname, `${name}.graphql`), 'utf8'))
  .join('\n')
