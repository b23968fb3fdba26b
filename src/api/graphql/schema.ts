import {
  buildSchema,
  type GraphQLArgument,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLInputField,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isObjectType,
  isScalarType,
  valueFromASTUntyped,
} from 'graphql'

/** Resolvers by type and field, or enum values by type and name. Other fields are read from their parent object. */
type Resolvers = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Creates an executable schema. `around` wraps each resolver. @throws Error if `text` lacks a type or field */
export function makeSchema(
  text: string,
  resolvers: readonly Resolvers[],
  around: (resolve: Resolve) => Resolve = (resolve) => resolve,
): GraphQLSchema {
  const schema = buildSchema(text)
  for (const [typeName, fields] of resolvers.flatMap(Object.entries<Resolvers[string]>)) {
    const type = schema.getType(typeName)
    if (isEnumType(type)) {
      for (const value of type.getValues()) value.value = fields[value.name]
      continue
    }
    if (!isObjectType(type)) throw new Error(`the schema has no type ${typeName}`)
    for (const [name, resolve] of Object.entries(fields)) {
      const field = type.getFields()[name]
      if (!field) throw new Error(`the schema has no field ${typeName}.${name}`)
      // graphql-js has checked the arguments against the schema, whose types match the resolver.
      field.resolve = around(resolve as Resolve)
    }
  }
  const dateTime = schema.getType('DateTime')
  if (!isScalarType(dateTime)) throw new Error('the schema has no scalar DateTime')
  dateTime.serialize = serializeTime
  dateTime.parseValue = parseTime
  dateTime.parseLiteral = (node) => parseTime(valueFromASTUntyped(node))
  return schema
}

type Resolve = GraphQLFieldResolver<unknown, unknown>

function serializeTime(value: unknown): string {
  if (typeof value !== 'number') throw new GraphQLError('a DateTime must be in epoch milliseconds')
  return new Date(value).toISOString()
}

/** Format of a timestamp (RFC 3339 §5.6), with optional seconds. The offset is required: local times are ambiguous. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/

const LAST_TIME_MS = Date.UTC(9999, 11, 31)

function parseTime(value: unknown): number {
  const time = typeof value === 'string' && TIME.test(value) ? Date.parse(value) : Number.NaN
  // A time before 1970 is probably a mistake, and RFC 3339 has no years after 9999.
  if (!(time >= 0 && time <= LAST_TIME_MS)) {
    throw new GraphQLError(
      'a time must be from 1970 to 9999, in RFC 3339 format, like 2026-03-01T09:30:00Z',
    )
  }
  return time
}

/** An argument of a field, or a field of its argument `input`. */
export type FieldArgument = GraphQLArgument | GraphQLInputField

export function isInput({ name }: FieldArgument): boolean {
  return name === 'input'
}

/** Returns the fields of the argument `input`; for any other argument, the argument itself. */
export function fieldsOfInput(argument: GraphQLArgument): FieldArgument[] {
  const type = getNamedType(argument.type)
  return isInput(argument) && isInputObjectType(type) ? Object.values(type.getFields()) : [argument]
}
