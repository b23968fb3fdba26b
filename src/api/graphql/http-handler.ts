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
import type { Exceeded } from '../../platform/limits/limits.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import { type Protection, type Refused, refuse } from '../../resource/resource-server/protect.ts'
import type { Granted } from '../../resource/resource-server/verify-bearer.ts'
import { type CostLimit, countOperation, countPreparing, takeChanges } from './cost.ts'
import { limitsInForce } from './documents.ts'
import { type ContextRecord, faultsIn, type GraphqlApi, throwUnavailable } from './graphql-api.ts'

/** One request on its way through graphql-http. */
interface Exchange<Caller> {
  readonly ctx: Context
  readonly token: Granted['token']
  readonly caller: Caller
  insufficient?: Extract<Refused, { kind: 'insufficient' }>
  /** The limit of changes, when it is reached. */
  exceeded?: Exceeded
  /** The cost of the operation, once it is known. */
  cost?: number
}

/** Makes the caller of a good token, and of the request that it came with. */
export type CallerOf<Caller> = (token: Granted['token'], ctx: Context) => Caller

/** Answers requests with a good token; whether it has the scopes shows in the document. */
export function makeAnswer<Caller, ApiContext extends ContextRecord>(
  api: GraphqlApi<Caller, ApiContext>,
  callerOf: CallerOf<Caller>,
  costLimit: CostLimit,
  protection: Protection,
) {
  const handle = makeHandler(api, costLimit)
  return async (ctx: Context, token: Granted['token']): Promise<void> => {
    const exchange: Exchange<Caller> = { ctx, token, caller: callerOf(token, ctx) }
    const [body, init] = await handle({
      method: ctx.method,
      url: ctx.url,
      headers: ctx.headers,
      body: await bodyOf(ctx, api.limits.bodyBytesMax),
      raw: exchange,
      context: undefined,
    })
    if (exchange.insufficient) return await refuse(ctx, exchange.insufficient, protection)
    if (answerTooMany(ctx, exchange.exceeded, 'graphql')) return
    if (body === null) return sendRefusal(ctx, init.status)
    ctx.status = init.status
    ctx.set(init.headers ?? {})
    ctx.body = body
  }
}

/** The JSON of a request; a GET has its query in the address. */
async function bodyOf(ctx: Context, bytesMax: number): Promise<string> {
  if (ctx.method === 'GET') return ''
  const text = decodeUtf8(await readRequestBody(ctx, bytesMax))
  if (text === undefined) throw unsupportedBody('JSON in UTF-8')
  return text
}

/** Descriptions of the refusals of graphql-http, which have no body. */
const refusals: Readonly<Record<number, string>> = {
  405: 'a mutation is sent by POST; GET is for queries',
  406: 'the answer is application/graphql-response+json or application/json',
  415: 'the request body must be application/json in UTF-8',
}

function sendRefusal(ctx: Context, status: number): void {
  if (status === 405) ctx.set('Allow', 'POST')
  sendError(ctx, status, {
    error: 'invalid_request',
    error_description: refusals[status] ?? 'the request cannot be answered',
  })
}

