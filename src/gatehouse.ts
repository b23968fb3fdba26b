import type { Cluster, Redis } from 'ioredis'
import type Router from 'koa-router'
import type { Provider } from 'oidc-provider'
import type { Logger } from 'pino'

import packageJson from '../package.json' with { type: 'json' }
import type { DemoPerson } from '../views/welcome.ts'
import { noteRefusal, type PageRecords, usePages } from './app-pages.ts'
import { makeAuthorizationServer } from './authorization/authorization-server.ts'
import type { ConformanceProfile } from './authorization/conformance-profile.ts'
import { engineAnswers } from './authorization/engine-answers.ts'
import { type Clients, makeClients } from './clients/find-client.ts'
import type { Config } from './config/config.ts'
import { grantLifetimeSeconds } from './config/lifetimes.ts'
import { authMd } from './discovery/auth-md.ts'
import { cacheableJson } from './discovery/cacheable.ts'
import type { ServiceFacts } from './discovery/facts.ts'
import { protectedResourcePath } from './discovery/protected-resource.ts'
import { discoveryRoutes } from './discovery/routes.ts'
import { makeFindAccess, makeFindGrant } from './grants/access.ts'
import { makeGrantStore } from './grants/grant-store.ts'
import { type MemberApi, makeMemberApi } from './graphql/member-api.ts'
import { memberRoutes } from './graphql/routes.ts'
import { canonicalPath } from './http/canonical-path.ts'
import { errorHandler } from './http/error-handler.ts'
import { nameOfService } from './http/page.ts'
import { enginePages, paths } from './http/paths.ts'
import { pinnedHost } from './http/pinned-host.ts'
import { requestLog } from './http/request-log.ts'
import { makeRouter } from './http/router.ts'
import { httpRoutes } from './http/routes.ts'
import { securityHeaders } from './http/security-headers.ts'
import { guardStorage } from './http/storage-guard.ts'
import { interactionRoutes } from './interaction/routes.ts'
import type { SecretRoot } from './keys/secret-root.ts'
import type { KeyRing } from './keys/signing-keys.ts'
import { makeToolEndpoint } from './mcp/endpoint.ts'
import { makeMemberData } from './member/member-data.ts'
import { type DocumentClients, makeDocumentClients } from './metadata-documents/document-clients.ts'
import { makeAttemptLimits } from './people/attempt-limits.ts'
import { makeSignIn } from './people/authenticate.ts'
import { makePasswords } from './people/password.ts'
import { makePersonStore } from './people/person-store.ts'
import { registrationRoutes } from './registration/routes.ts'
import { withOwnClient } from './relying-party/own-client.ts'
import { makeVerifyBearer } from './resource-server/verdict.ts'
import { listHeldSites } from './sites/site-choice.ts'
import { makeCursors } from './store/cursor.ts'
import type { Database } from './store/database.ts'
import type { StateStore } from './store/state.ts'
import { makeAccessTokens } from './token/access-token.ts'

/** What is opened once and outlives a change of keys. */
export interface Stores {
  readonly database: Database
  readonly state: StateStore
  readonly redis: Redis | Cluster | undefined
}

export interface Parts extends Stores {
  readonly config: Config
  readonly secretRoot: SecretRoot
  readonly logger: Logger
  readonly conformance: ConformanceProfile | undefined
  readonly records: PageRecords
  readonly demoPeople: readonly DemoPerson[]
  readonly now: () => number
  /** Sends the requests for metadata documents. */
  readonly fetch: typeof fetch
}

/**
 * The composition root: the only module that knows every part. What has state of its own is made
 * here once; the application around the engine is made again for each ring of signing keys, because
 * the engine takes its keys at construction only. Making it costs about a millisecond.
 */
export function createService(parts: Parts): (ring: KeyRing) => Provider {
  const { config, database, state, redis, secretRoot, now } = parts
  const limits = makeAttemptLimits(config.service.signIn, redis)
  const integrations = new Set(config.integrations.map(({ client_id }) => client_id))
  const accounts = makePersonStore(database)
  const policy = clientPolicy(config)
  const documents = makeDocumentClients({ ...parts, ...policy, policy: policy.metadataDocuments })
  const clients = withOwnClient(makeClients({ ...parts, ...policy, documents }), {
    baseUrl: config.baseUrl,
    serviceName: config.service.name,
  })
  const cursors = makeCursors(secretRoot.cursorKeys)
  const memberApi = makeMemberApi({
    data: makeMemberData(database, now),
    cursors,
    limits: config.service.memberApi,
  })
  const findGrant = makeFindGrant(database, { integrations, admitsOrigin: clients.admitsOrigin })
  const authorizationServer = makeAuthorizationServer({
    ...parts,
    baseUrl: config.baseUrl,
    cookieKeys: secretRoot.cookieKeys,
    lifetimes: config.service.lifetimes,
    protectedPaths,
    clients,
    grants: makeGrantStore({
      database,
      grantSeconds: grantLifetimeSeconds(config.service.lifetimes),
      now,
    }),
    findGrant,
    findPerson: accounts.findPerson,
    listHeldSites: (personId: string) => listHeldSites(database, personId),
    documentResolution: {
      enabled: admitsDocuments(config.service),
      documents,
      fetch: parts.fetch,
    },
    countUse: parts.records.usage.count,
  })
  const verifyBearer = makeVerifyBearer({
    tokens: makeAccessTokens(state),
    findAccess: makeFindAccess(findGrant, now),
    audience: config.baseUrl,
    countUse: parts.records.usage.count,
  })
  const domain: Domain = {
    authorizationServer,
    verifyBearer,
    clients,
    documents,
    findPerson: accounts.findPerson,
    listHeldSites: (personId: string) => listHeldSites(database, personId),
    signIn: makeSignIn({ accounts, limits, passwords: makePasswords(config.service.signIn) }),
    memberApi,
    toolEndpoint: makeToolEndpoint({
      ...toolSettings(config),
      redis,
      read: (question) => question(database),
      executeMember: memberApi.executeMember,
      cursors,
      now,
    }),
    checkStores: async () => void (await Promise.all([database.ping(), state.ping()])),
  }
  return (ring) => createApp(parts, domain, ring)
}

