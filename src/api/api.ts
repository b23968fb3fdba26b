/**
 * The room of how programs reach the service: the Member API, the Admin API, the tool endpoint, and the documents by
 * which they find all of it.
 */

import type { Config } from '../config/config.ts'
import { makeScopeUses, type ScopeUses } from '../directory/scopes/scope-uses.ts'
import { makePublicCourses, makePublicSites } from '../directory/sites/public-sites.ts'
import type { Oauth } from '../oauth/oauth.ts'
import { paths } from '../platform/http/paths.ts'
import type { Platform } from '../platform/platform.ts'
import type { Cursors } from '../platform/store/cursor.ts'
import type { Resource } from '../resource/resource.ts'
import { openingOf } from '../resource/upstream/routes.ts'
import type { School } from '../school/school.ts'
import { scopesOfAdminApi } from './admin-api/published-schema.ts'
import { adminApiSurface } from './admin-api/surface.ts'
import { makeDiscovery } from './discovery/routes.ts'
import { toolEndpoint } from './mcp/endpoint.ts'
import { protocolVersions } from './mcp/tool.ts'
import { memberSurface } from './member-api/surface.ts'

export type Api = ReturnType<typeof makeApi>
export type Discovery = ReturnType<typeof makeServiceDiscovery>

/** What the scopes of operators open in this deployment; read with the first question. */
export function findScopeUses({ service }: Config): ScopeUses {
  const adminApi = () => ({ address: paths.adminGraphql, scopes: scopesOfAdminApi() })
  return makeScopeUses(() => [[adminApi()], service.upstreams.map(openingOf)].flat())
}

/** The documents by which the service describes itself. */
export function makeServiceDiscovery(
  { baseUrl, service, integrations }: Config,
  scopeUses: ScopeUses,
) {
  return makeDiscovery({ baseUrl, service, integrations, scopeUses, protocolVersions })
}

export interface ApiPorts {
  readonly oauth: Pick<Oauth, 'adviseOnScopes'>
  readonly resource: Pick<Resource, 'verifyBearer'>
  readonly school: Pick<School, 'files' | 'uploadLimits' | 'downloadAddress'>
  readonly discovery: Discovery
  /** Signs the cursors of lists. */
  readonly cursors: Cursors
}

export function makeApi({ baseUrl, service }: Config, platform: Platform, ports: ApiPorts) {
  const { database, requestLimits, now } = platform
  const { discovery, school, cursors } = ports
  const schemaCacheSeconds = service.documents.cacheSeconds
  const { adviseOnScopes } = ports.oauth
  const { verifyBearer } = ports.resource
  const member = memberSurface({
    database,
    cursors,
    downloadAddress: school.downloadAddress,
    verifyBearer,
    limits: service.memberApi,
    requestLimits,
    baseUrl,
    resourceMetadataUrl: discovery.metadataUrl('origin'),
    adviseOnScopes,
    schemaCacheSeconds,
    now,
  })
  const admin = adminApiSurface({
    database,
    cursors,
    files: school.files,
    uploadLimits: school.uploadLimits,
    verifyBearer,
    limits: service.adminApi,
    requestLimits,
    baseUrl,
    resourceMetadataUrl: discovery.metadataUrl('admin'),
    askedScopes: () => discovery.scopesOf('mcpAdmin'),
    adviseOnScopes,
    schemaCacheSeconds,
    now,
  })
  const tools = toolEndpoint({
    baseUrl,
    serviceName: service.name,
    policy: service.mcp,
    resources: discovery,
    authGuide: discovery.authGuide,
    adviseOnScopes,
    requestLimits,
    verifyBearer,
    executeMember: member.executeMember,
    executeAdmin: admin.executeAdmin,
    publicCourses: makePublicCourses(database),
    publicSites: makePublicSites(database),
    cursors,
    now,
  })
  return { member, admin, tools }
}
