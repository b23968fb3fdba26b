import type { Configuration, KoaContextWithOIDC } from 'oidc-provider'

import { needsOperator, needsResource } from '../../directory/scopes/policy.ts'
import { readChangeAreas, type ScopeUses } from '../../directory/scopes/scope-uses.ts'
import { resourceRequired, unknownResource } from '../../platform/http/errors.ts'
import { changePaths, paths } from '../../platform/http/paths.ts'

export type Resources = ReturnType<typeof makeResources>

/**
 * Defines the values of `resource` that clients may send (RFC 8707). These are the origin, with or without a trailing
 * slash, and the URLs of the protected resources at this origin (design 3, 5 and 38). All of them denote one audience,
 * {base_url}. Scheme and host are case-insensitive, and the default port is optional (RFC 3986 §6.2.2.1 and §6.2.3).
 * Other characters are compared exactly, because a URL parser would also accept `http:host`, tabs, and a host in
 * hexadecimal.
 */
export function makeResources(baseUrl: string, changeableAreas: ScopeUses['changeableAreas']) {
  const { host, hostname, port, protocol } = new URL(baseUrl)
  const defaultPort = protocol === 'https:' ? ':443' : ':80'
  const origins = new Set([host, ...(port === '' ? [hostname + defaultPort] : [])])
  const { mcp, mcpMember, mcpAdmin, graphql, adminGraphql } = paths
  const known = new Set(['', '/', mcp, mcpMember, mcpAdmin, graphql, adminGraphql])
  const [changePrefix = ''] = changePaths.mcp.split(':')
  const isKnown = (path: string) =>
    known.has(path) ||
    (path.startsWith(changePrefix) &&
      'areas' in readChangeAreas(path.slice(changePrefix.length), changeableAreas()))
  return {
    /** The audience of every access token for a resource. */
    audience: baseUrl,
    /** Returns the audience if a client may send this `resource`; otherwise undefined. */
    canonical(resource: string): string | undefined {
      const [, scheme = '', authority = '', path = ''] =
        /^([a-z]+:)\/\/([!-.0-~]+)(.*)$/is.exec(resource) ?? []
      const isOurs = scheme.toLowerCase() === protocol && origins.has(authority.toLowerCase())
      return isOurs && isKnown(path) ? baseUrl : undefined
    },
  }
}

/** Returns the resources that a token request names. @throws unknownResource if one of them is not ours */
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

/** Configures the engine's resource indicators: the default resource, and the format of access tokens. */
export function resourceIndicators(resources: Resources) {
  return {
    enabled: true,
    defaultResource: (ctx, _client, oneOf) => {
      if (oneOf) return resources.audience
      const scopes = String(ctx.oidc.params?.['scope'] ?? '').split(' ')
      if (needsResource(scopes)) throw resourceRequired(resources.audience)
      return needsOperator(scopes) ? resources.audience : undefined
    },
    // A token request that omits a required `resource` was rejected earlier (authorization-code.ts).
    useGrantedResource: () => true,
    getResourceServerInfo: (_ctx, resource, client) => {
      if (resources.canonical(resource) === undefined) throw unknownResource(resources.audience)
      return {
        // Include identity scopes, because `scope` in the response must list all granted scopes.
        scope: client.scope ?? '',
        audience: resources.audience,
        accessTokenFormat: 'opaque',
      }
    },
  } satisfies NonNullable<Configuration['features']>['resourceIndicators']
}