interface Domain {
  readonly authorizationServer: ReturnType<typeof makeAuthorizationServer>
  readonly verifyBearer: ReturnType<typeof makeVerifyBearer>
  readonly clients: Clients
  readonly documents: DocumentClients
  readonly findPerson: ReturnType<typeof makePersonStore>['findPerson']
  readonly listHeldSites: (personId: string) => ReturnType<typeof listHeldSites>
  readonly signIn: ReturnType<typeof makeSignIn>
  readonly memberApi: MemberApi
  readonly toolEndpoint: ReturnType<typeof makeToolEndpoint>
  readonly checkStores: () => Promise<void>
}

/** One application: the engine, which is itself a Koa application, with our routes in front of it. */
function createApp(parts: Parts, domain: Domain, ring: KeyRing): Provider {
  const { config, secretRoot, logger, now } = parts
  const { baseUrl } = config
  const facts = factsOf(config)
  const { engine: app, requests, interactions } = domain.authorizationServer(ring)

  app.use(pinnedHost(baseUrl, config.trustProxy))
  app.use(requestLog(logger, now, noteRefusal(parts.records, now)))
  app.use(guardStorage())
  app.use(nameOfService(config.service.name))
  app.use(securityHeaders(baseUrl))
  app.use(errorHandler())
  app.use(canonicalPath([...Object.values(paths), ...Object.values(enginePages)]))
  app.use(engineAnswers({ resourceMetadataUrl: baseUrl + protectedResourcePath('origin') }))
  app.use(
    httpRoutes({
      checkStores: domain.checkStores,
      conformance: parts.conformance !== undefined,
      welcome: { baseUrl, demoPeople: parts.demoPeople },
    }).routes(),
  )
  app.use(discoveryRoutes(facts).routes())
  app.use(engineDocuments(facts.documentCacheSeconds).routes())
  app.use(
    registrationRoutes({
      policy: { ...config, loopbackHosts: config.service.loopbackHosts },
      register: domain.clients.loopback.register,
      findClient: domain.clients.find,
      countRegistration: domain.clients.countRegistration,
    }).routes(),
  )
  app.use(requests)
  app.use(
    memberRoutes({
      api: domain.memberApi,
      verifyBearer: domain.verifyBearer,
      resourceMetadataUrl: baseUrl + protectedResourcePath('origin'),
      baseUrl,
      schemaCacheSeconds: config.service.documents.cacheSeconds,
    }).routes(),
  )
  app.use(domain.toolEndpoint(domain.verifyBearer).routes())
  app.use(
    interactionRoutes({
      interactions,
      signIn: domain.signIn,
      findPerson: domain.findPerson,
      formKey: secretRoot.formKey,
    }).routes(),
  )
  usePages(app, parts)
  return app
}

const protectedPaths = [paths.mcp, paths.graphql]

/** Discovery and JWKS are the engine's; that they may be cached and read from any page is ours. */
function engineDocuments(cacheSeconds: number): Router {
  const router = makeRouter()
  const documents = [paths.authorizationServer, paths.openidConfiguration, paths.jwks]
  router.get(documents, cacheableJson(cacheSeconds))
  return router
}

/** What the tool endpoint is told of a configuration. */
function toolSettings(config: Config) {
  const { baseUrl, service } = config
  return {
    service: { name: service.name, version: packageJson.version, baseUrl },
    authGuide: () => authMd(factsOf(config)),
    policy: service.mcp,
    resourceMetadataUrl: baseUrl + protectedResourcePath('mcp'),
  }
}

/** What the clients of a configuration are made of. */
function clientPolicy({ service, integrations }: Config) {
  const { loopbackHosts, metadataDocuments, registration, lifetimes } = service
  const tokensLiveSeconds = lifetimes.refreshTokenAbsoluteSeconds + lifetimes.accessTokenSeconds
  return { integrations, loopbackHosts, metadataDocuments, registration, tokensLiveSeconds }
}

function admitsDocuments({ metadataDocuments }: Config['service']): boolean {
  return metadataDocuments.openRegistration || metadataDocuments.hosts.length > 0
}

/** What the discovery documents say of this configuration. */
function factsOf({ baseUrl, service, integrations }: Config): ServiceFacts {
  const { lifetimes, metadataDocuments } = service
  const { hosts, openRegistration } = metadataDocuments
  const listed = hosts.length > 0 ? 'listed hosts' : 'off'
  return {
    baseUrl,
    serviceName: service.name,
    metadataDocuments: openRegistration ? 'open' : listed,
    metadataDocumentHosts: hosts,
    loopbackHosts: service.loopbackHosts,
    integrations: integrations.map(({ client_name }) => ({ clientName: client_name })),
    ttl: lifetimes,
    documentCacheSeconds: service.documents.cacheSeconds,
  }
}
