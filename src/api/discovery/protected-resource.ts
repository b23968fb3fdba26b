import { findScope, scopeNames } from '../../directory/scopes/catalogue.ts'
import { proofAlgorithms } from '../../oauth/keys/proofs.ts'
import { paths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './facts.ts'

export type ProtectedResource = 'origin' | 'mcp' | 'mcpMember' | 'mcpAdmin' | 'graphql' | 'admin'

interface Row {
  /** What follows {base_url} in the resource identifier. */
  readonly suffix: string
  /** Where the document stands: the well-known path inserted before that (RFC 9728 §3.1). */
  readonly document: string
  readonly name: string
  readonly scopes: (scopeUses: ServiceFacts['scopeUses']) => string[]
}

const resources: Readonly<Record<ProtectedResource, Row>> = {
  // The machine catalogue of the origin: everything that a token of this service can carry.
  origin: {
    suffix: '',
    document: paths.protectedResource,
    name: '',
    scopes: () => scopeNames(),
  },
  // MCP clients request everything that they read here, and a registered client that asks for a
  // member scope is refused with invalid_scope. The scope of a tool comes with its challenge.
  mcp: {
    suffix: paths.mcp,
    document: paths.protectedResourceMcp,
    name: ' tools',
    scopes: () => scopeNames('identity'),
  },
  mcpMember: {
    suffix: paths.mcpMember,
    document: paths.protectedResourceMcpMember,
    name: ' tools for members',
    scopes: () => scopeNames('member'),
  },
  // Reading ones only: a client that nobody has reviewed would be refused whole if it asked to write.
  // The scope to write comes with the challenge of the tool that needs it.
  mcpAdmin: {
    suffix: paths.mcpAdmin,
    document: paths.protectedResourceMcpAdmin,
    name: ' tools for operators',
    scopes: (scopeUses) =>
      scopesOfAdminApi(scopeUses).filter((name) => findScope(name)?.access === 'read'),
  },
  graphql: {
    suffix: paths.graphql,
    document: paths.protectedResourceGraphql,
    name: ' Member API',
    scopes: () => scopeNames('member'),
  },
  admin: {
    suffix: paths.adminGraphql,
    document: paths.protectedResourceAdmin,
    name: ' Admin API',
    scopes: scopesOfAdminApi,
  },
}

/** The catalogue has areas that only the platform serves. */
function scopesOfAdminApi({ addressesOf }: ServiceFacts['scopeUses']): string[] {
  return scopeNames('operator').filter((name) => addressesOf(name).includes(paths.adminGraphql))
}

export const protectedResources = Object.keys(resources) as ProtectedResource[]

/** Where a resource's metadata stands. */
export function protectedResourcePath(resource: ProtectedResource): string {
  return resources[resource].document
}

/** What a client should ask for to use a resource, in the order of the catalogue. */
export function protectedResourceScopes(
  { scopeUses }: Pick<ServiceFacts, 'scopeUses'>,
  resource: ProtectedResource,
): string[] {
  return resources[resource].scopes(scopeUses)
}

/**
 * The metadata of one protected resource (RFC 9728 §2), in the names of the wire. One document each
 * for one audience, because RFC 9728 §3.3 makes a client drop a document whose `resource` is not the
 * address it was found by.
 */
export function protectedResourceMetadata(
  { baseUrl, service, scopeUses }: ServiceFacts,
  resource: ProtectedResource,
) {
  const { suffix, name } = resources[resource]
  return {
    resource: `${baseUrl}${suffix}`,
    authorization_servers: [baseUrl],
    scopes_supported: protectedResourceScopes({ scopeUses }, resource),
    // RFC 6750 §2: a token in a form or a query would end in logs, and is not read from there.
    bearer_methods_supported: ['header'],
    resource_name: `${service.name}${name}`,
    resource_documentation: `${baseUrl}${paths.authMd}`,
    ...(service.furtherPlans.dpop && { dpop_signing_alg_values_supported: [...proofAlgorithms] }),
  }
}
