import type { ExecutionResult, GraphQLError } from 'graphql'
import { createHandler, type Response } from 'graphql-http'
import type { Context } from 'koa'

import { sendError } from '../http/error-handler.ts'
import { unsupportedBody } from '../http/errors.ts'
import { decodeUtf8, readRequestBody } from '../http/request-body.ts'
import { logFields, requestIdOf } from '../http/request-log.ts'
import { type Protection, refuse } from '../resource-server/protect.ts'
import type { BearerToken, Verdict } from '../resource-server/verdict.ts'
import { type ContextRecord, faultsIn, type GraphqlApi, throwUnavailable } from './api.ts'
import { internalError } from './errors.ts'

/** One request on its way through graphql-http. */
interface Exchange<Caller> {
  readonly ctx: Context
  readonly token: BearerToken
  readonly caller: Caller
  insufficient: Extract<Verdict, { kind: 'insufficient' }> | undefined
}

/** Who asks: made of a good token, and of the request that it came with. */
export type CallerOf<Caller> = (token: BearerToken, ctx: Context) => Caller

/** Answers requests with a good token; whether it has the scopes shows in the document. */
export function makeAnswer<Caller, ApiContext extends ContextRecord>(
  api: GraphqlApi<Caller, ApiContext>,
  callerOf: CallerOf<Caller>,
  protection: Protection,
) {
  const handle = makeHandler(api)
  return async (ctx: Context, token: BearerToken): Promise<void> => {
    const caller = callerOf(token, ctx)
    const text = decodeUtf8(await readRequestBody(ctx, api.limits.bodyBytesMax))
    if (text === undefined) throw unsupportedBody('JSON in UTF-8')

    const exchange: Exchange<Caller> = { ctx, token, caller, insufficient: undefined }
    const [body, init] = await handle({
      method: ctx.method,
      url: ctx.url,
      headers: ctx.headers,
      body: text,
      raw: exchange,
      context: undefined,
    })
    if (exchange.insufficient) return await refuse(ctx, exchange.insufficient, protection)
    if (body === null) return sendRefusal(ctx, init.status)
    ctx.status = init.status
    ctx.set(init.headers ?? {})
    ctx.body = body
  }
}

/** The refusals of graphql-http have no body; ours say what is wrong, as every endpoint does. */
function sendRefusal(ctx: Context, status: number): void {
  const description =
    status === 415
      ? 'the request body must be application/json in UTF-8'
      : 'the answer is application/graphql-response+json or application/json'
  sendError(ctx, status, { error: 'invalid_request', error_description: description })
}

/** graphql-http negotiates media types and reads the parameters; what is executed is decided here. */
function makeHandler<Caller, ApiContext extends ContextRecord>(
  api: GraphqlApi<Caller, ApiContext>,
) {
  return createHandler<Exchange<Caller>, unknown, ApiContext>({
    onSubscribe({ raw, headers }, params) {
      const prepared = api.prepare(params.query)
      if (prepared.kind === 'invalid') return prepared.errors
      if (prepared.kind === 'refused') return badRequest(prepared.error, headers)
      const { document } = prepared

      const needed = api.scopesNeeded(document, params.operationName)
      if (!needed.every((scope) => raw.token.scopes.has(scope))) {
        raw.insufficient = { kind: 'insufficient', token: raw.token, needed, oneIsEnough: false }
        return FORBIDDEN
      }
      const excess = api.findExcess(document, params)
      if (excess) return badRequest(excess, headers)
      return api.argumentsFor(document, params, raw.caller)
    },
    onOperation: ({ raw }, _args, result) => settle(result, raw.ctx),
  })
}

/** Stops graphql-http; the real answer, with its challenge, is made from the exchange. */
const FORBIDDEN: Response = [null, { status: 403, statusText: 'Forbidden' }]

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
