/** The tool endpoint: who is let in, which tools there are, and what they do. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import { methodNotAllowed } from '../../platform/http/errors.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { type Limits, personKey } from '../../platform/limits/limits.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import {
  type AdviseOnScopes,
  type Protection,
  type Refused,
  refuse,
  verdictOf,
} from '../../resource/resource-server/protect.ts'
import type { Verdict, VerifyBearer } from '../../resource/resource-server/verify-bearer.ts'
import type { accessOf, makeAnswerMessage, Sender } from './answer-message.ts'
import { type AdmissionPolicy, admitOnly, fromBrowsers, makeAdmission } from './host-and-origin.ts'
import { type Message, readMessage } from './message.ts'
import { describeService, once, type ToolAddress, type ToolCall, type ToolParts } from './tool.ts'
import {
  addressFor,
  judgeAccess,
  type ScopesFor,
  scopesNeeded,
  toolAddresses,
  verdictOn,
} from './tool-access.ts'

/** What the service says of its protected resources. */
interface ResourceMetadata {
  readonly metadataUrl: (resource: ToolAddress['resource']) => string
  readonly scopesOf: (resource: ToolAddress['resource']) => readonly string[]
}

export interface ToolEndpointPorts extends Omit<ToolParts, 'service'> {
  readonly baseUrl: string
  readonly serviceName: string
  readonly policy: Pick<AdmissionPolicy, 'allowedOrigins'> & { readonly bodyBytesMax: number }
  readonly resources: ResourceMetadata
  readonly adviseOnScopes: AdviseOnScopes
  readonly requestLimits: Limits
  readonly verifyBearer: VerifyBearer
}

/**
 * The tool endpoint (specification, Tool endpoint). Everything is decided here, in this order, before
 * the SDK sees a message: host and origin, preflight, token, method, body, scope. The token comes
 * before the method, so that a client which only probes with GET or HEAD is challenged too.
 */
export function toolEndpoint(ports: ToolEndpointPorts): Router {
  const { baseUrl, policy, resources } = ports
  const service = describeService(ports.serviceName, baseUrl)
  const parts = { ...ports, service, authGuide: once(ports.authGuide) }
  const admit = admitOnly(makeAdmission({ baseUrl, allowedOrigins: policy.allowedOrigins }))
  const endpoint: Endpoint = {
    ...ports,
    scopesFor: (audience) => resources.scopesOf(addressFor(audience).resource),
    load: once(async () => {
      const { accessOf, makeAnswerMessage } = await import('./answer-message.ts')
      return { accessOf, answerMessage: makeAnswerMessage(parts) }
    }),
  }
  const router = makeRouter()
  for (const address of toolAddresses) {
    router.all(address.path, admit, ...fromBrowsers, async (ctx) => {
      if (ctx.method === 'OPTIONS') return answerOptions(ctx)
      await serve(ctx, address, endpoint)
    })
  }
  return router
}

interface Endpoint extends ToolEndpointPorts {
  readonly scopesFor: ScopesFor
  /** The catalogue and the SDK, loaded with the first message to keep start-up fast. */
  readonly load: () => Promise<{
    readonly accessOf: typeof accessOf
    readonly answerMessage: ReturnType<typeof makeAnswerMessage>
  }>
}

async function serve(ctx: Context, address: ToolAddress, endpoint: Endpoint): Promise<void> {
  const caller = await letIn(ctx, address, endpoint)
  if (caller === 'refused') return
  if (ctx.method !== 'POST') {
    ctx.set('Allow', METHODS)
    throw methodNotAllowed('POST')
  }
  const message = await readMessage(ctx, endpoint.policy.bodyBytesMax)
  if (message) await answer(ctx, message, { caller, address }, endpoint)
}

/**
 * Who calls, if anybody; or refuses the request. A caller is a person at a site by one client and not
 * one token, so that a refresh buys no second allowance (MCP, tools: servers MUST rate limit
 * invocations). The address was counted before (platform/limits/charge-requests.ts).
 */
async function letIn(
  ctx: Context,
  address: ToolAddress,
  endpoint: Endpoint,
): Promise<ToolCall['caller'] | 'refused'> {
  ctx.vary('Authorization')
  const verdict = await verdictOf(ctx, endpoint.verifyBearer)
  if (verdict.kind === 'granted') {
    const exceeded = endpoint.requestLimits.take('toolsOfCaller', personKey(verdict.token))
    if (answerTooMany(ctx, exceeded, 'message')) return 'refused'
  }
  const refused = refusedAt(address, verdict, endpoint)
  if (!refused) return verdict.kind === 'granted' ? verdict.token : undefined
  const scopes = endpoint.resources.scopesOf(address.resource)
  await refuse(ctx, refused, protection(endpoint, address, scopes))
  return 'refused'
}

/**
 * Why a caller is not let in at an address, if so. A token that opens none of its tools is told at once:
 * a client that has connected with it would show the public tools and never ask again.
 */
function refusedAt(
  { audience }: ToolAddress,
  verdict: Verdict,
  { scopesFor }: Endpoint,
): Refused | undefined {
  if (verdict.kind === 'anonymous' && !audience) return undefined
  const judged = audience
    ? judgeAccess({ kind: 'audience', audience }, verdict, scopesFor)
    : verdict
  return judged.kind === 'granted' ? undefined : judged
}

const METHODS = 'POST, OPTIONS'

/** OPTIONS that is no preflight of a browser. */
function answerOptions(ctx: Context): void {
  ctx.status = 204
  ctx.set('Allow', METHODS)
}

async function answer(
  ctx: Context,
  message: Message,
  { caller, address }: Sender,
  endpoint: Endpoint,
): Promise<void> {
  const { accessOf, answerMessage } = await endpoint.load()
  const used = accessOf(message.value, address)
  if (used) {
    logFields(ctx).tool = used.name
    const { access } = used
    const verdict = judgeAccess(access, verdictOn(caller), endpoint.scopesFor)
    if (verdict.kind !== 'granted' && access.kind !== 'public') {
      const scopes = scopesNeeded(access, endpoint.scopesFor)
      return await refuse(ctx, verdict, protection(endpoint, address, scopes))
    }
    if (used.changesSite && caller) {
      // Changes count for the person at the site, whichever client asks for them.
      const key = personKey({ ...caller, clientId: '' })
      if (answerTooMany(ctx, endpoint.requestLimits.take('changes', key), 'message')) return
    }
  }
  await answerMessage(ctx, message, { caller, address })
}

function protection(
  { resources, adviseOnScopes }: Endpoint,
  { resource }: ToolAddress,
  scopes: readonly string[],
): Protection {
  return { resourceMetadataUrl: resources.metadataUrl(resource), adviseOnScopes, scopes }
}
