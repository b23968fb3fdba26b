import { createHash } from 'node:crypto'

import type { ExecutionResult, GraphQLError, GraphQLSchema } from 'graphql'

import { argumentsSchema, defaultedArguments, variablesFor } from './graphql-arguments.ts'
import { answerSchema, readDocument } from './graphql-shape.ts'
import { type JsonSchema, takesWords } from './json-schema.ts'
import { FOREIGN_CURSOR } from './shapes.ts'
import { once, type Tool, type ToolCall, ToolProblem } from './tool.ts'

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
    const input = once(() => argumentsSchema(read()))
    const defaulted = once(() => defaultedArguments(read()))
    const changes = document.startsWith('mutation')
    return {
      ...described,
      effect: effectOf(changes, destroys === true),
      access: { kind: 'scopes', needed: scopes },
      schemas: once(() => ({ input: input(), output: answerSchema(read(), pick) })),
      async run(values, call) {
        const given = checkNames(values ?? {}, input(), defaulted())
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
function checkNames(values: unknown, input: JsonSchema, defaulted: ReadonlySet<string>): Arguments {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new ToolProblem(`${MISFIT} they must be one object. ${takesWords(input)}`)
  }
  const known = input['properties'] as Readonly<Record<string, object>>
  const unknown = Object.keys(values).filter((name) => !Object.hasOwn(known, name))
  if (unknown.length > 0) {
    const said = unknown.join(', ').slice(0, NAMES_LENGTH_MAX)
    throw new ToolProblem(`${MISFIT} there is no ${said}. ${takesWords(input)}`)
  }
  // Some models send null for what they leave out; it means something only where nothing stands in for it.
  const given = Object.entries(values).filter(
    ([name, value]) => value !== null || !defaulted.has(name),
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
