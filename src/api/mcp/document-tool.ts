import { createHash } from 'node:crypto'

import {
  type ExecutionResult,
  type GraphQLArgument,
  type GraphQLError,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  Kind,
  parse,
  TypeInfo,
  typeFromAST,
  type VariableDefinitionNode,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql'

import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../graphql/connections.ts'
import {
  describeArguments,
  type FixedDocument,
  type JsonSchema,
  once,
  plainSchema,
  type Tool,
  type ToolCall,
  ToolProblem,
} from './tool.ts'

/** Descriptions of the two paging arguments. They are short because every list repeats them. */
export const pageArgumentWords: Readonly<Record<string, string>> = {
  first: `Page size, 1 to ${PAGE_SIZE_MAX}; default ${PAGE_SIZE_DEFAULT}.`,
  after: 'pageInfo.endCursor of the previous page.',
}

/** The message for an invalid cursor, such as one from another list. */
export const FOREIGN_CURSOR =
  'after must be pageInfo.endCursor of a page of the same list. Omit it for the first page.'

/** The definition of a tool that runs one fixed document of an API, in this process. */
export interface DocumentDefinition extends Pick<Tool, 'name' | 'title' | 'description'> {
  /** The scopes of the document. `test/mcp-tools.test.ts` compares them with the schema. */
  readonly scopes: readonly string[]
  readonly document: string
  /** Path to the part of the result that the tool returns. */
  readonly pick: readonly string[]
  /** Whether the change removes or overwrites data. */
  readonly destroys?: true
  /** The tool that lists valid ids and slugs, for error messages. */
  readonly listedBy?: string
}

/** The API that runs the documents of tools. */
export interface DocumentApi {
  readonly schema: () => GraphQLSchema
  readonly execute: (
    call: ToolCall,
    document: string,
    variables: Record<string, unknown>,
  ) => Promise<ExecutionResult>
}

/** Creates the function that creates tools of an API, with arguments derived from their documents. */
export function makeDocumentTool(api: DocumentApi) {
  return (definition: DocumentDefinition): Tool => {
    const { scopes, document, pick, destroys, listedBy, ...described } = definition
    const read = once(() => readDocument(api.schema(), document))
    const taken = once(() => argumentsOf(read()))
    const input = once(() => argumentsSchema(taken()))
    const changes = document.startsWith('mutation')
    return {
      ...described,
      effect: effectOf(changes, destroys === true),
      access: { kind: 'scopes', needed: scopes },
      input,
      runs: { document: read, pick },
      async run(values, call) {
        const given = checkNames(values ?? {}, taken(), input())
        const variables = variablesFor(read(), changes ? withKey(given, input()) : given)
        const { data, errors } = await api.execute(call, document, variables)
        const [problem] = errors ?? []
        if (problem) throw new ToolProblem(sentenceOf(problem, input(), listedBy))
        const answer = pick.reduce((value, name) => value[name] as Answer, data as Answer)
        if (answer === null) throw new ToolProblem(`${NOTHING} ${hintFor(listedBy)}`.trim())
        return answer
      },
    }
  }
}

function effectOf(changes: boolean, destroys: boolean): Tool['effect'] {
  if (!changes) return 'reads'
  return destroys ? 'destroys' : 'changes'
}

/** The message for an id, slug or order number that does not exist at the site. */
const NOTHING = 'The site has no object with this identifier.'

function hintFor(listedBy: string | undefined): string {
  return listedBy === undefined ? '' : `Call ${listedBy} to list valid values.`
}

type Answer = Record<string, unknown>

/** Rejects unknown arguments, which GraphQL would ignore, and drops null for arguments with a default. */
function checkNames(values: unknown, taken: readonly ToolArgument[], input: JsonSchema): Arguments {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new ToolProblem(`${INVALID} Send them as one JSON object. ${describeArguments(input)}`)
  }
  const known = new Map(taken.map((argument) => [argument.name, argument]))
  const unknown = Object.keys(values).filter((name) => !known.has(name))
  if (unknown.length > 0) {
    const said = unknown.join(', ').slice(0, NAMES_LENGTH_MAX)
    throw new ToolProblem(`${INVALID} Unknown arguments: ${said}. ${describeArguments(input)}`)
  }
  // Some models send null for omitted arguments. Null is meaningful only for arguments without a default.
  const given = Object.entries(values).filter(
    ([name, value]) => value !== null || known.get(name)?.defaultValue === undefined,
  )
  return Object.fromEntries(given)
}

