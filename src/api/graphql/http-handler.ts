import { type DocumentNode, type ExecutionResult, GraphQLError, getOperationAST } from 'graphql'
import {
  createHandler,
  parseRequestParams,
  type Request,
  type RequestParams,
  type Response,
} from 'graphql-http'
import type { Context } from 'koa'

import { sendError } from '../../platform/http/error-handler.ts'
import { unsupportedBody } from '../../platform/http/errors.ts'
import { decodeUtf8, readRequestBody } from '../../platform/http/request-body.ts'
import { logFields, requestIdOf } from '../../platform/http/request-log.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import { type Protection, refuse } from '../../resource/resource-server/protect.ts'
import type { Granted } from '../../resource/resource-server/verify-bearer.ts'
import { type CostLimit, countOperation, countPreparing, takeChanges } from './cost.ts'
import { limitsInForce } from './documents.ts'
import { type ContextRecord, faultsIn, type GraphqlApi, throwRefusal } from './graphql-api.ts'

/** The state of one request inside graphql-http. */
interface Exchange<Caller> {
  readonly ctx: Context
  readonly token: Granted['token']
  readonly caller: Caller
  /** Sends the response instead of graphql-http. */
  refuse?: () => unknown
  /** The cost of the operation, once it is known. */
  cost?: number
  /** Whether the request has `extensions: { limits: true }`. */
  showsLimits?: boolean
}

/** Creates the caller of a request from its verified token. */
export type CallerOf<Caller> = (token: Granted['token'], ctx: Context) => Caller

/** Creates the handler of requests with a verified token. It checks the scopes that the document needs. */
export function makeHttpHandler<Caller, ApiContext extends ContextRecord>(
  api: GraphqlApi<Caller, ApiContext>,
  callerOf: CallerOf<Caller>,
  costLimit: CostLimit,
  protection: Protection,
) {
  const handle = makeHandler(api, costLimit, protection)
  return async (ctx: Context, token: Granted['token']): Promise<void> => {
    const exchange: Exchange<Caller> = { ctx, token, caller: callerOf(token, ctx) }
    const [body, init] = await handle({
      method: ctx.method,
      url: ctx.url,
      headers: ctx.headers,
      body: await readBody(ctx, api.limits.bodyBytesMax),
      raw: exchange,
      context: undefined,
    })
    if (exchange.refuse) {
      await exchange.refuse()
    } else if (body === null) {
      sendRefusal(ctx, init.status)
    } else {
      ctx.status = init.status
      ctx.set(init.headers ?? {})
      ctx.body = body
    }
  }
}

/** Reads the body of a POST; returns an empty text for a GET. @throws unsupportedBody, bodyTooLarge */
async function readBody(ctx: Context, bytesMax: number): Promise<string> {
  if (ctx.method === 'GET') return ''
  const text = decodeUtf8(await readRequestBody(ctx, bytesMax))
  if (text === undefined) throw unsupportedBody('JSON in UTF-8')
  return text
}

/** Error descriptions for responses of graphql-http that have no body. */
const refusals: Readonly<Record<number, string>> = {
  405: 'GET is for queries only; use POST for mutations',
  406: 'Accept must allow application/graphql-response+json or application/json',
  415: 'the request body must be application/json in UTF-8',
}

function sendRefusal(ctx: Context, status: number): void {
  if (status === 405) ctx.set('Allow', 'POST')
  sendError(ctx, status, {
    error: 'invalid_request',
    error_description: refusals[status] ?? 'the request is not valid GraphQL over HTTP',
  })
}

