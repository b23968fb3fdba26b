/** Serves the tool endpoints: admits requests, enforces scopes and limits, and passes messages on. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import packageJson from '../../../package.json' with { type: 'json' }
import { readChangeAreas } from '../../directory/scopes/scope-uses.ts'
import { makePublicCourses } from '../../directory/sites/public-sites.ts'
import { methodNotAllowed, unknownAreas } from '../../platform/http/errors.ts'
import { changePaths, pathForChanges } from '../../platform/http/paths.ts'
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
import { once } from '../graphql/once.ts'
import type { Sender } from './answer-message.ts'
import { admitOnly, fromBrowsers, makeAdmission } from './host-and-origin.ts'
import { type Message, readMessage } from './message.ts'
import type { ToolAddress, ToolParts } from './tool.ts'
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
  readonly mcp: {
    readonly allowedOrigins: readonly string[]
    readonly bodyBytesMax: number
    readonly structuredResults: boolean
  }
}

/**
 * Creates the routes of the tool endpoints (specification, Tool endpoint). The endpoint checks a request in this order:
 * host and origin, token, request limit, audience, method, body, scopes, limit on changes. Where a token is required,
 * it is checked before the method, so clients that probe with GET or HEAD get a challenge.
 */
export function toolEndpoint(
  ports: EndpointPorts,
  { name, mcp: { allowedOrigins, bodyBytesMax, structuredResults } }: ToolService,
  apis: Pick<ToolParts, 'executeMember' | 'executeAdmin'>,
): Router {
  const { baseUrl, cursors, discovery, platform } = ports
  const { database, now } = platform
  const load = loadAtFirstMessage({
    ...{ ...apis, cursors, now, structuredResults },
    service: { name, version: packageJson.version, baseUrl },
    authGuide: once(discovery.authGuide),
    publicCourses: makePublicCourses(database),
  })
  const admit = admitOnly(makeAdmission({ baseUrl, allowedOrigins }))
  const endpoint: Endpoint = { ports, bodyBytesMax, load }
  const router = makeRouter()
  const serveAt = (pattern: string, addressOf: (areas: string) => ToolAddress) => {
    router.all(pattern, admit, ...fromBrowsers, async (ctx) => {
      // An OPTIONS request that is not a CORS preflight.
      if (ctx.method === 'OPTIONS') {
        ctx.set('Allow', METHODS)
        ctx.status = 204
      } else {
        await serveMcp(ctx, addressOf(ctx.params['areas'] ?? ''), endpoint)
      }
    })
  }
  for (const address of toolAddresses) serveAt(address.path, () => address)
  serveAt(changePaths.mcp, (text) => {
    const read = readChangeAreas(text, discovery.scopeUses.changeableAreas())
    if ('problem' in read) throw unknownAreas(read.problem)
    const { areas } = read
    return { ...addressFor('operator'), path: pathForChanges(areas), areas }
  })
  return router
}

interface Endpoint {
  readonly ports: EndpointPorts
  readonly bodyBytesMax: number
  readonly load: ReturnType<typeof loadAtFirstMessage>
}

/** Returns a function that loads the catalogue and the SDK once, at the first message, to keep start-up fast. */
function loadAtFirstMessage(parts: ToolParts) {
  return once(async () => {
    const { accessOf, makeAnswerMessage } = await import('./answer-message.ts')
    return { accessOf, answerMessage: makeAnswerMessage(parts) }
  })
}

async function serveMcp(ctx: Context, address: ToolAddress, endpoint: Endpoint): Promise<void> {
  const caller = await admitCaller(ctx, address, endpoint)
  if (caller === 'refused') return
  if (ctx.method !== 'POST') {
    ctx.set('Allow', METHODS)
    throw methodNotAllowed('POST')
  }
  const message = await readMessage(ctx, endpoint.bodyBytesMax)
  if (message) await handleMessage(ctx, message, { caller, address }, endpoint)
}

/** Creates the function that returns the scopes to request for an audience at an endpoint. */
function scopesAt({ areas }: ToolAddress, { discovery }: EndpointPorts): ScopesFor {
  return (audience) =>
    discovery.scopesOf(addressFor(audience).resource, audience === 'operator' ? areas : [])
}

/**
 * Checks the token, its audience and the request limit. Returns the caller, undefined if the request has no token, or
 * `refused` if it was rejected. Requests are counted per person, site and client, so a refreshed token does not reset
 * the count. MCP requires a rate limit on tool calls (section Tools).
 */
async function admitCaller(ctx: Context, address: ToolAddress, { ports }: Endpoint) {
  ctx.vary('Authorization')
  const verdict = await verdictOf(ctx, ports.verifyBearer)
  if (verdict.kind === 'granted') {
    const key = personKey(verdict.token)
    const exceeded = ports.platform.requestLimits.take('toolsOfCaller', key)
    if (answerTooMany(ctx, exceeded, 'message')) return 'refused'
  }
  const refused = refusedAt(address, verdict, scopesAt(address, ports))
  if (!refused) return verdict.kind === 'granted' ? verdict.token : undefined
  const scopes = ports.discovery.scopesOf(address.resource, address.areas)
  await refuse(ctx, refused, protection(ports, address, scopes))
  return 'refused'
}

/**
 * Returns the verdict that rejects a caller; undefined if the caller has access. An endpoint for an audience rejects a
 * token without any scope of the audience. Otherwise the client would stay connected with only the public tools, and
 * never request more scopes.
 */
function refusedAt({ audience }: ToolAddress, verdict: Verdict, scopesFor: ScopesFor) {
  if (verdict.kind === 'anonymous' && !audience) return undefined
  const judged = audience
    ? judgeToolAccess({ kind: 'audience', audience }, verdict, scopesFor)
    : verdict
  return judged.kind === 'granted' ? undefined : judged
}

const METHODS = 'POST, OPTIONS'

async function handleMessage(
  ctx: Context,
  message: Message,
  { caller, address }: Sender,
  { ports, load }: Endpoint,
): Promise<void> {
  const { accessOf, answerMessage } = await load()
  const used = accessOf(message.value, address)
  if (used) {
    logFields(ctx).tool = used.name
    const { access } = used
    const scopesFor = scopesAt(address, ports)
    const verdict = judgeToolAccess(access, verdictOn(caller), scopesFor)
    if (verdict.kind !== 'granted' && access.kind !== 'public') {
      const remedy = used.isTool && (await scopeRemedy(used.name, verdict, ports))
      if (remedy) return await answerMessage(ctx, message, { caller, address, remedy })
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

/**
 * Returns advice if the client cannot request the scopes of the tool; undefined if it can request them. The advice
 * becomes the result of the call, because some hosts do not pass a 403 response to the model (decision 23).
 */
async function scopeRemedy(tool: string, verdict: Refused, { adviseOnScopes }: EndpointPorts) {
  if (verdict.kind !== 'insufficient') return undefined
  const { token, needed, oneIsEnough } = verdict
  const wanted = { needed, held: token.scopes, oneIsEnough }
  const { remedy } = await adviseOnScopes(token.clientId, wanted)
  const scopes = needed.join(oneIsEnough ? ' or ' : ' and ')
  return remedy && `${tool} is not available to this client. It needs ${scopes}; ${remedy}.`
}

function protection(
  { discovery, adviseOnScopes }: EndpointPorts,
  { resource, areas }: ToolAddress,
  scopes: readonly string[],
): Protection {
  return { resourceMetadataUrl: discovery.metadataUrl(resource, areas), adviseOnScopes, scopes }
}
