/** Serves the tool endpoints: admits requests, enforces scopes and limits, and passes messages on. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import packageJson from '../../../package.json' with { type: 'json' }
import { makePublicCourses, makePublicSites } from '../../directory/sites/public-sites.ts'
import { methodNotAllowed } from '../../platform/http/errors.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { personKey } from '../../platform/limits/limits.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import {
  type Protection,
  type Refused,
  refuse,
  verdictOf,
} from '../../resource/resource-server/protect.ts'
import type { Verdict } from '../../resource/resource-server/verify-bearer.ts'
import type { EndpointPorts } from '../graphql/endpoint.ts'
import { once } from '../graphql/graphql-api.ts'
import type { accessOf, makeAnswerMessage, Sender } from './answer-message.ts'
import { type AdmissionPolicy, admitOnly, fromBrowsers, makeAdmission } from './host-and-origin.ts'
import { type Message, readMessage } from './message.ts'
import type { ToolAddress, ToolCall, ToolParts } from './tool.ts'
import {
  addressFor,
  judgeToolAccess,
  type ScopesFor,
  scopesNeeded,
  toolAddresses,
  verdictOn,
} from './tool-access.ts'

interface ToolService {
  readonly name: string
  readonly policy: Pick<AdmissionPolicy, 'allowedOrigins'> & {
    readonly bodyBytesMax: number
    readonly structuredResults: boolean
  }
}

interface Apis {
  readonly member: Pick<ToolParts, 'executeMember'>
  readonly admin: Pick<ToolParts, 'executeAdmin'>
}

/**
 * Creates the routes of the tool endpoints (specification, Tool endpoint). Before a message is handled, the endpoint
 * checks, in this order: host and origin, token, request limit, audience, method, body, scopes, limit on changes. Where
 * a token is required, it is checked before the method, so clients that probe with GET or HEAD get a challenge.
 */
export function toolEndpoint(ports: EndpointPorts, service: ToolService, apis: Apis): Router {
  const { baseUrl, cursors, discovery, platform } = ports
  const { bodyBytesMax, allowedOrigins } = service.policy
  const parts: ToolParts = {
    service: { name: service.name, version: packageJson.version, baseUrl },
    authGuide: once(discovery.authGuide),
    publicSites: makePublicSites(platform.database),
    publicCourses: makePublicCourses(platform.database),
    executeMember: apis.member.executeMember,
    executeAdmin: apis.admin.executeAdmin,
    cursors,
    now: platform.now,
    structuredResults: service.policy.structuredResults,
  }
  const admit = admitOnly(makeAdmission({ baseUrl, allowedOrigins }))
  const endpoint: Endpoint = {
    ports,
    bodyBytesMax,
    scopesFor: (audience) => discovery.scopesOf(addressFor(audience).resource),
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

interface Endpoint {
  readonly ports: EndpointPorts
  readonly bodyBytesMax: number
  readonly scopesFor: ScopesFor
  /** Loads the catalogue and the SDK at the first message, to keep start-up fast. */
  readonly load: () => Promise<{
    readonly accessOf: typeof accessOf
    readonly answerMessage: ReturnType<typeof makeAnswerMessage>
  }>
}

async function serve(ctx: Context, address: ToolAddress, endpoint: Endpoint): Promise<void> {
  const caller = await authenticate(ctx, address, endpoint)
  if (caller === 'refused') return
  if (ctx.method !== 'POST') {
    ctx.set('Allow', METHODS)
    throw methodNotAllowed('POST')
  }
  const message = await readMessage(ctx, endpoint.bodyBytesMax)
  if (message) await answer(ctx, message, { caller, address }, endpoint)
}

/**
 * Checks the token, its audience and the request limit. Returns the caller, undefined without a token, or `refused` if
 * the request was rejected. The limit counts per person, site and client rather than per token, so a refresh does not
 * reset the count (MCP, tools: servers MUST rate limit invocations).
 */
async function authenticate(
  ctx: Context,
  address: ToolAddress,
  { ports, scopesFor }: Endpoint,
): Promise<ToolCall['caller'] | 'refused'> {
  ctx.vary('Authorization')
  const verdict = await verdictOf(ctx, ports.verifyBearer)
  if (verdict.kind === 'granted') {
    const key = personKey(verdict.token)
    const exceeded = ports.platform.requestLimits.take('toolsOfCaller', key)
    if (answerTooMany(ctx, exceeded, 'message')) return 'refused'
  }
  const refused = refusedAt(address, verdict, scopesFor)
  if (!refused) return verdict.kind === 'granted' ? verdict.token : undefined
  const scopes = ports.discovery.scopesOf(address.resource)
  await refuse(ctx, refused, protection(ports, address, scopes))
  return 'refused'
}

/**
 * Returns the verdict on a caller without access; otherwise undefined. An endpoint for an audience rejects a token
 * without any scope of the audience. Otherwise the client would stay connected with only the public tools, and never
 * request more scopes.
 */
function refusedAt(
  { audience }: ToolAddress,
  verdict: Verdict,
  scopesFor: ScopesFor,
): Refused | undefined {
  if (verdict.kind === 'anonymous' && !audience) return undefined
  const judged = audience
    ? judgeToolAccess({ kind: 'audience', audience }, verdict, scopesFor)
    : verdict
  return judged.kind === 'granted' ? undefined : judged
}

const METHODS = 'POST, OPTIONS'

/** Responds to OPTIONS requests that are not CORS preflights. */
function answerOptions(ctx: Context): void {
  ctx.status = 204
  ctx.set('Allow', METHODS)
}

async function answer(
  ctx: Context,
  message: Message,
  { caller, address }: Sender,
  { ports, scopesFor, load }: Endpoint,
): Promise<void> {
  const { accessOf, answerMessage } = await load()
  const used = accessOf(message.value, address)
  if (used) {
    logFields(ctx).tool = used.name
    const { access } = used
    const verdict = judgeToolAccess(access, verdictOn(caller), scopesFor)
    if (verdict.kind !== 'granted' && access.kind !== 'public') {
      const scopes = scopesNeeded(access, scopesFor)
      return await refuse(ctx, verdict, protection(ports, address, scopes))
    }
    if (used.changesSite && caller) {
      // Changes are counted per person and site, across all clients.
      const key = personKey({ ...caller, clientId: '' })
      const exceeded = ports.platform.requestLimits.take('changes', key)
      if (answerTooMany(ctx, exceeded, 'message')) return
    }
  }
  await answerMessage(ctx, message, { caller, address })
}

function protection(
  { discovery, adviseOnScopes }: EndpointPorts,
  { resource }: ToolAddress,
  scopes: readonly string[],
): Protection {
  return { resourceMetadataUrl: discovery.metadataUrl(resource), adviseOnScopes, scopes }
}
