import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import {
  buildSchema,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  isObjectType,
  isScalarType,
} from 'graphql'

import { resolvers } from './resolvers.ts'

/** The schema as it is published, descriptions and all. */
export const schemaText: string = readFileSync(join(import.meta.dirname, 'schema.graphql'), 'utf8')

/** The published schema with our resolvers in it. Throws when the two do not fit each other. */
export function makeMemberSchema(): GraphQLSchema {
  const schema = buildSchema(schemaText)
  for (const [typeName, fields] of Object.entries(resolvers)) {
    const type = schema.getType(typeName)
    if (!isObjectType(type)) throw new Error(`schema.graphql has no type ${typeName}`)
    for (const [name, resolve] of Object.entries(fields)) {
      const field = type.getFields()[name]
      if (!field) throw new Error(`schema.graphql has no field ${typeName}.${name}`)
      // The arguments were checked against the schema, which the resolvers' types repeat.
      field.resolve = resolve as GraphQLFieldResolver<unknown, unknown>
    }
  }
  const dateTime = schema.getType('DateTime')
  if (!isScalarType(dateTime)) throw new Error('schema.graphql has no scalar DateTime')
  dateTime.serialize = serializeMoment
  return schema
}

function serializeMoment(value: unknown): string {
  if (typeof value !== 'number') throw new GraphQLError('a moment must be epoch milliseconds')
  return new Date(value).toISOString()
}