/** graphql-http negotiates media types and reads the parameters; what is executed is decided here. */
function makeHandler<Caller, ApiContext extends ContextRecord>(
  api: GraphqlApi<Caller, ApiContext>,
  costLimit: CostLimit,
) {
  const limits = limitsInForce(api.limits)
  return createHandler<Exchange<Caller>, unknown, ApiContext>({
    parseRequestParams: readParameters,
    onSubscribe({ raw, headers }, params) {
      const prepared = api.prepare(params.query)
      if (!prepared.isKept) countPreparing(raw.token, costLimit)
      if (prepared.kind === 'invalid') {
        logFields(raw.ctx).outcome = 'errors'
        return prepared.errors
      }
      if (prepared.kind === 'refused') return badRequest(prepared.error, headers)
      const { document } = prepared
      return (
        turnAway(raw, document, params, headers) ?? api.argumentsFor(document, params, raw.caller)
      )
    },
    onOperation: ({ raw }, _args, result) => ({
      ...hideFaults(result, raw.ctx),
      extensions: { cost: raw.cost, limits },
    }),
  })

  /** Turns away what the method, the scopes or a limit do not allow; what is allowed is counted. */
  function turnAway(
    raw: Exchange<Caller>,
    document: DocumentNode,
    params: RequestParams,
    headers: unknown,
  ): Response | undefined {
    // Mutations are sent by POST, whatever the token may do (GraphQL over HTTP §6.2).
    const { operation } = getOperationAST(document, params.operationName) ?? {}
    if (raw.ctx.method === 'GET' && operation === 'mutation') return MUTATION_BY_GET

    const needed = api.scopesNeeded(document, params.operationName)
    if (!needed.every((scope) => raw.token.scopes.includes(scope))) {
      raw.insufficient = { kind: 'insufficient', token: raw.token, needed, oneIsEnough: false }
      return FORBIDDEN
    }
    const { cost, changes, excess } = api.measure(document, params)
    if (excess) return badRequest(excess, headers)
    const exceeded = takeChanges(raw.token, changes, costLimit)
    if (exceeded) {
      raw.exceeded = exceeded
      return TOO_MANY
    }
    raw.cost = cost
    countOperation(raw.token, cost, costLimit)
    return undefined
  }
}

const MUTATION_BY_GET: Response = [null, { status: 405, statusText: 'Method Not Allowed' }]

/** Stops graphql-http; the real answer, with its challenge, is made from the exchange. */
const FORBIDDEN: Response = [null, { status: 403, statusText: 'Forbidden' }]

/** The same, for an answer that says when to come back. */
const TOO_MANY: Response = [null, { status: 429, statusText: 'Too Many Requests' }]

/** A document that is too large is a bad request in either media type, because it is not executed. */
function badRequest(error: GraphQLError, headers: unknown): Response {
  const accept = String(Object(headers)['accept'] ?? '')
  const type = accept.includes('graphql-response+json') ? 'graphql-response+json' : 'json'
  return [
    JSON.stringify({ errors: [error] }),
    {
      status: 400,
      statusText: 'Bad Request',
      headers: { 'content-type': `application/${type}; charset=utf-8` },
    },
  ]
}

/**
 * Replaces faults by error ids, so that no statement, host or stack leaves, and logs their causes.
 *
 * @throws storageUnavailable when storage gave no answer
 */
function hideFaults(result: ExecutionResult, ctx: Context): ExecutionResult {
  if (result.errors) logFields(ctx).outcome = 'errors'
  const faults = faultsIn(result)
  if (faults.length === 0) return result
  throwUnavailable(result)
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

/** The error in place of a fault: the log has its cause under this id. */
function internalError(errorId: string, { path }: GraphQLError): GraphQLError {
  return new GraphQLError(`internal error, error id ${errorId}`, {
    path: path ?? null,
    extensions: { code: 'INTERNAL', errorId },
  })
}

/**
 * Reads the parameters of a request. No documents are stored under a hash, because a document is small
 * and its hash does not tell who wrote it. A client that sends only a hash is told so as its protocol
 * wants it, and then sends the whole document.
 */
async function readParameters<Raw>(
  request: Request<Raw, unknown>,
): Promise<RequestParams | Response> {
  try {
    return await parseRequestParams(request)
  } catch (error) {
    // graphql-http answers it: the parameters are missing or malformed.
    if (!(await sendsHashOnly(request))) throw error
    return HASH_NOT_SUPPORTED
  }
}

/** As Apollo's servers answer: 200, because the client goes on by itself. */
const HASH_NOT_SUPPORTED: Response = [
  JSON.stringify({
    errors: [
      {
        message: 'PersistedQueryNotSupported',
        extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' },
      },
    ],
  }),
  {
    status: 200,
    statusText: 'OK',
    headers: { 'content-type': 'application/json; charset=utf-8' },
  },
]

/** Whether a request has the hash of a document and no document. */
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
