import {
  buildSchema,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  isObjectType,
  isScalarType,
  valueFromASTUntyped,
} from 'graphql'

/** The fields of a schema that are not simply a property of what is above them, by type and name. */
type Resolvers = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/**
 * A schema as it is published, with our resolvers in it.
 *
 * @param around wraps every resolver
 * @throws Error when text and resolvers do not fit each other, so that a slip shows at the start
 */
export function makeSchema(
  text: string,
  resolvers: readonly Resolvers[],
  around: (resolve: Resolve) => Resolve = (resolve) => resolve,
): GraphQLSchema {
  const schema = buildSchema(text)
  for (const [typeName, fields] of resolvers.flatMap(Object.entries<Resolvers[string]>)) {
    const type = schema.getType(typeName)
    if (!isObjectType(type)) throw new Error(`the schema has no type ${typeName}`)
    for (const [name, resolve] of Object.entries(fields)) {
      const field = type.getFields()[name]
      if (!field) throw new Error(`the schema has no field ${typeName}.${name}`)
      // The arguments were checked against the schema, which the resolvers' types repeat.
      field.resolve = around(resolve as Resolve)
    }
  }
  const dateTime = schema.getType('DateTime')
  if (!isScalarType(dateTime)) throw new Error('the schema has no scalar DateTime')
  dateTime.serialize = serializeMoment
  dateTime.parseValue = parseMoment
  dateTime.parseLiteral = (node) => parseMoment(valueFromASTUntyped(node))
  return schema
}

type Resolve = GraphQLFieldResolver<unknown, unknown>

function serializeMoment(value: unknown): string {
  if (typeof value !== 'number') throw new GraphQLError('a moment must be epoch milliseconds')
  return new Date(value).toISOString()
}

/** RFC 3339 §5.6, with the offset that it demands; a day alone would mean another moment elsewhere. */
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/

const LAST_MOMENT_MS = Date.UTC(9999, 11, 31)

function parseMoment(value: unknown): number {
  const moment = typeof value === 'string' && MOMENT.test(value) ? Date.parse(value) : Number.NaN
  // What is before 1970 or after 9999 is a slip of a program, and no moment of RFC 3339 in an answer.
  if (!(moment >= 0 && moment <= LAST_MOMENT_MS)) {
    throw new GraphQLError('a moment must be like 2026-03-01T09:30:00Z (RFC 3339)')
  }
  return moment
}
