import type { Configuration, KoaContextWithOIDC } from 'oidc-provider'

import { needsOperator, needsResource } from '../../directory/scopes/policy.ts'
import { resourceRequired, unknownResource } from '../../platform/http/errors.ts'

/**
 * Resource indicators (RFC 8707). Every accepted spelling denotes one audience, {base_url}: the
 * origin with or without a slash, and the protected resources on it, which clients name because
 * their metadata documents do (design 3 and 5). Scheme and host may be in any case and the default
 * port may be named (RFC 3986 §6.2.2.1 and §6.2.3); every other character is compared, because a URL
 * parser would also take `http:host`, tabs, or a host in hexadecimal for the same address.
 */
export interface Resources {
  /** The audience of every bound token. */
  readonly audience: string
  /** The audience that a `resource` parameter denotes, or nothing when it is not of this origin. */
  canonical(resource: string): string | undefined
}

export function makeResources(baseUrl: string, protectedPaths: readonly string[]): Resources {
  const { host, hostname, port, protocol } = new URL(baseUrl)
  const defaultPort = protocol === 'https:' ? ':443' : ':80'
  const origins = new Set([host, ...(port === '' ? [hostname + defaultPort] : [])])
  const paths = new Set(['', '/', ...protectedPaths])
  return {
    audience: baseUrl,
    canonical(resource) {
      const [, scheme = '', authority = '', path = ''] =
        /^([a-z]+:)\/\/([!-.0-~]+)(.*)$/is.exec(resource) ?? []
      const known =
        scheme.toLowerCase() === protocol && origins.has(authority.toLowerCase()) && paths.has(path)
      return known ? baseUrl : undefined
    },
  }
}

/** The resources that a token request names; one of another origin is refused. */
export function namedResources(
  { params }: KoaContextWithOIDC['oidc'],
  resources: Resources,
): string[] {
  const named = [params?.['resource'] ?? []].flat().map(String)
  if (named.some((resource) => resources.canonical(resource) === undefined)) {
    throw unknownResource(resources.audience)
  }
  return named
}

/** The engine's feature: which resource a request is for, and what a token of it looks like. */
export function resourceIndicators(resources: Resources, accessTokenSeconds: number) {
  return {
    enabled: true,
    defaultResource: (ctx, _client, oneOf) => {
      if (oneOf) return resources.audience
      const scopes = String(ctx.oidc.params?.['scope'] ?? '').split(' ')
      if (needsResource(scopes)) throw resourceRequired(resources.audience)
      return needsOperator(scopes) ? resources.audience : undefined
    },
    // A member code without `resource` was refused before this (authorization-code.ts).
    useGrantedResource: () => true,
    getResourceServerInfo: (_ctx, resource, client) => {
      if (resources.canonical(resource) === undefined) throw unknownResource(resources.audience)
      return {
        // Identity scopes stand here too, so that the answer's `scope` names all that was granted.
        scope: client.scope ?? '',
        audience: resources.audience,
        accessTokenFormat: 'opaque',
        accessTokenTTL: accessTokenSeconds,
      }
    },
  } satisfies NonNullable<Configuration['features']>['resourceIndicators']
}