/** Creates the graphql-http handler. The library reads media types and parameters; our code decides what to execute. */
function makeHandler<Caller, ApiContext extends ContextRecord>(
  api: GraphqlApi<Caller, ApiContext>,
  costLimit: CostLimit,
  protection: Protection,
) {
  const limits = limitsInForce(api.limits)
  return createHandler<Exchange<Caller>, unknown, ApiContext>({
    parseRequestParams: readParameters,
    onSubscribe({ raw, headers }, params) {
      raw.showsLimits = Object(params.extensions)['limits'] === true
      const prepared = api.prepare(params.query)
      if (!prepared.isKept) countPreparing(raw.token, costLimit)
      if (prepared.kind === 'invalid') {
        logFields(raw.ctx).outcome = 'errors'
        return prepared.errors
      }
      if (prepared.kind === 'refused') return badRequest(prepared.error, headers)
      const { document } = prepared
      return (
        refuseOperation(raw, document, params, headers) ??
        api.argumentsFor(document, params, raw.caller)
      )
    },
    onOperation: ({ raw }, _args, result) => ({
      ...hideFaults(result, raw.ctx),
      extensions: { cost: raw.cost, ...(raw.showsLimits && { limits }) },
    }),
  })

  /** Returns a response if the method, the scopes or a limit forbid the operation; otherwise counts the operation. */
  function refuseOperation(
    raw: Exchange<Caller>,
    document: DocumentNode,
    params: RequestParams,
    headers: unknown,
  ): Response | undefined {
    const { ctx, token } = raw
    // Mutations require POST, regardless of the scopes of the token (GraphQL over HTTP §6.2).
    const { operation } = getOperationAST(document, params.operationName) ?? {}
    if (ctx.method === 'GET' && operation === 'mutation') return refusal(405)

    const needed = api.scopesNeeded(document, params.operationName)
    if (!needed.every((scope) => token.scopes.includes(scope))) {
      const refused = { kind: 'insufficient', token, needed, oneIsEnough: false } as const
      raw.refuse = () => refuse(ctx, refused, protection)
      return refusal(403)
    }
    const { cost, changes, excess } = api.measure(document, params)
    if (excess) return badRequest(excess, headers)
    const exceeded = takeChanges(token, changes, costLimit)
    if (exceeded) {
      raw.refuse = () => answerTooMany(ctx, exceeded, 'graphql')
      return refusal(429)
    }
    raw.cost = cost
    countOperation(token, cost, costLimit)
    return undefined
  }
}

/** Returns a response that stops graphql-http. The handler then sends the real one, with its headers and body. */
function refusal(status: 403 | 405 | 429): Response {
  return [null, { status, statusText: '' }]
}

/** Creates the response to a document that exceeds a limit: 400 for every media type, because it was not executed. */
function badRequest(error: GraphQLError, headers: unknown): Response {
  const accept = String(Object(headers)['accept'] ?? '')
  const type = accept.includes('graphql-response+json') ? 'graphql-response+json' : 'json'
  return jsonResponse(400, { errors: [error] }, type)
}

function jsonResponse(status: number, body: object, type = 'json'): Response {
  const headers = { 'content-type': `application/${type}; charset=utf-8` }
  return [JSON.stringify(body), { status, statusText: '', headers }]
}

/** Logs internal errors and replaces them with the error id. @throws a refusal, such as storageUnavailable */
function hideFaults(result: ExecutionResult, ctx: Context): ExecutionResult {
  if (result.errors) logFields(ctx).outcome = 'errors'
  const faults = faultsIn(result)
  if (faults.length === 0) return result
  throwRefusal(result)
  for (const { originalError } of faults) {
    logFields(ctx).cause = originalError
    ctx.app.emit('error', originalError, ctx)
  }
  const errorId = requestIdOf(ctx)
  return {
    ...result,
    errors: result.errors?.map((error) =>
      faults.includes(error) ? internalError(errorId, error) : error,
    ),
  } as ExecutionResult
}

/** Creates the error that replaces an internal error. The log has the cause under the error id. */
function internalError(errorId: string, { path }: GraphQLError): GraphQLError {
  return new GraphQLError(
    `internal error; report error ID ${errorId} to the operator of this service`,
    {
      path: path ?? null,
      extensions: { code: 'INTERNAL', errorId },
    },
  )
}

/** Reads the parameters of a request. If it has only the hash of a document, returns an error that asks for it. */
async function readParameters<Raw>(
  request: Request<Raw, unknown>,
): Promise<RequestParams | Response> {
  try {
    return await parseRequestParams(request)
  } catch (error) {
    // graphql-http itself reports missing or malformed parameters.
    if (!(await sendsHashOnly(request))) throw error
    // Use status 200, as Apollo's servers do. Their clients then send the document automatically.
    const code = 'PERSISTED_QUERY_NOT_SUPPORTED'
    return jsonResponse(200, {
      errors: [{ message: 'PersistedQueryNotSupported', extensions: { code } }],
    })
  }
}

/** Whether a request has the hash of a document but no document. */
async function sendsHashOnly<Raw>({ method, url, body }: Request<Raw, unknown>): Promise<boolean> {
  const search = new URLSearchParams(url.split('?')[1])
  const { query, extensions } =
    method === 'GET'
      ? { query: search.get('query'), extensions: jsonObject(search.get('extensions')) }
      : jsonObject(typeof body === 'function' ? await body() : body)
  const persisted = Object(extensions)['persistedQuery'] as unknown
  return query == null && typeof persisted === 'object' && persisted !== null
}

function jsonObject(text: unknown): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(String(text))) as Record<string, unknown>
  } catch {
    return {}
  }
}
