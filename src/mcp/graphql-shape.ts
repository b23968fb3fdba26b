import {
  buildSchema,
  type DocumentNode,
  type FieldNode,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  getNullableType,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  type SelectionSetNode,
  validate,
} from 'graphql'

import { schemaText } from '../member-api/schema.ts'
import { type JsonSchema, once } from './tool.ts'

/**
 * The answer of a fixed GraphQL document as a JSON Schema, derived from the published schema: what a
 * member tool says of its answer cannot drift from what the Member API answers (design 23). It
 * supports what our documents use: one operation, and fields without aliases and fragments.
 */
export function answerSchema(document: string, pick: readonly string[]): JsonSchema {
  const parsed = parse(document)
  const [fault] = validate(memberSchema(), parsed)
  if (fault) throw new Error(`the document of a tool does not fit the schema: ${fault.message}`)
  const { root, selections } = operationOf(parsed)
  return { ...pick.reduce(propertyOf, objectSchema(root, selections)) }
}

const memberSchema = once(() => buildSchema(schemaText))

function operationOf({ definitions }: DocumentNode) {
  const [operation] = definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('a tool needs one operation')
  const root = memberSchema().getRootType(operation.operation)
  if (!root) throw new Error('the schema has no such operation')
  return { root, selections: operation.selectionSet }
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

const scalars: Readonly<Record<string, JsonSchema>> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  Boolean: { type: 'boolean' },
  DateTime: { type: 'string', format: 'date-time' },
}

function leafSchema(type: GraphQLNamedType): JsonSchema {
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
