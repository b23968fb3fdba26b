/** The tool endpoint: who is let in, which tools there are, and what they do. */

import type { Context, Middleware } from 'koa'
import type Router from 'koa-router'

import { methodNotAllowed, tooManyRequests } from '../http/errors.ts'
import { openCors } from '../http/open-cors.ts'
import { paths } from '../http/paths.ts'
import { logFields } from '../http/request-log.ts'
import { makeRouter } from '../http/router.ts'
import { type Protection, refuse, verdictOf } from '../resource-server/protect.ts'
import type { Verdict, VerifyBearer } from '../resource-server/verdict.ts'
import { makeAnswerMessage } from './answer-message.ts'
import { type AdmissionPolicy, admitOnly, makeAdmission } from './host-and-origin.ts'
import { type Message, readMessage } from './message.ts'
import { makeRequestLimits, type RequestLimitPolicy } from './request-limits.ts'
import {
  describeService,
  judgeCall,
  once,
  scopesOfTool,
  type Tool,
  type ToolParts,
} from './tool.ts'

export interface ToolEndpointPorts extends Omit<ToolParts, 'service'> {
  readonly baseUrl: string
  readonly serviceName: string
  readonly policy: RequestLimitPolicy &
    Pick<AdmissionPolicy, 'allowedOrigins'> & { readonly bodyBytesMax: number }
  readonly resourceMetadataUrl: string
  readonly limitStore: Parameters<typeof makeRequestLimits>[1]
  readonly verifyBearer: VerifyBearer
}

/** The tool endpoint with all that it keeps, such as the counts of requests. */
export function toolEndpoint(ports: ToolEndpointPorts): Router {
  const { baseUrl, policy, limitStore, resourceMetadataUrl, verifyBearer } = ports
  const address = baseUrl + paths.mcp
  const service = describeService(ports.serviceName, baseUrl)
  const parts = { ...ports, service, authGuide: once(ports.authGuide) }
  return toolRoutes({
    admit: admitOnly(makeAdmission({ baseUrl, allowedOrigins: policy.allowedOrigins })),
    limits: makeRequestLimits(policy, limitStore),
    answerMessage: makeAnswerMessage(address, parts),
    resourceMetadataUrl,
    verifyBearer,
    bodyBytesMax: policy.bodyBytesMax,
  })
}

interface Endpoint {
  /** Refuses a foreign host or origin. */
  readonly admit: Middleware
  readonly limits: ReturnType<typeof makeRequestLimits>
  readonly answerMessage: ReturnType<typeof makeAnswerMessage>
  readonly resourceMetadataUrl: string
  readonly verifyBearer: VerifyBearer
  readonly bodyBytesMax: number
}

/**
 * The tool endpoint (specification, Tool endpoint). Everything is decided here, in this order, before
 * the SDK sees a message: host and origin, preflight, token, method, body, scope. The token comes
 * before the method, so that a client which only probes with GET or HEAD is challenged too.
 */
function toolRoutes(endpoint: Endpoint): Router {
  const router = makeRouter()
  router.all(paths.mcp, endpoint.admit, openCors(['POST']), async (ctx) => {
    if (ctx.method === 'OPTIONS') return answerOptions(ctx)
    const verdict = await judgeRequest(ctx, endpoint)
    if (verdict.kind !== 'anonymous' && verdict.kind !== 'granted') {
      return refuse(ctx, verdict, protection(endpoint, undefined))
    }
    if (ctx.method !== 'POST') {
      ctx.set('Allow', METHODS)
      throw methodNotAllowed('POST')
    }
    const message = await readMessage(ctx, endpoint.bodyBytesMax)
    if (message) await answer(ctx, { message, verdict }, endpoint)
  })
  return router
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
async function judgeRequest(ctx: Context, { limits, verifyBearer }: Endpoint): Promise<Verdict> {
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
  endpoint: Endpoint,
): Promise<void> {
  const tool = await toolOf(message.value)
  if (tool) {
    logFields(ctx).tool = tool.name
    const judged = judgeCall(tool.access, verdict)
    if (judged.kind !== 'granted' && tool.access.kind !== 'public') {
      return refuse(ctx, judged, protection(endpoint, tool))
    }
  }
  await endpoint.answerMessage(ctx, message, verdict.kind === 'granted' ? verdict.token : undefined)
}

/** The catalogue is loaded with the first message and not at the start, as the SDK is. */
const catalogue = once(async () => await import('./tool-catalogue.ts'))

async function toolOf(message: unknown): Promise<Tool | undefined> {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: { name?: unknown } }
  return method === 'tools/call' ? (await catalogue()).findTool(params?.name) : undefined
}

function protection({ resourceMetadataUrl }: Endpoint, tool: Tool | undefined): Protection {
  return { resourceMetadataUrl, scopes: tool ? scopesOfTool(tool.access) : [] }
}