const INVALID = 'The arguments are invalid.'

type Arguments = Readonly<Record<string, unknown>>

const NAMES_LENGTH_MAX = 200

/** Adds a missing idempotency key, derived from the arguments, so a repeated call creates nothing twice. */
function withKey(given: Arguments, { properties }: JsonSchema): Arguments {
  if (!('idempotencyKey' in (properties as object)) || given['idempotencyKey'] != null) return given
  const digest = createHash('sha256').update(JSON.stringify(given)).digest('base64url')
  return { ...given, idempotencyKey: `call ${digest}` }
}

/** Converts an error of GraphQL to a sentence that says what went wrong and what to do next. */
function sentenceOf(
  { message, extensions, path }: GraphQLError,
  input: JsonSchema,
  listedBy: string | undefined,
): string {
  if (extensions['argument'] === 'after') return FOREIGN_CURSOR
  const said = message.slice(0, MESSAGE_LENGTH_MAX)
  const sentence = /[.!?]$/.test(said) ? said : `${said}.`
  if (extensions['code'] === 'NOT_FOUND') return `${sentence} ${hintFor(listedBy)}`.trim()
  // An error without a path occurred before execution: a value has the wrong type.
  return path === undefined ? `${sentence} ${describeArguments(input)}` : sentence
}

/** Maximum length of a message. GraphQL's messages repeat the invalid value, which may be very long. */
const MESSAGE_LENGTH_MAX = 500

/** Formats the declaration of variables in a document: `$id: ID!, $at: DateTime`. */
export function declared(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, type]) => `$${name}: ${type}`)
    .join(', ')
}

/** Formats the arguments of a field that takes these variables: `id: $id, at: $at`. */
export function passed(variables: Readonly<Record<string, string>>): string {
  return Object.keys(variables)
    .map((name) => `${name}: $${name}`)
    .join(', ')
}

/** An argument of a tool: a variable of its document, or a field of the variable `input`. */
interface ToolArgument {
  readonly name: string
  readonly type: GraphQLInputType
  readonly description: string | null | undefined
  readonly defaultValue: unknown
}

function argumentsSchema(taken: readonly ToolArgument[]): JsonSchema {
  const required = taken.filter(
    ({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined,
  )
  return plainSchema({
    type: 'object',
    properties: Object.fromEntries(taken.map((argument) => [argument.name, schemaOf(argument)])),
    ...(required.length > 0 && { required: required.map(({ name }) => name) }),
  })
}

/** Converts the arguments of a call to the variables of a document, including the fields of `$input`. */
function variablesFor(
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

/** Derives the arguments of a tool from its document, and their descriptions from the schema. */
function argumentsOf(document: FixedDocument): ToolArgument[] {
  const { schema, operation } = document
  return (operation.variableDefinitions ?? []).flatMap((definition) => {
    const type = typeFromAST(schema, definition.type as never) as GraphQLInputType | undefined
    if (!type) throw new Error('a variable of a tool has no type')
    const named = getNamedType(type)
    const name = definition.variable.name.value
    if (name === 'input' && isInputObjectType(named)) return Object.values(named.getFields())
    return { name, type, ...describedArgument(definition, document) }
  })
}

/** Finds the description and default of the argument that a variable is passed to. */
function describedArgument(
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
  const words = [said, ...(isDefault ? [`Default ${JSON.stringify(defaultValue)}.`] : [])]
  return { ...valueSchema(type), description: words.join(' ').trim() }
}

function valueSchema(type: GraphQLInputType): JsonSchema {
  const present = isNonNullType(type) ? type.ofType : type
  if (isListType(present)) return { type: 'array', items: valueSchema(present.ofType) }
  const named = getNamedType(present)
  if (isInputObjectType(named)) throw new Error('an argument of a tool must not be an object')
  return leafSchema(named)
}

/** Parses and validates the document of a tool. @throws Error unless it matches the schema and has an operation */
function readDocument(schema: GraphQLSchema, document: string): FixedDocument {
  const parsed = parse(document)
  const [fault] = validate(schema, parsed)
  if (fault) throw new Error(`the document of a tool does not match the schema: ${fault.message}`)
  const [operation] = parsed.definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('a tool needs one operation')
  return { schema, operation }
}

/** JSON Schemas of our scalars. */
const scalars: Readonly<Record<string, JsonSchema>> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
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
