/** Forward authentication: a proxy asks whether a request may pass, and who it is from. */

import type { Context, Middleware } from 'koa'

import type { FindAuthenticatingClient } from '../../oauth/clients/authenticate-client.ts'
import type { FindAllowed } from '../../oauth/grants/find-allowed.ts'
import { sendJsonError } from '../../platform/http/error-handler.ts'
import { forwardAuthFor, paths } from '../../platform/http/paths.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { answerUnkept } from '../../platform/http/router.ts'
import { answerTooMany, type Limits } from '../../platform/limits/limits.ts'
import type { GoodToken, JudgeToken } from '../resource-server/judge-token.ts'
import { type AdviseOnScopes, type Refused, refuse } from '../resource-server/protect.ts'
import { demandScopes, verdictOn } from '../resource-server/verdict.ts'
import { authenticateProxy, readProxyCredentials, refuseProxy } from './authenticate-proxy.ts'
import { claimsReleased, identityOf } from './identity-headers.ts'
import { invalid, judgeRequest, tokenFor } from './proxied-token.ts'
import { readWantedScopes } from './wanted-scopes.ts'

export interface ForwardAuthPorts {
  readonly resourceMetadataUrl: string
  readonly judgeToken: JudgeToken
  readonly findAllowed: FindAllowed
  readonly findClient: FindAuthenticatingClient
  readonly adviseOnScopes: AdviseOnScopes
  readonly requestLimits: Limits
  /** Hears of each use of a token. */
  readonly countUse: (grantId: string) => void
}

const SCOPE_HEADER = 'x-forward-auth-scope'

/**
 * 200 with who it is, or the 401 or 403 of a protected resource, which the proxy hands to its caller.
 * Every method is answered alike, because some proxies send that of the guarded request; a body is
 * never read, and pages of other origins are told nothing of CORS, which is for the application behind.
 */
export function forwardAuthRoute(ports: ForwardAuthPorts): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== paths.forwardAuth && !ctx.path.startsWith(forwardAuthFor)) return await next()
    // Where a router leaves the pattern that matched, for the log.
    Object.assign(ctx, { _matchedRoute: 'forward-auth' })
    await answerUnkept(ctx, async () => await answerProxy(ctx, ports))
  }
}

async function answerProxy(ctx: Context, ports: ForwardAuthPorts): Promise<void> {
  const { headersDistinct } = ctx.req
  const credentials = readProxyCredentials(ctx)
  if ('problem' in credentials) return refuseProxy(ctx, credentials.problem)
  const { requestLimits } = ports
  // The proxy need not have authenticated yet: only what it did after it had is counted.
  const exceeded = requestLimits.exceeded('guardedRequests', credentials.clientId)
  if (answerTooMany(ctx, exceeded, 'json')) return
  const judged = await judgeRequest(ctx, credentials, ports)
  const version = 'callerVersion' in judged ? judged.callerVersion : undefined
  const proxy = await authenticateProxy(ctx, { credentials, version }, ports)
  if (!proxy) return
  requestLimits.count('guardedRequests', proxy.clientId)
  const wanted = readWantedScopes({
    path: ctx.path,
    query: ctx.querystring,
    headers: headersDistinct[SCOPE_HEADER] ?? [],
  })
  if ('problem' in wanted) {
    const body = { error: 'invalid_scope', error_description: wanted.problem }
    return sendJsonError(ctx, 400, body)
  }
  await answerFor(ctx, { token: tokenFor(proxy, judged), scopes: wanted.scopes }, ports)
}

interface Asked {
  readonly token: GoodToken | Refused
  readonly scopes: readonly string[]
}

async function answerFor(ctx: Context, { token, scopes }: Asked, ports: ForwardAuthPorts) {
  const protection = { ...ports, scopes }
  if (token.kind !== 'good') return await refuse(ctx, token, protection)
  const { record, access } = token
  Object.assign(logFields(ctx), { client: record.clientId, person: record.accountId })
  const demanded = demandScopes(verdictOn(token), scopes)
  if (demanded.kind !== 'granted') return await refuse(ctx, demanded, protection)
  const allowed = await ports.findAllowed(access.grant)
  if (!allowed) {
    return await refuse(ctx, invalid('the grant does not say what it allows'), protection)
  }
  ports.countUse(access.grant.id)
  ctx.set(identityOf(token, claimsReleased(token, allowed)))
  ctx.status = 200
  ctx.body = ''
}
