/** Forwards requests below /admin/api/ to the platform's own API. */

import type { Context, Middleware } from 'koa'
import type { JWK } from 'oidc-provider'

import type { ServicePolicy } from '../../config/config.ts'
import { openCors } from '../../platform/http/cors.ts'
import { methodNotAllowed, nonCanonicalPath, nothingMapped } from '../../platform/http/errors.ts'
import { addressOf, paths } from '../../platform/http/paths.ts'
import { logFields, nameRoute } from '../../platform/http/request-log.ts'
import { answerUncached } from '../../platform/http/router.ts'
import { personKey } from '../../platform/limits/limits.ts'
import { refuseTooMany } from '../../platform/limits/too-many-requests.ts'
import { refuse, verdictOf } from '../resource-server/protect.ts'
import { demandScopes, type ResourceParts } from '../resource-server/verify-bearer.ts'
import { forward } from './forward.ts'
import { makeSignForwarded, publicKeys } from './forwarded-token.ts'
import { isUnambiguousPath } from './unambiguous-path.ts'

const reading: readonly string[] = ['GET', 'HEAD']
const writing: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']
const methods = [...reading, ...writing]

const prefix = addressOf(paths.upstream, { path: '' })
const withoutSlash = prefix.slice(0, -1)

/** A mapped part of the platform's own API, and the scopes for it. */
export type Upstream = ServicePolicy['upstreams'][number]

/** Returns the path of a mapping and the scopes that grant access to it. */
export function scopeUseOf({ path, readScope, writeScope }: Upstream) {
  const scopes = [readScope, writeScope].flatMap((scope) => scope ?? [])
  return { address: `${prefix}${path}`, scopes }
}

/**
 * Returns a function that creates the route `/admin/api/…` and the list of public keys. The first key signs the tokens
 * of forwarded requests. The route checks the caller's token and scope as the Admin API does, and forwards the request
 * to the mapped URL (docs/how-to/serve-your-own-api.md). Errors from this service itself are JSON.
 */
export function makeUpstreamSurface(parts: ResourceParts, upstreams: readonly Upstream[]) {
  return (keys: readonly JWK[]): { readonly route: Middleware; readonly published: JWK[] } => {
    const sign = makeSignForwarded(keys[0], parts.baseUrl, parts.platform.now)
    const cors = openCors(methods)
    const route: Middleware = async (ctx, next) => {
      const { path } = ctx
      if (!path.startsWith(prefix) && path !== withoutSlash) return await next()
      nameRoute(ctx, paths.upstream)
      // In a browser, responses from an upstream must not act on behalf of this origin.
      ctx.set('Content-Security-Policy', 'sandbox')
      await answerUncached(ctx, () => cors(ctx, () => forwardRequest(ctx, parts, upstreams, sign)))
    }
    return { route, published: publicKeys(keys) }
  }
}

async function forwardRequest(
  ctx: Context,
  { platform, oauth, verdicts, resourceMetadataUrl, baseUrl }: ResourceParts,
  upstreams: readonly Upstream[],
  sign: ReturnType<typeof makeSignForwarded>,
): Promise<void> {
  if (ctx.path === withoutSlash) throw nothingMapped()
  const rest = ctx.path.slice(prefix.length)
  if (!isUnambiguousPath(rest)) throw nonCanonicalPath()
  const upstream = upstreams.find(({ path }) => `${rest}/`.startsWith(`${path}/`))
  if (!upstream) throw nothingMapped()
  logFields(ctx).upstream = upstream.path
  const scopes = [scopeFor(ctx, upstream)]
  const verdict = demandScopes(await verdictOf(ctx, verdicts.verifyBearer), scopes)
  if (verdict.kind !== 'granted') {
    const { adviseOnScopes } = oauth
    return await refuse(ctx, verdict, { resourceMetadataUrl, adviseOnScopes, scopes })
  }
  refuseTooMany(ctx, platform.requestLimits.take('forwarded', personKey(verdict.token)))
  const { address, answerWithinSeconds, bodyBytesMax } = upstream
  const wanted = {
    address: address + rest.slice(upstream.path.length),
    token: await sign(verdict.token, upstream.audience, scopeUseOf(upstream).scopes),
    baseUrl,
    answerWithinMs: answerWithinSeconds * 1000,
    bodyBytesMax,
  }
  const { host } = new URL(address)
  await platform.watch.outgoing(host, (headers) => forward(ctx, { ...wanted, headers }))
}

/** Returns the scope that the method needs. @throws methodNotAllowed for a method without a mapped scope */
function scopeFor(ctx: Context, { readScope, writeScope }: Upstream): string {
  const scope = reading.includes(ctx.method) ? readScope : writeScope
  if (scope !== undefined && methods.includes(ctx.method)) return scope
  const allowed = [readScope ? reading : [], writeScope ? writing : []].flat().join(', ')
  ctx.set('Allow', allowed)
  throw methodNotAllowed(allowed)
}
