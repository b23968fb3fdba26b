/** What the platform serves itself, below /admin/api/: who may go there, and what goes in and comes out. What stands there is the platform's. */

import type { Context, Middleware } from 'koa'
import type { JWK } from 'oidc-provider'

import { openCors } from '../../platform/http/cors.ts'
import { methodNotAllowed, nonCanonicalPath, nothingMapped } from '../../platform/http/errors.ts'
import { addressOf, paths } from '../../platform/http/paths.ts'
import { logFields, nameRoute } from '../../platform/http/request-log.ts'
import { answerUncached } from '../../platform/http/router.ts'
import { type Limits, personKey } from '../../platform/limits/limits.ts'
import { refuseTooMany } from '../../platform/limits/too-many-requests.ts'
import {
  type AdviseOnScopes,
  type Protection,
  refuse,
  verdictOf,
} from '../resource-server/protect.ts'
import { demandScopes, type Granted, type VerifyBearer } from '../resource-server/verify-bearer.ts'
import { forward } from './forward.ts'
import { makeSignForwarded, publicKeys, type SignForwarded } from './forwarded-token.ts'
import { hasOneSpelling } from './spelling.ts'

const reading: readonly string[] = ['GET', 'HEAD']
const writing: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']

const prefix = addressOf(paths.upstream, { path: '' })
const withoutSlash = prefix.slice(0, -1)

/** A part of the platform's own API, and what opens it. */
export interface Upstream {
  /** What follows /admin/api/. */
  readonly path: string
  /** Without one the methods that read are not served. */
  readonly readScope?: string | undefined
  /** Without one the methods that write are not served. */
  readonly writeScope?: string | undefined
  /** What stands in place of {base_url}/admin/api/{path}. */
  readonly address: string
  readonly audience: string
  readonly answerWithinSeconds: number
  readonly bodyBytesMax: number
}

/** Where a mapping serves something, and the scopes that open it. */
export function openingOf({ path, readScope, writeScope }: Upstream) {
  const scopes = [readScope, writeScope].flatMap((scope) => scope ?? [])
  return { address: `${prefix}${path}`, scopes }
}

interface UpstreamDependencies {
  readonly upstreams: readonly Upstream[]
  /** Signs the token that goes to an upstream in place of the caller's. */
  readonly sign: SignForwarded
  readonly verifyBearer: VerifyBearer
  readonly requestLimits: Limits
  readonly resourceMetadataUrl: string
  readonly adviseOnScopes: AdviseOnScopes
  readonly baseUrl: string
  /** Makes a request to another service, with headers of its own where somebody watches. */
  readonly outgoing: <Result>(
    host: string,
    send: (headers: Readonly<Record<string, string>>) => Promise<Result>,
  ) => Promise<Result>
}

/** The platform's own API; its route is made again for each ring of keys. */
export function upstreamSurface(ports: Omit<UpstreamDependencies, 'sign'>, now: () => number) {
  /** @param keys private keys of the ring for upstreams, the one that signs first */
  return (keys: readonly JWK[]): { readonly route: Middleware; readonly published: JWK[] } => {
    const sign = makeSignForwarded({ keys, issuer: ports.baseUrl, now })
    return { route: upstreamRoute({ ...ports, sign }), published: publicKeys(keys) }
  }
}

/**
 * `/admin/api/…`: the token is verified and its scope checked as at the Admin API, and the request goes
 * on to the address of its mapping (docs/how-to/serve-your-own-api.md). Every error is JSON, whoever asks.
 */
function upstreamRoute(dependencies: UpstreamDependencies): Middleware {
  const cors = openCors([...reading, ...writing])
  return async (ctx, next) => {
    const { path } = ctx
    if (!path.startsWith(prefix) && path !== withoutSlash) return await next()
    nameRoute(ctx, paths.upstream)
    // Whatever comes from there must not act in the name of this origin in a browser.
    ctx.set('Content-Security-Policy', 'sandbox')
    await answerUncached(ctx, () => cors(ctx, () => answer(ctx, dependencies)))
  }
}

async function answer(ctx: Context, dependencies: UpstreamDependencies): Promise<void> {
  if (ctx.path === withoutSlash) throw nothingMapped()
  const rest = ctx.path.slice(prefix.length)
  if (!hasOneSpelling(rest)) throw nonCanonicalPath()
  const upstream = dependencies.upstreams.find(({ path }) => `${rest}/`.startsWith(`${path}/`))
  if (!upstream) throw nothingMapped()
  logFields(ctx).upstream = upstream.path
  const needed = scopeFor(ctx, upstream)
  const verdict = demandScopes(await verdictOf(ctx, dependencies.verifyBearer), [needed])
  if (verdict.kind !== 'granted')
    return await refuse(ctx, verdict, protectionOf(dependencies, needed))
  refuseTooMany(ctx, dependencies.requestLimits.take('forwarded', personKey(verdict.token)))
  const { address, answerWithinSeconds, bodyBytesMax } = upstream
  const wanted = {
    address: address + rest.slice(upstream.path.length),
    token: await signedToken(verdict.token, upstream, dependencies),
    baseUrl: dependencies.baseUrl,
    answerWithinMs: answerWithinSeconds * 1000,
    bodyBytesMax,
  }
  const { host } = new URL(address)
  await dependencies.outgoing(host, (headers) => forward(ctx, { ...wanted, headers }))
}

/** The scope that the method needs. Where none is mapped for it, it is no method of this address. */
function scopeFor(ctx: Context, { readScope, writeScope }: Upstream): string {
  const scopes = [
    ...(readScope === undefined ? [] : reading.map((method) => [method, readScope] as const)),
    ...(writeScope === undefined ? [] : writing.map((method) => [method, writeScope] as const)),
  ]
  const [, scope] = scopes.find(([method]) => method === ctx.method) ?? []
  if (scope !== undefined) return scope
  const allowed = scopes.map(([method]) => method).join(', ')
  ctx.set('Allow', allowed)
  throw methodNotAllowed(allowed)
}

function protectionOf(
  { resourceMetadataUrl, adviseOnScopes }: UpstreamDependencies,
  scope: string,
): Protection {
  return { resourceMetadataUrl, adviseOnScopes, scopes: [scope] }
}

async function signedToken(
  { personId, siteId, roles, scopes, clientId }: Granted['token'],
  upstream: Upstream,
  { sign }: UpstreamDependencies,
): Promise<string> {
  // Operator scopes are never without a site.
  if (siteId === undefined) throw new Error('a token without a site came through')
  return await sign({
    audience: upstream.audience,
    personId,
    siteId,
    roles,
    clientId,
    scopes: openingOf(upstream).scopes.filter((scope) => scopes.includes(scope)),
  })
}
