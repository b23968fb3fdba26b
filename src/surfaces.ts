import { adminApiSurface } from './api/admin-api/surface.ts'
import { toolEndpoint } from './api/mcp/endpoint.ts'
import { memberSurface } from './api/member-api/surface.ts'
import type { Config } from './config/config.ts'
import { makePublicCourses } from './directory/sites/public-courses.ts'
import { makePublicSites } from './directory/sites/public-sites.ts'
import { interactionRoutes } from './oauth/interaction/routes.ts'
import type { Rings } from './oauth/keys/keys.ts'
import { registrationRoutes } from './oauth/registration/routes.ts'
import type { DemoPeople } from './ops/import/demo.ts'
import { accountRoutes } from './pages/account/routes.ts'
import { adminRoutes } from './pages/admin/routes.ts'
import { connectRoutes } from './pages/assistants/connect-routes.ts'
import type { makeParts } from './parts.ts'
import { makeShownAddress } from './platform/audit/shown-address.ts'
import { everyRequest } from './platform/http/every-request.ts'
import { inOrder } from './platform/http/in-order.ts'
import { httpRoutes } from './platform/http/routes.ts'
import { limitRequests } from './platform/limits/request-gate.ts'
import type { Watch } from './platform/monitoring/watch.ts'
import { forwardAuthRoute } from './resource/forward-auth/routes.ts'
import { introspectionRoute } from './resource/resource-server/introspection-route.ts'
import { userinfoRoute } from './resource/resource-server/userinfo-route.ts'
import { upstreamSurface } from './resource/upstream/surface.ts'
import { downloadRoutes } from './school/files/download-routes.ts'

type Parts = Awaited<ReturnType<typeof makeParts>> & {
  readonly demoPeople: DemoPeople
  readonly watch: Watch
  /** Of the audit trail. */
  readonly hearRequest: (line: Parameters<Watch['hear']>[0]) => void
}

/** The surfaces, and the order in which they see a request; the engine sees what is left of them. */
export function makeSurfaces(config: Config, parts: Parts) {
  const { baseUrl, trustProxy, service } = config
  const { keys, people, ownPages, grants, discovery, authorization, refusals } = parts
  const { watch } = parts
  const common = commonOf(config, parts)
  const { member, admin, tools } = apiSurfaces(config, common)
  const { conformance, findClient } = authorization
  const { findAllowed } = grants
  const resourceMetadataUrl = discovery.metadataUrl('origin')
  const tokenUse = { ...common, conformance, findClient, findAllowed, resourceMetadataUrl }
  const gate = limitRequests(parts.requestLimits)
  const upstreams = upstreamSurface({ ...tokenUse, upstreams: service.upstreams, ...watch })
  const hear = (line: Parameters<Watch['hear']>[0]) => {
    refusals.hear(line)
    watch.hear(line)
    parts.hearRequest(line)
  }
  const first = everyRequest({
    ...{ ...common, trustProxy, gate, hear, trace: watch.trace },
    shownAddress: makeShownAddress(service.audit.addresses),
  })
  // `answers` wraps everything behind it, because the engine's answers pass it on their way out.
  const before = [
    userinfoRoute(tokenUse),
    introspectionRoute(tokenUse),
    forwardAuthRoute(tokenUse),
    authorization.answers,
    httpRoutes({
      checkStores: parts.ping,
      conformance: config.conformance !== undefined,
      welcome: { baseUrl, demoPeople: parts.demoPeople },
    }),
    discovery.routes,
    registrationRoutes({ ...parts, policy: { ...config, ...service } }),
    authorization.requests,
    member.routes,
    admin.routes,
    tools,
  ]
  const after = [
    downloadRoutes(parts),
    connectRoutes(common),
    ownPages.signedInPages.followLogout(),
    ownPages.signedInPages.routes(),
    accountRoutes({ ...common, ...member }),
    ...adminRoutes({
      ...common,
      ...member,
      ...service,
      tryQuery: admin.tryQuery,
      seals: keys.secretRoot,
    }),
  ]

  /** Only what holds keys is made again for each ring: the engine, its documents and interactions, what is forwarded. */
  return (rings: Rings) => {
    const { engine, interactions } = authorization.withKeys(rings.tokens)
    const upstream = upstreams(rings.upstreams)
    const interaction = interactionRoutes({ ...parts, ...people, ...keys.secretRoot, interactions })
    const documents = discovery.keepEngineDocuments(upstream.published)
    for (const each of [...first, documents]) engine.use(each)
    engine.use(inOrder([...before, upstream.route, interaction, ...after]))
    return engine.callback()
  }
}

type Common = ReturnType<typeof commonOf>

function commonOf({ baseUrl, service, assistants }: Config, parts: Parts) {
  const { cursors } = parts.keys
  return { ...parts, ...parts.ownPages, baseUrl, serviceName: service.name, cursors, assistants }
}

/** What is served for tokens as GraphQL, and the tools that are made of it. */
function apiSurfaces({ service }: Config, common: Common) {
  const { discovery } = common
  const graphql = { ...common, schemaCacheSeconds: service.documents.cacheSeconds }
  const member = memberSurface({
    ...graphql,
    limits: service.memberApi,
    resourceMetadataUrl: discovery.metadataUrl('origin'),
  })
  const admin = adminApiSurface({
    ...graphql,
    limits: service.adminApi,
    resourceMetadataUrl: discovery.metadataUrl('admin'),
    askedScopes: () => discovery.scopesOf('mcpAdmin'),
  })
  const tools = toolEndpoint({
    ...common,
    policy: service.mcp,
    executeMember: member.executeMember,
    executeAdmin: admin.executeAdmin,
    publicCourses: makePublicCourses(common.database),
    publicSites: makePublicSites(common.database),
    authGuide: discovery.authGuide,
    resources: discovery,
  })
  return { member, admin, tools }
}
