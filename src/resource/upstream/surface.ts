import type { Middleware } from 'koa'
import type { JWK } from 'oidc-provider'

import { makeSignForwarded, publicKeys } from './forwarded-token.ts'
import { type UpstreamDependencies, upstreamRoute } from './routes.ts'

export interface UpstreamPorts extends Omit<UpstreamDependencies, 'sign'> {
  readonly now: () => number
}

/** The platform's own API; its route is made again for each ring of keys. */
export function upstreamSurface(ports: UpstreamPorts) {
  /** @param keys private keys of the ring for upstreams, the one that signs first */
  return (keys: readonly JWK[]): { readonly route: Middleware; readonly published: JWK[] } => {
    const sign = makeSignForwarded({ keys, issuer: ports.baseUrl, now: ports.now })
    return { route: upstreamRoute({ ...ports, sign }), published: publicKeys(keys) }
  }
}
