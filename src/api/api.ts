/** Composes the interfaces for programs: the Member API, the Admin API, tools and discovery documents. */

import type { Config } from '../config/config.ts'
import { makeScopeUses } from '../directory/scopes/scope-uses.ts'
import type { Oauth } from '../oauth/oauth.ts'
import { paths } from '../platform/http/paths.ts'
import type { Platform } from '../platform/platform.ts'
import type { Cursors } from '../platform/store/cursor.ts'
import type { Resource } from '../resource/resource.ts'
import { scopeUseOf } from '../resource/upstream/upstream-route.ts'
import type { School } from '../school/school.ts'
import { adminEndpoint } from './admin-api/endpoint.ts'
import { scopesOfAdminApi } from './admin-api/schema-text.ts'
import { makeDiscovery } from './discovery/discovery.ts'
import { toolEndpoint } from './mcp/endpoint.ts'
import { protocolVersions } from './mcp/tool.ts'
import { memberEndpoint } from './member-api/endpoint.ts'

export type Api = ReturnType<typeof makeApi>
export type Discovery = ReturnType<typeof makeServiceDiscovery>

/** Creates the discovery routes. The result also has `scopeUses`, the paths to which each scope grants access. */
export function makeServiceDiscovery({ baseUrl, service, integrations }: Config) {
  const adminApi = () => ({ address: paths.adminGraphql, scopes: scopesOfAdminApi() })
  const scopeUses = makeScopeUses(() => [[adminApi()], service.upstreams.map(scopeUseOf)].flat())
  return makeDiscovery({ baseUrl, service, integrations, scopeUses, protocolVersions })
}

export interface ApiPorts {
  readonly directory: Parameters<typeof adminEndpoint>[2]
  readonly oauth: Pick<Oauth, 'adviseOnScopes' | 'grants' | 'findClientName'>
  readonly resource: Pick<Resource, 'verifyBearer'>
  readonly school: Pick<School, 'files' | 'downloadAddress' | 'webhooks'>
  readonly discovery: Discovery
  readonly cursors: Cursors
}

export function makeApi({ baseUrl, service }: Config, platform: Platform, ports: ApiPorts) {
  const { directory, oauth, resource, school, discovery, cursors } = ports
  const shared = {
    baseUrl,
    platform,
    cursors,
    verifyBearer: resource.verifyBearer,
    adviseOnScopes: oauth.adviseOnScopes,
    discovery,
    schemaCacheSeconds: service.documents.cacheSeconds,
  }
  const member = memberEndpoint(shared, service.memberApi, school.downloadAddress)
  const { files, webhooks } = school
  const admin = adminEndpoint(shared, service, directory, { files, webhooks, oauth })
  const { executeMember } = member
  const { executeAdmin } = admin
  const tools = toolEndpoint(shared, service, { executeMember, executeAdmin })
  return { member, admin, tools }
}
