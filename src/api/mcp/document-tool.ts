import { createHash } from 'node:crypto'

import {
  type ExecutionResult,
  type GraphQLArgument,
  type GraphQLError,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  validate,
} from 'graphql'

import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../graphql/connections.ts'
import { once } from '../graphql/graphql-api.ts'
import {
  describeArguments,
  type FixedDocument,
  type JsonSchema,
  plainSchema,
  type Tool,
  type ToolCall,
  ToolProblem,
} from './tool.ts'

/** Descriptions of the two paging arguments. They are short because every list repeats them. */
export const pageWords = {
  first: `Page size, 1 to ${PAGE_SIZE_MAX}; default ${PAGE_SIZE_DEFAULT}.`,
  after: 'pageInfo.endCursor of the previous page.',
} as const

/** The message for an invalid cursor, such as one from another list. */
export const FOREIGN_CURSOR =
  'after must be pageInfo.endCursor of a page of the same list. Omit it for the first page.'

/** Formats the selection for a list: one page of nodes. */
export function pageOf(nodes: string): string {
  return `nodes { ${nodes} } pageInfo { hasNextPage endCursor } totalCount`
}

/** The definition of a tool that runs one fixed document of an API, in this process. */
export interface DocumentDefinition
  extends Pick<Tool, 'name' | 'title' | 'description'>,
    Partial<Pick<Tool, 'effect'>> {
  /** The scopes of the document. `test/mcp-tools.test.ts` compares them with the schema. */
  readonly scopes: readonly string[]
  /** The fields from the root to the one that the tool returns. The tool takes the arguments of the last field. */
  readonly path: readonly string[]
  /** The selection for the last field. */
  readonly selection: string
  /** The tool that lists valid ids and slugs, for error messages. */
  readonly listedBy?: string | undefined
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

/** Creates the function that creates tools of an API, with arguments and their descriptions from the schema. */
export function makeDocumentTool(api: DocumentApi) {
  return (definition: DocumentDefinition): Tool => {
    const { name, title, description, effect = 'reads', scopes, path, listedBy } = definition
    const declared = once(() => fieldAt(api.schema(), effect, path)?.args ?? [])
    const document = once(() => documentOf(definition, declared()))
    const taken = once(() => declared().flatMap(fieldsOfInput))
    const input = once(() => argumentsSchema(taken()))
    return {
      ...{ name, title, description, effect, input },
      access: { kind: 'scopes', needed: scopes, operation: path[0] },
      runs: { document: once(() => readDocument(api.schema(), document())), pick: path },
      async run(values, call) {
        const given = checkNames(values ?? {}, taken(), input())
        const keyed = effect === 'reads' ? given : withKey(given, input())
        const variables = declared().some(isInput) ? { input: keyed } : keyed
        const { data, errors } = await api.execute(call, document(), variables)
        const [problem] = errors ?? []
        if (problem) throw new ToolProblem(sentenceOf(problem, input(), listedBy))
        const answer = path.reduce((value, field) => value[field] as Answer, data as Answer)
        if (answer === null) throw new ToolProblem(`${NOTHING} ${hintFor(listedBy)}`.trim())
        return answer
      },
    }
  }
}

/** Finds the last field of a path from the root type. Returns undefined for an empty or unknown path. */
function fieldAt(schema: GraphQLSchema, effect: Tool['effect'], path: readonly string[]) {
  const root = effect === 'reads' ? schema.getQueryType() : schema.getMutationType()
  let type: GraphQLNamedType | null | undefined = root
  let field: GraphQLField<unknown, unknown> | undefined
  for (const name of path) {
    field = isObjectType(type) ? type.getFields()[name] : undefined
    type = field && getNamedType(field.type)
  }
  return field
}

/** Formats the document of a tool: `query ($id: ID!) { post(id: $id) { title } }`. */
function documentOf(
  { effect = 'reads', path, selection }: DocumentDefinition,
  declared: readonly GraphQLArgument[],
): string {
  const inBrackets = (parts: readonly string[]) => (parts.length > 0 ? `(${parts.join(', ')})` : '')
  const variables = inBrackets(declared.map(({ name, type }) => `$${name}: ${type}`))
  const passed = inBrackets(declared.map(({ name }) => `${name}: $${name}`))
  const fields = path.map((field) => `{ ${field}`).join(' ') + passed
  const kind = effect === 'reads' ? 'query' : 'mutation'
  return `${kind} ${variables} ${fields} { ${selection} }${' }'.repeat(path.length)}`
}

/** An argument of a tool: an argument of its field, or a field of the argument `input`. */
type ToolArgument = GraphQLArgument | GraphQLInputField

function isInput({ name }: GraphQLArgument): boolean {
  return name === 'input'
}

function fieldsOfInput(argument: GraphQLArgument): ToolArgument[] {
  const type = getNamedType(argument.type)
  return isInput(argument) && isInputObjectType(type) ? Object.values(type.getFields()) : [argument]
}

/** The message for an id, slug or order number that does not exist at the site. */
const NOTHING = 'The site has no object with this identifier.'

function hintFor(listedBy: string | undefined): string {
  return listedBy === undefined ? '' : `Call ${listedBy} to list valid values.`
}

type Answer = Record<string, unknown>

/** Rejects unknown arguments, because GraphQL ignores unknown variables. Drops null for arguments with a default. */
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

/** Converts a GraphQL error to a message for the caller. Adds a remedy where one is known. */
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

function schemaOf({ name, type, description, defaultValue }: ToolArgument): JsonSchema {
  const ofPage: Readonly<Record<string, string>> = pageWords
  const said = ofPage[name] ?? description ?? ''
  const isDefault = defaultValue != null && !(name in pageWords)
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
