import { type DocumentNode, type ExecutionResult, GraphQLError, getOperationAST } from 'graphql'
import { parseRequestParams, type RequestParams } from 'graphql-http'
import type { Context } from 'koa'

import { sendError } from '../../platform/http/error-handler.ts'
import { unsupportedBody } from '../../platform/http/errors.ts'
import { decodeUtf8, readRequestBody } from '../../platform/http/request-body.ts'
import { logFields, requestIdOf } from '../../platform/http/request-log.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import { type Protection, refuse } from '../../resource/resource-server/protect.ts'
import { demandScopes, type Granted } from '../../resource/resource-server/verify-bearer.ts'
import { type CostLimit, countOperation, countPreparing, takeChanges } from './cost.ts'
import { callerLimits } from './documents.ts'
import { faultsIn, type GraphqlApi } from './graphql-api.ts'
import { parseObject } from './query-page.ts'

/** Creates the caller of a request from its verified token. */
export type CallerOf<Caller> = (token: Granted['token'], ctx: Context) => Caller

interface Handling<Caller> {
  readonly api: GraphqlApi<Caller>
  readonly callerOf: CallerOf<Caller>
  readonly costLimit: CostLimit
  readonly protection: Protection
}

const JSON_TYPE = 'application/json; charset=utf-8'
const GRAPHQL_TYPE = 'application/graphql-response+json; charset=utf-8'

/** Handles a request with a verified token. Checks the limits, and the scopes that the document needs. */
export async function handleRequest<Caller>(
  ctx: Context,
  { token }: Granted,
  handling: Handling<Caller>,
): Promise<void> {
  const { api, costLimit } = handling
  const body = await readQueryBody(ctx, api.limits.bodyBytesMax)
  const accepted = ctx.accepts(JSON_TYPE, GRAPHQL_TYPE)
  // `accepts` does not match a type whose parameters differ from ours, such as `application/json; charset=utf8`.
  const type = accepted || (/application\/json/i.test(ctx.get('Accept')) && JSON_TYPE)
  if (type === false) return sendRefusal(ctx, 406)
  const params = await readParameters(ctx, body)
  if (!params) return
  const prepared = api.prepare(params.query)
  if (!prepared.isKept) countPreparing(token, costLimit)
  if (prepared.kind === 'refused') return sendResult(ctx, 400, { errors: [prepared.error] }, type)
  if (prepared.kind === 'unparsed') return sendErrors(ctx, prepared.errors, type)
  await runOperation(ctx, token, { ...prepared, params, type }, handling)
}

interface Prepared {
  readonly document: DocumentNode
  /** The validation errors. */
  readonly errors?: readonly GraphQLError[] | undefined
  readonly params: RequestParams
  /** The media type of the response. */
  readonly type: string
}

async function runOperation<Caller>(
  ctx: Context,
  token: Granted['token'],
  { document, errors, params, type }: Prepared,
  { api, callerOf, costLimit, protection }: Handling<Caller>,
): Promise<void> {
  const { operation } = getOperationAST(document, params.operationName) ?? {}
  // Mutations require POST, regardless of the scopes of the token (GraphQL over HTTP, section GET).
  if (ctx.method === 'GET' && operation === 'mutation') return sendRefusal(ctx, 405)
  const needed = api.scopesNeeded(document, params.operationName)
  // The names of the fields are needed only to check whether two factors are required.
  const operations = token.unmetDemand ? api.fieldNames(document, params.operationName) : []
  const verdict = demandScopes({ kind: 'granted', token }, needed, { operations })
  if (verdict.kind !== 'granted') return await refuse(ctx, verdict, protection)
  // Report invalid documents after missing scopes, because the client should request the scopes first.
  if (errors) return sendErrors(ctx, errors, type)
  const { cost, changes, excess } = api.measure(document, params)
  if (excess) return sendResult(ctx, 400, { errors: [excess] }, type)
  if (answerTooMany(ctx, takeChanges(token, changes, costLimit), 'graphql')) return
  countOperation(token, cost, costLimit)
  if (operation !== 'query' && operation !== 'mutation') {
    const problem = operation
      ? 'Subscriptions are not supported; send a query or a mutation'
      : 'Select exactly one operation with operationName'
    return sendErrors(ctx, [new GraphQLError(problem)], type)
  }
  const result = hideFaults(await api.perform(document, params, callerOf(token, ctx)), ctx)
  const limits = params.extensions?.['limits'] === true && { limits: callerLimits(api.limits) }
  sendResult(ctx, 200, { ...result, extensions: { cost, ...limits } }, type)
}

