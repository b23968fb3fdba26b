import type { Context, Middleware } from 'koa'
import type Router from 'koa-router'

import { faultBody } from '../http/error-handler.ts'
import { isRefusal, methodNotAllowed, tooManyRequests } from '../http/errors.ts'
import { openCors } from '../http/open-cors.ts'
import { paths } from '../http/paths.ts'
import { logFields } from '../http/request-log.ts'
import { makeRouter } from '../http/router.ts'
import { type Protection, refuse, verdictOf } from '../resource-server/protect.ts'
import type { Verdict, VerifyBearer } from '../resource-server/verdict.ts'
import type { Admission } from './admission.ts'
import { fetchRequest, sendResponse } from './bridge.ts'
import { findTool } from './catalogue.ts'
import {
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isFault,
  type Message,
  readMessage,
  sendFault,
} from './message.ts'
import type { RequestLimits } from './request-limits.ts'
import type { Exchange, ToolServer } from './server.ts'
import { judgeCall, scopesOf, type Tool } from './tool.ts'

export interface ToolEndpointDependencies {
  readonly baseUrl: string
  readonly admission: Admission
  readonly verifyBearer: VerifyBearer
  readonly limits: RequestLimits
  readonly tools: ToolServer
  readonly resourceMetadataUrl: string
  readonly bodyBytesMax: number
}

/**
 * The tool endpoint (specification, Tool endpoint). Everything is decided here, in this order, before
 * the SDK sees a message: host and origin, preflight, token, method, body, scope. The token comes
 * before the method, so that a client which only probes with GET or HEAD is challenged too.
 */
export function toolRoutes(dependencies: ToolEndpointDependencies): Router {
  const router = makeRouter()
  router.all(paths.mcp, admit(dependencies.admission), openCors(['POST']), async (ctx) => {
    if (ctx.method === 'OPTIONS') return answerOptions(ctx)
    const verdict = await judgeRequest(ctx, dependencies)
    if (verdict.kind !== 'anonymous' && verdict.kind !== 'granted') {
      return refuse(ctx, verdict, protection(dependencies, undefined))
    }
    if (ctx.method !== 'POST') {
      ctx.set('Allow', METHODS)
      throw methodNotAllowed('POST')
    }
    const message = await readMessage(ctx, dependencies.bodyBytesMax)
    if (isFault(message)) return sendFault(ctx, message)
    await answer(ctx, { message, verdict }, dependencies)
  })
  return router
}

/**
 * Refuses a foreign host or origin. What passes may be read by the page that asked (design 28): no
 * answer here depends on a credential that a browser adds by itself.
 */
function admit(admission: Admission): Middleware {
  return async (ctx, next) => {
    const host: unknown = ctx.state['presentedHost']
    const origin = ctx.get('Origin')
    ctx.vary('Origin')
    if (!admission.admitsHost(typeof host === 'string' ? host : undefined)) {
      sendFault(ctx, { status: 403, code: INVALID_REQUEST, message: 'this Host is not admitted' })
    } else if (origin && !admission.admitsOrigin(origin)) {
      sendFault(ctx, { status: 403, code: INVALID_REQUEST, message: 'this Origin is not admitted' })
    } else {
      await next()
    }
  }
}

const METHODS = 'POST, OPTIONS'

/** OPTIONS that is no preflight of a browser. */
function answerOptions(ctx: Context): void {
  ctx.status = 204
  ctx.set('Allow', METHODS)
}

/**
 * The verdict on the caller, who is then counted. The address is counted while the token is looked
 * up, so that a store which does not answer costs its time limit once.
 */
async function judgeRequest(
  ctx: Context,
  { limits, verifyBearer }: ToolEndpointDependencies,
): Promise<Verdict> {
  ctx.vary('Authorization')
  const [addressWait, verdict] = await Promise.all([
    limits.ofAddress(ctx.ip),
    verdictOf(ctx, verifyBearer),
  ])
  const wait =
    addressWait ?? (verdict.kind === 'granted' ? await limits.ofCaller(verdict.token) : undefined)
  if (wait !== undefined) {
    ctx.set('Retry-After', String(wait))
    throw tooManyRequests()
  }
  return verdict
}

interface Judged {
  readonly message: Message
  readonly verdict: Extract<Verdict, { kind: 'anonymous' | 'granted' }>
}

async function answer(
  ctx: Context,
  { message, verdict }: Judged,
  dependencies: ToolEndpointDependencies,
): Promise<void> {
  const tool = toolOf(message.value)
  if (tool) {
    logFields(ctx).tool = tool.name
    const judged = judgeCall(tool.access, verdict)
    if (judged.kind !== 'granted' && tool.access.kind !== 'public') {
      return refuse(ctx, judged, protection(dependencies, tool))
    }
  }
  const exchange: Exchange = { caller: verdict.kind === 'granted' ? verdict.token : undefined }
  const request = fetchRequest(ctx, dependencies.baseUrl + paths.mcp, message.text)
  const response = await settle(
    dependencies.tools.answer(request, message.value, exchange),
    request,
  )
  if (exchange.failure !== undefined) return sendFailure(ctx, message.value, exchange.failure)
  if (!response) return
  ctx.set('Cache-Control', 'no-store')
  await sendResponse(ctx, response)
}

/** The answer, or nothing when the caller hung up meanwhile: there is nobody to tell. */
async function settle(
  answering: Promise<Response>,
  { signal }: Request,
): Promise<Response | undefined> {
  try {
    return await answering
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
}

function toolOf(message: unknown): Tool | undefined {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { name?: unknown } }
  return method === 'tools/call' ? findTool(params?.name) : undefined
}

function protection(
  { resourceMetadataUrl }: ToolEndpointDependencies,
  tool: Tool | undefined,
): Protection {
  return { resourceMetadataUrl, scopes: tool ? scopesOf(tool.access) : [] }
}

/**
 * A tool that could not do its work. Storage out of reach leaves as an error of ours, 503, which says
 * nothing about the token (specification, Errors 7); a fault is told with its id and nothing else.
 */
function sendFailure(ctx: Context, message: unknown, failure: unknown): void {
  if (isRefusal(failure)) throw failure
  logFields(ctx).cause = failure
  ctx.app.emit('error', failure, ctx)
  const { id = null } = message as { id?: unknown }
  ctx.status = 200
  ctx.set('Cache-Control', 'no-store')
  ctx.body = {
    jsonrpc: '2.0',
    error: { code: INTERNAL_ERROR, message: faultBody(ctx).error_description },
    id,
  }
}
