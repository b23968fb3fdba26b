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
  type FixedDocument,
  type JsonSchema,
  once,
  plainSchema,
  type Tool,
  type ToolCall,
  ToolProblem,
  takesWords,
} from './tool.ts'

/** What is said of the two arguments of every list: in few words, because every list says it. */
export const pageArgumentWords: Readonly<Record<string, string>> = {
  first: `How many, 1 to ${PAGE_SIZE_MAX}; ${PAGE_SIZE_DEFAULT} without it.`,
  after: 'pageInfo.endCursor of the page before.',
}

/** What is said of a cursor that did not come from the list. */
export const FOREIGN_CURSOR =
  'after: must be pageInfo.endCursor of a page of the same list; leave it out for the first page'

/** A tool that runs one fixed document of an API in process. */
export interface DocumentDefinition extends Pick<Tool, 'name' | 'title' | 'description'> {
  /** What the document needs; `test/mcp-tools.test.ts` compares it with the schema. */
  readonly scopes: readonly string[]
  readonly document: string
  /** The way to the part of the answer that the tool returns. */
  readonly pick: readonly string[]
  /** What a change does to what is there, when it does more than to add. */
  readonly destroys?: true
  /** The tool that lists what ids and slugs there are, for who sent another. */
  readonly listedBy?: string
}

/** The API that runs the documents of its tools. */
export interface DocumentApi {
  readonly schema: () => GraphQLSchema
  readonly execute: (
    call: ToolCall,
    document: string,
    variables: Record<string, unknown>,
  ) => Promise<ExecutionResult>
}

/** Makes the tools of an API: what each takes and answers follows from its document. */
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
        if (problem) throw new ToolProblem(sentenceOf(problem, { input: input(), listedBy }))
        const answer = pick.reduce((value, name) => value[name] as Answer, data as Answer)
        if (answer === null) throw new ToolProblem(`${NOTHING} ${listWords(listedBy)}`.trim())
        return answer
      },
    }
  }
}

function effectOf(changes: boolean, destroys: boolean): Tool['effect'] {
  if (!changes) return 'reads'
  return destroys ? 'destroys' : 'changes'
}

/** What an id or a slug of another site is answered with, too. */
const NOTHING = 'There is no such thing at this site.'

function listWords(listedBy: string | undefined): string {
  return listedBy === undefined ? '' : `Call ${listedBy} for what there is.`
}

type Answer = Record<string, unknown>

/**
 * GraphQL checks the values. It does not look at a variable that no document has, and refuses null for
 * what has a default.
 */
function checkNames(values: unknown, taken: readonly ToolArgument[], input: JsonSchema): Arguments {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new ToolProblem(`${MISFIT} they must be one object. ${takesWords(input)}`)
  }
  const known = new Map(taken.map((argument) => [argument.name, argument]))
  const unknown = Object.keys(values).filter((name) => !known.has(name))
  if (unknown.length > 0) {
    const said = unknown.join(', ').slice(0, NAMES_LENGTH_MAX)
    throw new ToolProblem(`${MISFIT} there is no ${said}. ${takesWords(input)}`)
  }
  // Some models send null for what they leave out; it means something only where nothing stands in for it.
  const given = Object.entries(values).filter(
    ([name, value]) => value !== null || known.get(name)?.defaultValue === undefined,
  )
  return Object.fromEntries(given)
}

const MISFIT = 'The arguments do not fit:'

type Arguments = Readonly<Record<string, unknown>>

const NAMES_LENGTH_MAX = 200

/**
 * A model that repeats a call, because it saw no answer, makes nothing twice: where the document takes
 * a key and the model gave none, the arguments themselves are the key.
 */
function withKey(given: Arguments, { properties }: JsonSchema): Arguments {
  if (!('idempotencyKey' in (properties as object)) || given['idempotencyKey'] != null) return given
  const digest = createHash('sha256').update(JSON.stringify(given)).digest('base64url')
  return { ...given, idempotencyKey: `call ${digest}` }
}

interface Remedies {
  readonly input: JsonSchema
  readonly listedBy: string | undefined
}

/** What went wrong, and what to do next. */
function sentenceOf(
  { message, extensions, path }: GraphQLError,
  { input, listedBy }: Remedies,
): string {
  if (extensions['argument'] === 'after') return FOREIGN_CURSOR
  const said = message.slice(0, MESSAGE_LENGTH_MAX)
  const sentence = /[.!?]$/.test(said) ? said : `${said}.`
  if (extensions['code'] === 'NOT_FOUND') return `${sentence} ${listWords(listedBy)}`.trim()
  // Without a path nothing was executed: the values are not of their types.
  return path === undefined ? `${sentence} ${takesWords(input)}` : sentence
}

/** A value that does not fit is repeated by GraphQL, and may be as long as the body. */
const MESSAGE_LENGTH_MAX = 500

/** Variables of a document, as it declares them. */
export function declared(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, type]) => `$${name}: ${type}`)
    .join(', ')
}

/** The same, as they are passed to a field of those names. */
export function passed(variables: Readonly<Record<string, string>>): string {
  return Object.keys(variables)
    .map((name) => `${name}: $${name}`)
    .join(', ')
}

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

/** The variables of a document for the arguments of a call. */
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

/**
 * Reads the one operation of a tool's document.
 *
 * @throws Error when it does not fit the schema, so that a slip shows in the first test that lists tools
 */
function readDocument(schema: GraphQLSchema, document: string): FixedDocument {
  const parsed = parse(document)
  const [fault] = validate(schema, parsed)
  if (fault) throw new Error(`the document of a tool does not fit the schema: ${fault.message}`)
  const [operation] = parsed.definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('a tool needs one operation')
  return { schema, operation }
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
