import { createHash } from 'node:crypto'

import type { ExecutionResult, GraphQLError, GraphQLSchema } from 'graphql'

import { argumentsSchema, variablesFor } from './graphql-arguments.ts'
import { answerSchema, type FixedDocument, readDocument } from './graphql-shape.ts'
import { FOREIGN_CURSOR } from './shapes.ts'
import { type JsonSchema, once, type Tool, type ToolCall, ToolProblem } from './tool.ts'

/** A tool that runs one fixed document of an API in process. */
export interface DocumentDefinition extends Pick<Tool, 'name' | 'title' | 'description'> {
  /** What the document needs; `test/mcp-tools.test.ts` compares it with the schema. */
  readonly scopes: readonly string[]
  readonly document: string
  /** The way to the part of the answer that the tool returns. */
  readonly pick: readonly string[]
  /** What a change does to what is there, when it does more than to add. */
  readonly destroys?: true
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
  return ({ scopes, document, pick, destroys, ...described }: DocumentDefinition): Tool => {
    const read = once(() => readDocument(api.schema(), document))
    const input = once(() => argumentsSchema(read()))
    const changes = document.startsWith('mutation')
    return {
      ...described,
      effect: effectOf(changes, destroys === true),
      access: { kind: 'scopes', needed: scopes },
      schemas: once(() => ({ input: input(), output: answerSchema(read(), pick) })),
      async run(values, call) {
        const given = checkNames(values ?? {}, input())
        const variables = variablesFor(read(), changes ? withKey(given, read()) : given)
        const { data, errors } = await api.execute(call, document, variables)
        const [problem] = errors ?? []
        if (problem) throw new ToolProblem(sentenceOf(problem))
        const answer = pick.reduce((value, name) => value[name] as Answer, data as Answer)
        if (answer === null) throw new ToolProblem(NOTHING)
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
const NOTHING = 'There is no such thing at this site: take an id or a slug that a list returned.'

type Answer = Record<string, unknown>

/**
 * GraphQL checks the values. It does not look at a variable that no document has, and takes null for
 * what has a default, where the tool's schema does not.
 */
function checkNames(values: unknown, { properties }: JsonSchema): Arguments {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw new ToolProblem('The arguments do not fit: they must be one object.')
  }
  const known = properties as Readonly<Record<string, object>>
  const unknown = Object.keys(values).filter((name) => !Object.hasOwn(known, name))
  if (unknown.length > 0) {
    const said = unknown.join(', ').slice(0, NAMES_LENGTH_MAX)
    const names = Object.keys(known).join(', ') || 'none'
    throw new ToolProblem(`The arguments do not fit: there is no ${said}. Known are ${names}.`)
  }
  for (const [name, value] of Object.entries(values)) {
    if (value !== null || !('default' in (known[name] ?? {}))) continue
    throw new ToolProblem(`The arguments do not fit: ${name} must not be null.`)
  }
  return values as Arguments
}

type Arguments = Readonly<Record<string, unknown>>

const NAMES_LENGTH_MAX = 200

/**
 * A model that repeats a call, because it saw no answer, makes nothing twice: where the document takes
 * a key and the model gave none, the arguments themselves are the key.
 */
function withKey(given: Arguments, document: FixedDocument): Arguments {
  const { properties } = argumentsSchema(document)
  if (!('idempotencyKey' in (properties as object)) || given['idempotencyKey'] != null) return given
  const digest = createHash('sha256').update(JSON.stringify(given)).digest('base64url')
  return { ...given, idempotencyKey: `call ${digest}` }
}

function sentenceOf({ message, extensions }: GraphQLError): string {
  if (extensions['argument'] === 'after') return FOREIGN_CURSOR
  const said = message.slice(0, MESSAGE_LENGTH_MAX)
  return /[.!?]$/.test(said) ? said : `${said}.`
}

/** A value that does not fit is repeated by GraphQL, and may be as long as the body. */
const MESSAGE_LENGTH_MAX = 500
