import type { Config, Integration } from '../../config/config.ts'
import { findScope, scopeNames, writeScope } from '../../directory/scopes/catalogue.ts'
import type { ScopeUses } from '../../directory/scopes/scope-uses.ts'
import { proofAlgorithms } from '../../oauth/clients/proofs.ts'
import { pathForChanges, paths } from '../../platform/http/paths.ts'

/** The facts about the service that discovery documents publish. */
export interface ServiceFacts extends Pick<Config, 'baseUrl' | 'service'> {
  readonly integrations: readonly Pick<Integration, 'client_name' | 'other_names'>[]
  readonly scopeUses: Pick<ScopeUses, 'addressesOf' | 'changeableAreas'>
  /** The supported revisions of the Model Context Protocol, newest first. */
  readonly protocolVersions: readonly string[]
}

export type ProtectedResource = 'origin' | 'mcp' | 'mcpMember' | 'mcpAdmin' | 'graphql' | 'admin'

type Row = readonly [
  /** The path of the resource identifier, relative to {base_url}. */
  suffix: string,
  name: string,
  scopes: (scopeUses: ServiceFacts['scopeUses']) => string[],
]

const resources: Readonly<Record<ProtectedResource, Row>> = {
  origin: ['', '', () => scopeNames()],
  // Identity scopes only: many MCP clients request all listed scopes, and get `invalid_scope` if one of them is not
  // allowed. Challenges name the scopes of the tools.
  mcp: [paths.mcp, ' tools', () => scopeNames('identity')],
  mcpMember: [paths.mcpMember, ' tools for members', () => scopeNames('member')],
  // Read scopes only: if an unreviewed client requests a write scope, its whole request is rejected. If the endpoint
  // path contains areas, their write scopes are added. Challenges name the scopes of the tools.
  mcpAdmin: [
    paths.mcpAdmin,
    ' tools for operators',
    (scopeUses) =>
      servedAdminScopes(scopeUses).filter((name) => findScope(name)?.access === 'read'),
  ],
  graphql: [paths.graphql, ' Member API', () => scopeNames('member')],
  admin: [paths.adminGraphql, ' Admin API', servedAdminScopes],
}

/** Returns the scopes of the Admin API. Other operator scopes are for the platform's own API only. */
function servedAdminScopes({ addressesOf }: ServiceFacts['scopeUses']): string[] {
  return scopeNames('operator').filter((name) => addressesOf(name).includes(paths.adminGraphql))
}

export const protectedResources = Object.keys(resources) as ProtectedResource[]

/** Returns the path of a resource's metadata (RFC 9728 §3.1). */
export function protectedResourcePath(resource: ProtectedResource, areas: Areas = []): string {
  return `${paths.protectedResource}${suffixOf(resource, areas)}`
}

/** The changeable areas listed in the path of the operator endpoint (design 38); empty for other endpoints. */
export type Areas = readonly string[]

function suffixOf(resource: ProtectedResource, areas: Areas): string {
  return areas.length > 0 ? pathForChanges(areas) : resources[resource][0]
}

/** Returns the scopes in a resource's metadata. The write scopes of the areas come last. */
export function protectedResourceScopes(
  { scopeUses }: Pick<ServiceFacts, 'scopeUses'>,
  resource: ProtectedResource,
  areas: Areas = [],
): string[] {
  const [, , scopes] = resources[resource]
  return [...scopes(scopeUses), ...areas.map(writeScope)]
}

/** Creates a resource's metadata (RFC 9728 §2). Clients reject it if `resource` is not the expected URL (§3.3). */
export function protectedResourceMetadata(
  { baseUrl, service, scopeUses }: ServiceFacts,
  resource: ProtectedResource,
  areas: Areas = [],
) {
  const [, name] = resources[resource]
  return {
    resource: `${baseUrl}${suffixOf(resource, areas)}`,
    authorization_servers: [baseUrl],
    scopes_supported: protectedResourceScopes({ scopeUses }, resource, areas),
    // List neither `body` nor `query`, because RFC 6750 §2 discourages both.
    bearer_methods_supported: ['header'],
    resource_name: `${service.name}${name}`,
    resource_documentation: `${baseUrl}${paths.authMd}`,
    ...(service.furtherPlans.dpop && { dpop_signing_alg_values_supported: [...proofAlgorithms] }),
  }
}
