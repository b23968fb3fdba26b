import {
  type ExecutionResult,
  type GraphQLArgument,
  type GraphQLError,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
} from 'graphql'

import { once } from '../graphql/once.ts'
import { type FieldArgument, fieldsOfInput, isInput } from '../graphql/schema.ts'
import { type Tool, type ToolCall, ToolProblem } from './tool.ts'
import { type Arguments, argumentsSchema, readArguments, withKey } from './tool-arguments.ts'

/** The message for an invalid cursor, such as a cursor from another list. */
export const FOREIGN_CURSOR =
  '"after" must be the pageInfo.endCursor from a page of this list. Omit it for the first page.'

/** Formats the selection for a list: one page of nodes. */
export function pageSelection(nodes: string): string {
  return `nodes { ${nodes} } pageInfo { hasNextPage endCursor } totalCount`
}

/** The definition of a tool that runs one fixed document of an API. */
export interface DocumentDefinition
  extends Pick<Tool, 'name' | 'title' | 'description' | 'mails'>,
    Partial<Pick<Tool, 'effect'>> {
  /** The scopes that the document needs. `test/mcp-tools.test.ts` compares them with the schema. */
  readonly scopes: readonly string[]
  /** The path to the field whose arguments the tool takes and whose value it returns; empty for the root. */
  readonly path: readonly string[]
  /** The selection of the field at the end of `path`. */
  readonly selection: string
  /** An additional field of the result, for callers that have the scope for this field. */
  readonly returns?: { readonly scope: string; readonly selection: string } | undefined
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
  /** The tool that lists valid ids, for each kind of object that may be missing. */
  readonly listOf?: Readonly<Record<string, string>> | undefined
}

/** Creates the function that defines tools of an API. Arguments and their descriptions come from the schema. */
export function makeDocumentTool(api: DocumentApi) {
  return (definition: DocumentDefinition): Tool => {
    const { name, title, description, effect = 'reads', mails = false } = definition
    const { scopes, path, returns, listedBy } = definition
    const declared = once(() => fieldAt(api.schema(), effect, path)?.args ?? [])
    const brief = once(() => documentOf(definition, declared()))
    const selection = `${definition.selection} ${returns?.selection ?? ''}`
    const whole = once(() => documentOf({ ...definition, selection }, declared()))
    const taken = once(() => declared().flatMap(fieldsOfInput))
    const input = once(() => argumentsSchema(taken()))
    const optional = [
      ...(returns?.selection.match(/\w+/) ?? []),
      ...(/\bisNew\b/.test(definition.selection) ? ['note'] : []),
    ]
    return {
      ...{ name, title, description, effect, mails, input },
      access: { kind: 'scopes', needed: scopes, operation: path[0] },
      runs: { schema: api.schema, document: whole, pick: path, optional },
      async run(values, call) {
        const given = readArguments(values ?? {}, taken(), input())
        const keyed = effect === 'reads' ? given : withKey(given, input())
        const variables = declared().some(isInput) ? { input: keyed } : keyed
        const seesAll = returns && call.caller?.scopes.includes(returns.scope)
        const { data, errors } = await api.execute(call, (seesAll ? whole : brief)(), variables)
        const about = { given, taken: taken(), listOf: api.listOf, listedBy }
        return extractAnswer(path, { data: data as Answer, problem: errors?.[0] }, about)
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

type Answer = Record<string, unknown>

/** The call to which an error message or a note refers. */
interface Asked extends Pick<DocumentApi, 'listOf'>, Pick<DocumentDefinition, 'listedBy'> {
  readonly given: Arguments
  readonly taken: readonly FieldArgument[]
}

/** Extracts the tool's result from the response. @throws ToolProblem for an error, or if the object does not exist */
function extractAnswer(
  path: readonly string[],
  { data, problem }: { readonly data: Answer; readonly problem: GraphQLError | undefined },
  asked: Asked,
): Answer {
  if (problem) throw toProblem(problem, asked)
  const answer = path.reduce((value, field) => value[field] as Answer, data)
  if (answer === null) throw nothingFor(asked)
  return answer['isNew'] === false ? { ...answer, note: alreadyExisted(asked) } : answer
}

/** Creates the error for an id, slug or number that matches no object of the site, or for a call with none of these. */
function nothingFor({ given, taken, listedBy }: Asked): ToolProblem {
  const [argument] = Object.keys(given)
  const names = taken.map(({ name }) => name)
  if (argument === undefined) return new ToolProblem(`${names.join(' or ')} is required.`, listedBy)
  return new ToolProblem(`The site has no object with this ${argument}.`, listedBy)
}

function alreadyExisted({ taken }: Asked): string {
  return taken.some(({ name }) => name === 'idempotencyKey')
    ? 'The object already existed: an identical call created it. To create another, send a new idempotencyKey.'
    : 'The object already existed and is unchanged.'
}

/** Converts a GraphQL error to an error for the caller. For `NOT_FOUND`, names the argument and the list tool. */
function toProblem({ message, extensions }: GraphQLError, { taken, listOf = {}, listedBy }: Asked) {
  if (extensions['argument'] === 'after') return new ToolProblem(FOREIGN_CURSOR)
  const short = message.slice(0, MESSAGE_LENGTH_MAX)
  const sentence = /[.!?]$/.test(short) ? short : `${short}.`
  const { code, subject, approvalUrl } = extensions
  if (typeof approvalUrl === 'string') return new ToolProblem(sentence, undefined, approvalUrl)
  if (code !== 'NOT_FOUND') return new ToolProblem(sentence)
  const noun = typeof subject === 'string' ? subject : ''
  const own = `${noun.split(' ').at(-1)}Id`
  const argument = taken.some(({ name }) => name === own) ? own : 'id'
  return new ToolProblem(`${argument}: ${sentence}`, listOf[noun] ?? listedBy)
}

/** The maximum length of a message, which may quote an invalid value. */
const MESSAGE_LENGTH_MAX = 500
