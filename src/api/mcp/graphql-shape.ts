import {
  type FieldNode,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  validate,
} from 'graphql'

import type { JsonSchema } from './json-schema.ts'

/** A fixed document of a tool with the schema that it fits. */
export interface FixedDocument {
  readonly schema: GraphQLSchema
  readonly operation: OperationDefinitionNode
  readonly root: GraphQLObjectType
}

/**
 * Reads the one operation of a tool's document.
 *
 * @throws Error when it does not fit the schema, so that a slip shows in the first test that lists tools
 */
export function readDocument(schema: GraphQLSchema, document: string): FixedDocument {
  const parsed = parse(document)
  const [fault] = validate(schema, parsed)
  if (fault) throw new Error(`the document of a tool does not fit the schema: ${fault.message}`)
  const [operation] = parsed.definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('a tool needs one operation')
  const root = schema.getRootType(operation.operation)
  if (!root) throw new Error('the schema has no such operation')
  return { schema, operation, root }
}

/**
 * The answer of a fixed GraphQL document as a JSON Schema, derived from the published schema: what a
 * tool says of its answer cannot drift from what the API answers (design 23). It supports what our
 * documents use: one operation, and fields without aliases and fragments.
 */
export function answerSchema(
  { operation, root }: FixedDocument,
  pick: readonly string[],
): JsonSchema {
  return { ...pick.reduce(propertyOf, objectSchema(root, operation.selectionSet)) }
}

function objectSchema(type: GraphQLObjectType, { selections }: SelectionSetNode): JsonSchema {
  const fields = selections.filter((selection) => selection.kind === Kind.FIELD)
  const names = fields.map(({ name }) => name.value)
  return {
    type: 'object',
    properties: Object.fromEntries(
      fields.map((field) => [field.name.value, fieldSchema(type, field)]),
    ),
    required: names,
    additionalProperties: false,
  }
}

function fieldSchema(parent: GraphQLObjectType, { name, selectionSet }: FieldNode): JsonSchema {
  const field = parent.getFields()[name.value]
  if (!field) throw new Error(`${parent.name} has no field ${name.value}`)
  const { description } = field
  return {
    ...valueSchema(field.type, selectionSet),
    ...(description ? { description } : {}),
  }
}

function valueSchema(
  type: GraphQLOutputType,
  selectionSet: SelectionSetNode | undefined,
): JsonSchema {
  const present = presentSchema(getNullableType(type), selectionSet)
  return isNonNullType(type) ? present : { anyOf: [present, { type: 'null' }] }
}

function presentSchema(
  type: GraphQLOutputType,
  selectionSet: SelectionSetNode | undefined,
): JsonSchema {
  if (isListType(type)) {
    return { type: 'array', items: valueSchema(type.ofType as GraphQLOutputType, selectionSet) }
  }
  const named = getNamedType(type)
  return isObjectType(named) && selectionSet ? objectSchema(named, selectionSet) : leafSchema(named)
}

/** What the scalars of our schemas are in JSON. */
const scalars: Readonly<Record<string, JsonSchema>> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  Boolean: { type: 'boolean' },
  DateTime: { type: 'string', format: 'date-time' },
}

/** The JSON Schema of a scalar or an enum. */
export function leafSchema(type: GraphQLNamedType): JsonSchema {
  if (isEnumType(type)) return { type: 'string', enum: type.getValues().map(({ name }) => name) }
  const schema = scalars[type.name]
  if (!schema) throw new Error(`no JSON Schema is known for ${type.name}`)
  return schema
}

/** Goes down to the part of the answer that a tool returns. */
function propertyOf(schema: JsonSchema, name: string): JsonSchema {
  const { [name]: property } = schema['properties'] as Record<string, JsonSchema>
  if (!property) throw new Error(`the answer has no ${name}`)
  // A payload is null only when its mutation failed, and then the tool answers with an error.
  const { anyOf } = property as { anyOf?: readonly JsonSchema[] }
  return anyOf?.[0] ?? property
}