/** Reads the body of a POST; returns an empty string for a GET. @throws unsupportedBody, bodyTooLarge */
async function readQueryBody(ctx: Context, bytesMax: number): Promise<string> {
  if (ctx.method === 'GET') return ''
  const text = decodeUtf8(await readRequestBody(ctx, bytesMax))
  if (text === undefined) throw unsupportedBody('JSON in UTF-8')
  return text
}

function sendResult(ctx: Context, status: number, result: object, type: string): void {
  ctx.status = status
  ctx.set('Content-Type', type)
  ctx.body = JSON.stringify(result)
}

/** Sends the errors of a document. The status is 200 for application/json, otherwise 400 (GraphQL over HTTP). */
function sendErrors(ctx: Context, errors: readonly GraphQLError[], type: string): void {
  logFields(ctx).outcome = 'errors'
  sendResult(ctx, type === JSON_TYPE ? 200 : 400, { errors }, type)
}

/** The error descriptions of `sendRefusal`, by status. */
const refusals = {
  405: 'GET is for queries only; use POST for mutations',
  406: 'the Accept header must allow application/graphql-response+json or application/json',
  415: 'the request body must be application/json in UTF-8',
} as const

function sendRefusal(ctx: Context, status: keyof typeof refusals): void {
  if (status === 405) ctx.set('Allow', 'POST')
  sendError(ctx, status, { error: 'invalid_request', error_description: refusals[status] })
}

/** Reads the parameters of a request, or sends an error and returns undefined. */
async function readParameters(ctx: Context, body: string): Promise<RequestParams | undefined> {
  const { method, url, headers } = ctx
  const request = { method, url, headers, body, raw: undefined, context: undefined }
  try {
    const params = await parseRequestParams(request)
    if ('query' in params) return params
    sendRefusal(ctx, 415)
  } catch (error) {
    if (sendsHashOnly(ctx, body)) {
      // Use status 200, as Apollo Server does, so Apollo's clients automatically repeat the request with the document.
      const extensions = { code: 'PERSISTED_QUERY_NOT_SUPPORTED' }
      const errors = [{ message: 'PersistedQueryNotSupported', extensions }]
      sendResult(ctx, 200, { errors }, JSON_TYPE)
    } else {
      sendResult(ctx, 400, { errors: [{ message: (error as Error).message }] }, JSON_TYPE)
    }
  }
  return undefined
}

/** Whether a request has the hash of a persisted document, but not the document itself. */
function sendsHashOnly({ method, querystring }: Context, body: string): boolean {
  const search = new URLSearchParams(querystring)
  const { query, extensions } =
    method === 'GET'
      ? { query: search.get('query'), extensions: parseObject(search.get('extensions')) }
      : (parseObject(body) ?? {})
  const persisted = Object(extensions)['persistedQuery'] as unknown
  return query == null && typeof persisted === 'object' && persisted !== null
}

/** Logs internal errors and replaces them with the error id. @throws a refusal, such as storageUnavailable */
function hideFaults(result: ExecutionResult, ctx: Context): ExecutionResult {
  if (result.errors) logFields(ctx).outcome = 'errors'
  const faults = faultsIn(result)
  if (faults.length === 0) return result
  for (const { originalError } of faults) {
    logFields(ctx).cause = originalError
    ctx.app.emit('error', originalError, ctx)
  }
  const errorId = requestIdOf(ctx)
  const shown = (error: GraphQLError) =>
    faults.includes(error) ? internalError(errorId, error) : error
  return { ...result, errors: result.errors?.map(shown) } as ExecutionResult
}

/** Creates the error that replaces an internal error. The log contains the cause under the error id. */
function internalError(errorId: string, { path }: GraphQLError): GraphQLError {
  return new GraphQLError(
    `internal error; report error ID ${errorId} to the operator of this service`,
    { path: path ?? null, extensions: { code: 'INTERNAL', errorId } },
  )
}
