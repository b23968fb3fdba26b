import type { Configuration, KoaContextWithOIDC } from 'oidc-provider'

import { needsOperator, needsResource } from '../../directory/scopes/policy.ts'
import { resourceRequired, unknownResource } from '../../platform/http/errors.ts'

export type Resources = ReturnType<typeof makeResources>

/**
 * Implements resource indicators (RFC 8707). Every accepted spelling denotes the same audience, {base_url}. Accepted
 * are the origin, with or without a trailing slash, and the protected resources on it, whose URLs clients read from
 * metadata documents (design 3 and 5). Scheme and host are case-insensitive, and the default port is optional (RFC 3986
 * §6.2.2.1 and §6.2.3). All other characters are compared exactly, because a URL parser also accepts `http:host`, tabs,
 * and a host in hexadecimal.
 */
export function makeResources(baseUrl: string, protectedPaths: readonly string[]) {
  const { host, hostname, port, protocol } = new URL(baseUrl)
  const defaultPort = protocol === 'https:' ? ':443' : ':80'
  const origins = new Set([host, ...(port === '' ? [hostname + defaultPort] : [])])
  const paths = new Set(['', '/', ...protectedPaths])
  return {
    /** The audience of every bound token. */
    audience: baseUrl,
    /** Returns the audience that a `resource` parameter denotes; undefined for another origin. */
    canonical(resource: string): string | undefined {
      const [, scheme = '', authority = '', path = ''] =
        /^([a-z]+:)\/\/([!-.0-~]+)(.*)$/is.exec(resource) ?? []
      const known =
        scheme.toLowerCase() === protocol && origins.has(authority.toLowerCase()) && paths.has(path)
      return known ? baseUrl : undefined
    },
  }
}

/** Returns the resources that a token request names. @throws unknownResource for another origin */
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

/** Configures the engine's resource indicators: the default resource, and the format of its tokens. */
export function resourceIndicators(resources: Resources, accessTokenSeconds: number) {
  return {
    enabled: true,
    defaultResource: (ctx, _client, oneOf) => {
      if (oneOf) return resources.audience
      const scopes = String(ctx.oidc.params?.['scope'] ?? '').split(' ')
      if (needsResource(scopes)) throw resourceRequired(resources.audience)
      return needsOperator(scopes) ? resources.audience : undefined
    },
    // Codes with member scopes but without `resource` were rejected earlier (authorization-code.ts).
    useGrantedResource: () => true,
    getResourceServerInfo: (_ctx, resource, client) => {
      if (resources.canonical(resource) === undefined) throw unknownResource(resources.audience)
      return {
        // Includes identity scopes, so that `scope` in the response lists all granted scopes.
        scope: client.scope ?? '',
        audience: resources.audience,
        accessTokenFormat: 'opaque',
        accessTokenTTL: accessTokenSeconds,
      }
    },
  } satisfies NonNullable<Configuration['features']>['resourceIndicators']
}
