/** The arguments of tools that run a GraphQL document: their JSON Schema and validation. */

import { createHash } from 'node:crypto'

import {
  coerceInputValue,
  type GraphQLInputType,
  type GraphQLNamedType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql'

import type { FieldArgument } from '../graphql/schema.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../graphql/schema-text.ts'
import { describeArguments, type JsonSchema, plainSchema, ToolProblem } from './tool.ts'

/** Descriptions of the paging arguments. They are short because every list repeats them. */
export const pageWords = {
  first: `Page size, 1 to ${PAGE_SIZE_MAX}; default ${PAGE_SIZE_DEFAULT}.`,
  after: "The previous page's pageInfo.endCursor.",
} as const

/**
 * Checks the arguments. Rejects unknown arguments, because GraphQL ignores unknown variables. Names invalid arguments,
 * because GraphQL's messages quote the whole input. Drops null where it has no meaning.
 */
export function readArguments(values: unknown, taken: readonly FieldArgument[], input: JsonSchema) {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new ToolProblem(`${INVALID} Send them as one JSON object. ${describeArguments(input)}`)
  }
  const known = new Map(taken.map((argument) => [argument.name, argument]))
  const unknown = Object.keys(values).filter((name) => !known.has(name))
  if (unknown.length > 0) {
    const names = unknown.join(', ').slice(0, NAMES_LENGTH_MAX)
    throw new ToolProblem(`${INVALID} Unknown arguments: ${names}. ${describeArguments(input)}`)
  }
  // Some models send null for omitted arguments.
  const given: Arguments = Object.fromEntries(
    Object.entries(values).filter(([name, value]) => {
      const argument = known.get(name)
      return value !== null || (argument && acceptsNull(argument))
    }),
  )
  const faults = taken.flatMap((argument) => faultOf(argument, given[argument.name]))
  if (faults.length === 0) return given
  throw new ToolProblem(`${INVALID} ${faults.join(' ')} ${describeArguments(input)}`)
}

const INVALID = 'The arguments are invalid.'

export type Arguments = Readonly<Record<string, unknown>>

const NAMES_LENGTH_MAX = 200

/** Whether null has a meaning for an argument. If so, the argument's description explains it. */
function acceptsNull({ type, description, defaultValue }: FieldArgument): boolean {
  return !isNonNullType(type) && defaultValue === undefined && /\bnull\b/i.test(description ?? '')
}

/** Describes what is wrong with a value, without quoting the value. */
function faultOf({ name, type, defaultValue }: FieldArgument, value: unknown): string[] {
  if (value === undefined) {
    return isNonNullType(type) && defaultValue === undefined ? [`${name} is required.`] : []
  }
  let isValid = true
  coerceInputValue(value, type, () => {
    isValid = false
  })
  return isValid ? [] : [`${name} must be ${wordsFor(type)}.`]
}

function wordsFor(type: GraphQLInputType): string {
  const present = isNonNullType(type) ? type.ofType : type
  if (isListType(present)) return `a list; each element must be ${wordsFor(present.ofType)}`
  const named = getNamedType(present)
  if (!isEnumType(named)) return scalarWords[named.name] ?? 'a string'
  const names = named.getValues().map(({ name }) => name)
  return `one of ${names.join(', ')}`
}

const scalarWords: Readonly<Record<string, string>> = {
  Int: 'an integer',
  Boolean: 'true or false',
  DateTime: 'a time in RFC 3339 format, like 2026-10-01T00:00:00Z',
}

/** Adds a missing idempotency key, derived from the arguments, so a repeated call creates no duplicate. */
export function withKey(given: Arguments, { properties }: JsonSchema): Arguments {
  if (!('idempotencyKey' in (properties as object)) || given['idempotencyKey'] != null) return given
  const digest = createHash('sha256').update(JSON.stringify(given)).digest('base64url')
  return { ...given, idempotencyKey: `call ${digest}` }
}

/** Returns the JSON Schema of arguments. */
export function argumentsSchema(taken: readonly FieldArgument[]): JsonSchema {
  const required = taken.filter(
    ({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined,
  )
  return plainSchema({
    type: 'object',
    properties: Object.fromEntries(taken.map((argument) => [argument.name, schemaOf(argument)])),
    ...(required.length > 0 && { required: required.map(({ name }) => name) }),
  })
}

function schemaOf(argument: FieldArgument): JsonSchema {
  const { name, type, description = '', defaultValue } = argument
  const meaning = repeatedWords[name] ?? description?.replace(/^The identifier\b/, 'Id') ?? ''
  const isDefault = defaultValue != null && !(name in pageWords)
  const words = [
    meaning,
    ...(getNamedType(type).name === 'DateTime' ? [TIME_EXAMPLE] : []),
    ...(isDefault ? [`Default ${JSON.stringify(defaultValue)}.`] : []),
  ]
  const schema = argumentSchema(type)
  return {
    ...schema,
    ...(acceptsNull(argument) && { type: [schema['type'], 'null'] }),
    description: words.join(' ').replaceAll('\n', ' ').trim(),
  }
}

/** Descriptions for tools, shorter than those of the schema because many tools repeat them. */
const repeatedWords: Readonly<Record<string, string>> = {
  ...pageWords,
  idempotencyKey: 'Send a new key to create a duplicate.',
}

/** The format of times as an example, because `plainSchema` drops the keyword `format`. */
const TIME_EXAMPLE = 'Example: 2026-10-01T00:00:00Z.'

function argumentSchema(type: GraphQLInputType): JsonSchema {
  const present = isNonNullType(type) ? type.ofType : type
  if (isListType(present)) return { type: 'array', items: argumentSchema(present.ofType) }
  const named = getNamedType(present)
  if (isInputObjectType(named)) throw new Error('an argument of a tool must not be an object')
  return leafSchema(named)
}

const scalars: Readonly<Record<string, JsonSchema>> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  DateTime: { type: 'string', format: 'date-time' },
}

/** Returns the JSON Schema of a scalar or enum. @throws Error for another type */
export function leafSchema(type: GraphQLNamedType): JsonSchema {
  if (isEnumType(type)) return { type: 'string', enum: type.getValues().map(({ name }) => name) }
  const schema = scalars[type.name]
  if (!schema) throw new Error(`no JSON Schema is known for ${type.name}`)
  return schema
}
