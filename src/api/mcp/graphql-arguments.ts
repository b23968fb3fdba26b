import {
  type GraphQLArgument,
  type GraphQLInputType,
  getNamedType,
  isInputObjectType,
  isListType,
  isNonNullType,
  Kind,
  TypeInfo,
  typeFromAST,
  type VariableDefinitionNode,
  visit,
  visitWithTypeInfo,
} from 'graphql'

import { type FixedDocument, leafSchema } from './graphql-shape.ts'
import { type JsonSchema, plainSchema } from './json-schema.ts'
import { pageArgumentWords } from './shapes.ts'

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
  return plainSchema({
    type: 'object',
    properties: Object.fromEntries(named.map((argument) => [argument.name, schemaOf(argument)])),
    ...(required.length > 0 && { required: required.map(({ name }) => name) }),
  })
}

/** The arguments that have a default, for which null does not fit. */
export function defaultedArguments(document: FixedDocument): ReadonlySet<string> {
  const named = argumentsOf(document).filter(({ defaultValue }) => defaultValue !== undefined)
  return new Set(named.map(({ name }) => name))
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
  const said = pageArgumentWords[name] ?? description ?? ''
  const isDefault = defaultValue != null && !(name in pageArgumentWords)
  const words = [said, ...(isDefault ? [`${JSON.stringify(defaultValue)} without it.`] : [])]
  return { ...valueSchema(type), description: words.join(' ').trim() }
}

/** Null may be sent where it removes something, and says nothing elsewhere. */
function valueSchema(type: GraphQLInputType): JsonSchema {
  const present = isNonNullType(type) ? type.ofType : type
  if (isListType(present)) return { type: 'array', items: valueSchema(present.ofType) }
  const named = getNamedType(present)
  if (isInputObjectType(named)) throw new Error('an argument of a tool is no object')
  return leafSchema(named)
}
