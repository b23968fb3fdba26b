import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { GraphQLSchema } from 'graphql'

import { makeSchema } from '../graphql/schema.ts'
import { resolvers } from './resolvers.ts'

/** The schema as it is published, descriptions and all. */
export const schemaText: string = readFileSync(join(import.meta.dirname, 'schema.graphql'), 'utf8')

/** The published schema with our resolvers in it. Throws when the two do not fit each other. */
export function makeMemberSchema(): GraphQLSchema {
  return makeSchema(schemaText, resolvers)
}
