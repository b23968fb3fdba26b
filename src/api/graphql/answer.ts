import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLError,
  getOperationAST,
} from 'graphql'
import { createHandler, type RequestParams, type Response } from 'graphql-http'
import type { Context } from 'koa'

import { sendError } from '../../platform/http/error-handler.ts'
import { unsupportedBody } from '../../platform/http/errors.ts'
import { decodeUtf8, readRequestBody } from '../../platform/http/request-body.ts'
import { logFields, requestIdOf } from '../../platform/http/request-log.ts'
import { answerTooMany } from '../../platform/limits/limits.ts'
import { type Protection, type Refused, refuse } from '../../resource/resource-server/protect.ts'
import type { Granted } from '../../resource/resource-server/verdict.ts'
import { type ContextRecord, faultsIn, type GraphqlApi, throwUnavailable } from './api.ts'
import { type CostLimit, countOperation, countPreparing, takeChanges } from './cost-limit.ts'
import { internalError } from './errors.ts'
import { limitsInForce } from './limits.ts'
import { readParameters } from './persisted-queries.ts'

/** One request on its way through graphql-http. */
interface Exchange<Caller> {
  readonly ctx: Context
  readonly token: Granted['token']
  readonly caller: Caller
  insufficient: Extract<Refused, { kind: 'insufficient' }> | undefined
  /** The limit of changes, when it is reached. */
  exceeded: ReturnType<typeof takeChanges>
  /** What the operation costs, once it is known. */
  cost: number
}

/** Who asks: made of a good token, and of the request that it came with. */
export type CallerOf<Caller> = (token: Granted['token'], ctx: Context) => Caller

/** Answers requests with a good token; whether it has the scopes shows in the document. */
export function makeAnswer<Caller, ApiContext extends ContextRecord>(
  api: GraphqlApi<Caller, ApiContext>,
  { callerOf, costLimit }: { callerOf: CallerOf<Caller>; costLimit: CostLimit },
  protection: Protection,
) {
  const handle = makeHandler(api, costLimit)
  return async (ctx: Context, token: Granted['token']): Promise<void> => {
    const caller = callerOf(token, ctx)
    const text = await bodyOf(ctx, api.limits.bodyBytesMax)
    const exchange: Exchange<Caller> = {
      ctx,
      token,
      caller,
      insufficient: undefined,
      exceeded: undefined,
      cost: 0,
    }
    const [body, init] = await handle({
      method: ctx.method,
      url: ctx.url,
      headers: ctx.headers,
      body: text,
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

/** What is said of the refusals of graphql-http, which have no body. */
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
  const prepare = (source: string, token: Granted['token']) => {
    const prepared = api.prepare(source)
    if (!prepared.isKept) countPreparing(token, costLimit)
    return prepared
  }
  const turnAway = makeTurnAway(api, costLimit)
  return createHandler<Exchange<Caller>, unknown, ApiContext>({
    parseRequestParams: readParameters,
    onSubscribe({ raw, headers }, params) {
      const prepared = prepare(params.query, raw.token)
      if (prepared.kind === 'invalid') {
        logFields(raw.ctx).outcome = 'errors'
        return prepared.errors
      }
      if (prepared.kind === 'refused') return badRequest(prepared.error, headers)
      const { document } = prepared
      const refused = turnAway(raw, { document, params, headers })
      return refused ?? api.argumentsFor(document, params, raw.caller)
    },
    onOperation: ({ raw }, _args, result) => ({
      ...settle(result, raw.ctx),
      extensions: { cost: raw.cost, limits },
    }),
  })
}

/** What is asked, of a document that is valid. */
interface Operation {
  readonly document: DocumentNode
  readonly params: RequestParams
  readonly headers: unknown
}

/** Turns away what the method, the scopes or a limit do not allow; what is allowed is counted. */
function makeTurnAway<Caller, ApiContext extends ContextRecord>(
  api: GraphqlApi<Caller, ApiContext>,
  costLimit: CostLimit,
) {
  return (
    raw: Exchange<Caller>,
    { document, params, headers }: Operation,
  ): Response | undefined => {
    // What changes something is sent by POST, whatever the token may do (GraphQL over HTTP §6.2).
    const { operation } = getOperationAST(document, params.operationName) ?? {}
    if (raw.ctx.method === 'GET' && operation === 'mutation') return MUTATION_BY_GET

    const needed = api.scopesNeeded(document, params.operationName)
    if (!needed.every((scope) => raw.token.scopes.includes(scope))) {
      raw.insufficient = { kind: 'insufficient', token: raw.token, needed, oneIsEnough: false }
      return FORBIDDEN
    }
    const { cost, changes, excess } = api.measure(document, params)
    if (excess) return badRequest(excess, headers)
    raw.exceeded = takeChanges(raw.token, changes, costLimit)
    if (raw.exceeded) return TOO_MANY
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

/** A document that is too large is a bad request in either media type: nobody looked inside it. */
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
function settle(result: ExecutionResult, ctx: Context): ExecutionResult {
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
