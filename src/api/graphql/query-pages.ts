import type { Context } from 'koa'

import { type QueryPage, queryPage } from '../../../views/query-page.ts'
import { unsupportedBody } from '../../platform/http/errors.ts'
import { sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { decodeUtf8, readRequestBody } from '../../platform/http/request-body.ts'
import { type QueryToolFiles, queryToolPolicy } from './query-tool.ts'
import type { TriedQuery, TryQuery, TypedQuery } from './try-query.ts'

/** What a page needs on which queries are tried. */
export interface QueryPorts<Caller> {
  readonly tryQuery: TryQuery<Caller>
  readonly queryTool: QueryToolFiles
}

/** A page without what the tool and the last try put there. */
export type QueryPageParts = Omit<QueryPage, 'tool' | 'query' | 'variables' | 'answer' | 'problem'>

export interface ShownQuery {
  /** Where the tool sends its queries. */
  readonly runAddress: string
  /** What stands in the form at first. */
  readonly example: string
  readonly tried?: Tried | undefined
}

/** What was typed into the form, and what came of it. */
export interface Tried {
  readonly typed: TypedQuery
  readonly outcome: TriedQuery
}

/** Sends the page on which somebody tries queries, with its own policy where GraphiQL is installed. */
export async function sendQueryPage(
  ctx: Context,
  parts: QueryPageParts,
  { tool: files, ...shown }: ShownQuery & { readonly tool: QueryToolFiles },
): Promise<void> {
  const { runAddress, example, tried } = shown
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

/** What the form of the page has. */
export function typedInForm(ctx: Context): TypedQuery {
  return { source: formField(ctx, 'query'), variables: formField(ctx, 'variables') }
}

/** As much as a person types, and more. */
const SCRIPT_BYTES_MAX = 100_000

/**
 * What the tool sends: a request as GraphQL over HTTP has it.
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
