import { paths } from '../http/paths.ts'
import { scopeNames } from '../scopes/catalogue.ts'
import type { ServiceFacts } from './facts.ts'

export type ProtectedResource = 'origin' | 'mcp' | 'graphql'

interface Row {
  /** What follows {base_url} in the resource identifier, and the well-known path in the document's. */
  readonly suffix: string
  readonly name: string
  readonly scopes: readonly string[]
}

const resources: Readonly<Record<ProtectedResource, Row>> = {
  // The machine catalogue of the origin: everything that a token of this service can carry.
  origin: { suffix: '', name: '', scopes: scopeNames() },
  // MCP clients request everything that they read here, and a registered client that asks for a
  // member scope is refused with invalid_scope. The scope of a tool comes with its challenge.
  mcp: { suffix: paths.mcp, name: ' tools', scopes: scopeNames('identity') },
  graphql: {
    suffix: paths.graphql,
    name: ' Member API',
    scopes: [...scopeNames('identity'), ...scopeNames('member')],
  },
}

export const protectedResources = Object.keys(resources) as ProtectedResource[]

/** RFC 9728 §2. The member names are those of the wire. */
export interface ProtectedResourceMetadata {
  readonly resource: string
  readonly authorization_servers: readonly string[]
  readonly scopes_supported: readonly string[]
  readonly bearer_methods_supported: readonly string[]
  readonly resource_name: string
  readonly resource_documentation: string
}

/** Where a resource's metadata stands: "inserting" the well-known path before its own (RFC 9728 §3.1). */
export function protectedResourcePath(resource: ProtectedResource): string {
  return `${paths.protectedResource}${resources[resource].suffix}`
}

/**
 * The metadata of one protected resource. Three documents for one audience, because RFC 9728 §3.3
 * makes a client drop a document whose `resource` is not the address it was found by.
 */
export function protectedResourceMetadata(
  { baseUrl, serviceName }: ServiceFacts,
  resource: ProtectedResource,
): ProtectedResourceMetadata {
  const { suffix, name, scopes } = resources[resource]
  return {
    resource: `${baseUrl}${suffix}`,
    authorization_servers: [baseUrl],
    scopes_supported: scopes,
    // RFC 6750 §2: a token in a form or a query would end in logs, and is not read from there.
    bearer_methods_supported: ['header'],
    resource_name: `${serviceName}${name}`,
    resource_documentation: `${baseUrl}${paths.authMd}`,
  }
}
