import type { ExecutionResult } from 'graphql'
import type { Context } from 'koa'

import type { AreaPage } from '../../../views/area.ts'
import { type QueryPage, queryPage } from '../../../views/query-page.ts'
import { inEnglish } from '../../../views/text.ts'
import { unsupportedBody } from '../../platform/http/errors.ts'
import { formField } from '../../platform/http/page-form.ts'
import { decodeUtf8, readRequestBody } from '../../platform/http/request-body.ts'
import { type QueryToolFiles, queryToolPolicy } from './query-tool.ts'

/** The outcome of a query that was run on a page: its result or a problem. */
interface TriedQuery {
  readonly result?: ExecutionResult
  readonly problem?: string
}

/** Runs a query that a person entered on a page, with all permissions of that person. */
export type TryQuery<Caller> = (typed: TypedQuery, caller: Caller) => Promise<TriedQuery>

export interface TypedQuery {
  readonly source: string
  /** The variables as JSON, or an empty string. */
  readonly variables: string
  /** The operation to run, if the document has several. */
  readonly operationName?: string | undefined
  readonly mayChange?: boolean
}

/** A person at one of their sites. */
export interface Person {
  readonly personId: string
  readonly siteId: string
}

/** A submitted query and its outcome. */
export interface Tried {
  readonly typed: TypedQuery
  readonly outcome: TriedQuery
}

interface ShownQuery {
  /** The path to which GraphiQL posts queries. */
  readonly runAddress: string
  /** The initial query in the form. */
  readonly example: string
  readonly tried?: Tried | undefined
  readonly tool: QueryToolFiles
}

/** Creates the query page. If GraphiQL is installed, the Content-Security-Policy allows its scripts. */
export async function showQueryPage(
  ctx: Context,
  parts: Omit<QueryPage, 'tool' | 'query' | 'variables' | 'answer' | 'problem'>,
  { runAddress, example, tried, tool: files }: ShownQuery,
): Promise<AreaPage> {
  const tool = await files.forPage(runAddress)
  const { source: query, variables } = tried?.typed ?? { source: example, variables: '' }
  const { result, problem: reason } = tried?.outcome ?? {}
  const problem = reason && inEnglish(reason)
  const answer = result && JSON.stringify(result, null, 2)
  if (tool) ctx.set('Content-Security-Policy', queryToolPolicy(tool))
  return queryPage({ ...parts, query, variables, answer, problem, tool })
}

/** Reads the query and its variables from the form of the page. */
export function readFormQuery(ctx: Context): TypedQuery {
  return { source: formField(ctx, 'query'), variables: formField(ctx, 'variables') }
}

const SCRIPT_BYTES_MAX = 100_000

/** Reads a query that GraphiQL sends as JSON. @throws unsupportedBody, bodyTooLarge */
export async function readScriptQuery(ctx: Context): Promise<TypedQuery> {
  if (!ctx.is('application/json')) throw unsupportedBody('application/json')
  const sent = parseObject(decodeUtf8(await readRequestBody(ctx, SCRIPT_BYTES_MAX)))
  if (!sent) throw unsupportedBody('a JSON object in UTF-8')
  const { query, variables, operationName } = sent
  return {
    source: String(query ?? ''),
    variables: variables == null ? '' : JSON.stringify(variables),
    ...(typeof operationName === 'string' && { operationName }),
  }
}

/** Sends the outcome to GraphiQL in the format of the API. */
export function sendTried(ctx: Context, { result, problem }: TriedQuery): void {
  ctx.body = result ?? { errors: [{ message: problem }] }
}

/** Parses a JSON object. Returns undefined for any other text. */
export function parseObject(text?: string | null): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '')
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
