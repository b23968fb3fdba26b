import {
  type GraphQLArgument,
  type GraphQLInputType,
  getNamedType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isScalarType,
  Kind,
  TypeInfo,
  typeFromAST,
  type VariableDefinitionNode,
  visit,
  visitWithTypeInfo,
} from 'graphql'

import { PAGE_SIZE_MAX } from '../graphql/page-arguments.ts'
import { type FixedDocument, leafSchema } from './graphql-shape.ts'
import type { JsonSchema } from './tool.ts'

/** An argument of a tool: a variable of its document, or a field of its variable `input`. */
interface ToolArgument {
  readonly name: string
  readonly type: GraphQLInputType
  readonly description: string | null | undefined
  readonly defaultValue: unknown
}

/**
 * What a tool takes, derived from the document that it runs: the fields of its variable `$input`, and
 * its other variables, each with the words of the schema.
 */
export function argumentsSchema(document: FixedDocument): JsonSchema {
  const named = argumentsOf(document)
  const required = named.filter(
    ({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined,
  )
  return {
    type: 'object',
    properties: Object.fromEntries(named.map((argument) => [argument.name, schemaOf(argument)])),
    ...(required.length > 0 && { required: required.map(({ name }) => name) }),
    additionalProperties: false,
  }
}

/** The variables of a document for the arguments of a call. */
export function variablesFor(
  { operation }: FixedDocument,
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const names = (operation.variableDefinitions ?? []).map(({ variable }) => variable.name.value)
  if (!names.includes('input')) return { ...values }
  const beside = names.filter((name) => name !== 'input')
  const own = Object.entries(values)
  return {
    ...Object.fromEntries(own.filter(([name]) => beside.includes(name))),
    input: Object.fromEntries(own.filter(([name]) => !beside.includes(name))),
  }
}

function argumentsOf(document: FixedDocument): ToolArgument[] {
  const { schema, operation } = document
  return (operation.variableDefinitions ?? []).flatMap((definition) => {
    const type = typeFromAST(schema, definition.type as never) as GraphQLInputType | undefined
    if (!type) throw new Error('a variable of a tool has no type')
    const named = getNamedType(type)
    const name = definition.variable.name.value
    if (name === 'input' && isInputObjectType(named)) return Object.values(named.getFields())
    return { name, type, ...saidOf(definition, document) }
  })
}

/** What the schema says of the argument that a variable is passed to, wherever that is. */
function saidOf(
  { variable }: VariableDefinitionNode,
  { schema, operation }: FixedDocument,
): Pick<ToolArgument, 'description' | 'defaultValue'> {
  let said: GraphQLArgument | undefined
  const types = new TypeInfo(schema)
  const look = visitWithTypeInfo(types, {
    Argument({ value }) {
      const isIt = value.kind === Kind.VARIABLE && value.name.value === variable.name.value
      if (isIt) said ??= types.getArgument() ?? undefined
    },
  })
  visit(operation, look)
  return said ?? { description: undefined, defaultValue: undefined }
}

function schemaOf({ name, type, description, defaultValue }: ToolArgument): JsonSchema {
  return {
    ...valueSchema(type),
    ...(name === 'first' && { minimum: 1, maximum: PAGE_SIZE_MAX }),
    ...(description && { description }),
    ...(defaultValue != null && { default: defaultValue }),
  }
}

/** Null may be sent where it removes something, and says nothing elsewhere. */
function valueSchema(type: GraphQLInputType): JsonSchema {
  const present = isNonNullType(type) ? type.ofType : type
  if (isListType(present)) return { type: 'array', items: valueSchema(present.ofType) }
  const named = getNamedType(present)
  if (isInputObjectType(named)) throw new Error('an argument of a tool is no object')
  const leaf = leafSchema(named)
  const isText = isScalarType(named) && leaf['type'] === 'string'
  return isText ? { ...leaf, maxLength: TEXT_LENGTH_MAX } : leaf
}

/** The schema says the limit of each text, and the domain checks it; this one bounds what is read. */
const TEXT_LENGTH_MAX = 10_000
