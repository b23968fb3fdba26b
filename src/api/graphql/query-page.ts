import { type DocumentNode, type ExecutionResult, getOperationAST } from 'graphql'
import type { Context } from 'koa'

import { type QueryPage, queryPage } from '../../../views/query-page.ts'
import { unsupportedBody } from '../../platform/http/errors.ts'
import { sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { decodeUtf8, readRequestBody } from '../../platform/http/request-body.ts'
import { personKey } from '../../platform/limits/limits.ts'
import { type CostLimit, countOperation, countPreparing } from './cost.ts'
import { limitsInForce } from './documents.ts'
import type { ContextRecord, GraphqlApi } from './graphql-api.ts'
import { type QueryToolFiles, queryToolPolicy } from './query-tool.ts'

/** The outcome of a query on a page: its answer, or a sentence about why there is none. */
type TriedQuery = { readonly result: ExecutionResult } | { readonly problem: string }

/** Runs the query that a person typed on one of our pages, with all of their own rights. */
export type TryQuery<Caller> = (typed: TypedQuery, caller: Caller) => Promise<TriedQuery>

interface TypedQuery {
  readonly source: string
  /** JSON, or an empty text. */
  readonly variables: string
  /** Which operation, where there are several. */
  readonly operationName?: string | undefined
  /** Whether mutations are run, too. */
  readonly mayChange?: boolean
}

/** A person, at one of their sites. */
export interface Person {
  readonly personId: string
  readonly siteId: string
}

/**
 * Tries what is typed at an API. A page without `mayChange` runs queries only: a change would be an
 * accident of typing. The limits are those of the API, and so is how an operation is counted.
 *
 * @param load gives the API, which may be loaded with the first question only
 */
export function makeTryQuery<Caller extends Person, Context extends ContextRecord>(
  load: () => Promise<GraphqlApi<Caller, Context>>,
  costLimit: CostLimit,
): TryQuery<Caller> {
  return async (typed, caller) => {
    const { limits, name } = costLimit
    const counted = { personId: caller.personId, clientId: '', siteId: caller.siteId }
    const exceeded = limits.exceeded(name, personKey(counted))
    if (exceeded) {
      return {
        problem: `More was asked for than is answered at once. Please wait ${exceeded.waitSeconds} seconds.`,
      }
    }
    const api = await load()
    const prepared = api.prepare(typed.source)
    if (!prepared.isKept) countPreparing(counted, costLimit)
    if (prepared.kind === 'refused') return { problem: prepared.error.message }
    if (prepared.kind === 'invalid') return { result: { errors: prepared.errors } }
    const { document } = prepared
    const problem = operationProblem(document, typed)
    if (problem) return { problem }
    const variables = readVariables(typed.variables)
    if (!variables) return { problem: 'The variables must be one JSON object.' }
    const request = { operationName: typed.operationName, variables }
    const { cost, excess } = api.measure(document, request)
    if (excess) return { problem: excess.message }
    countOperation(counted, cost, costLimit)
    const result = await api.run(document, request, caller)
    return { result: { ...result, extensions: { cost, limits: limitsInForce(api.limits) } } }
  }
}

function operationProblem(
  document: DocumentNode,
  { operationName, mayChange = false }: TypedQuery,
): string | undefined {
  const operation = getOperationAST(document, operationName)?.operation
  if (operation === undefined) return 'Write one operation.'
  if (operation === 'query' || mayChange) return undefined
  return 'This page runs queries only. A program with a token runs mutations.'
}

function readVariables(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() || '{}')
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** What was typed into the form, and the outcome. */
export interface Tried {
  readonly typed: TypedQuery
  readonly outcome: TriedQuery
}

interface ShownQuery {
  /** Where the tool sends its queries. */
  readonly runAddress: string
  /** The query in the form at first. */
  readonly example: string
  readonly tried?: Tried | undefined
  readonly tool: QueryToolFiles
}

/** Sends the page on which queries are tried, with its own policy where GraphiQL is installed. */
export async function sendQueryPage(
  ctx: Context,
  parts: Omit<QueryPage, 'tool' | 'query' | 'variables' | 'answer' | 'problem'>,
  { runAddress, example, tried, tool: files }: ShownQuery,
): Promise<void> {
  const tool = await files.forPage(runAddress)
  const page = queryPage({
    ...parts,
    query: tried?.typed.source ?? example,
    variables: tried?.typed.variables ?? '',
    ...(tried && answerOf(tried.outcome)),
    tool,
  })
  sendPage(ctx, page)
  if (tool) ctx.set('Content-Security-Policy', queryToolPolicy(tool))
}

function answerOf(outcome: TriedQuery): Pick<QueryPage, 'answer' | 'problem'> {
  if ('problem' in outcome) return { problem: outcome.problem }
  return { answer: JSON.stringify(outcome.result, null, 2) }
}

/** The fields of the page's form. */
export function typedInForm(ctx: Context): TypedQuery {
  return { source: formField(ctx, 'query'), variables: formField(ctx, 'variables') }
}

/** More than a person types. */
const SCRIPT_BYTES_MAX = 100_000

/**
 * Reads what the tool sends: a request of GraphQL over HTTP.
 *
 * @throws unsupportedBody, bodyTooLarge
 */
export async function typedInScript(ctx: Context): Promise<TypedQuery> {
  if (!ctx.is('application/json')) throw unsupportedBody('application/json')
  const sent = objectIn(decodeUtf8(await readRequestBody(ctx, SCRIPT_BYTES_MAX)))
  if (!sent) throw unsupportedBody('a JSON object in UTF-8')
  const { query, variables, operationName } = sent
  return {
    source: String(query ?? ''),
    variables: variables == null ? '' : JSON.stringify(variables),
    ...(typeof operationName === 'string' && { operationName }),
  }
}

function objectIn(text: string | undefined): Record<string, unknown> | undefined {
  try {
    return Object(JSON.parse(text ?? '')) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** Answers the tool as the API would. */
export function sendTried(ctx: Context, outcome: TriedQuery): void {
  ctx.body = 'problem' in outcome ? { errors: [{ message: outcome.problem }] } : outcome.result
}
