import type { Cluster, Redis } from 'ioredis'
import Router from 'koa-router'
import type { Provider } from 'oidc-provider'
import type { Logger } from 'pino'

import packageJson from '../package.json' with { type: 'json' }
import type { DemoPerson } from '../views/welcome.ts'
import { noteRefusal, type PageRecords, usePages } from './app-pages.ts'
import { authorizationRequests } from './authorization/authorize-requests.ts'
import type { ConformanceProfile } from './authorization/conformance-profile.ts'
import { engineAdapter } from './authorization/engine-adapter.ts'
import { engineAnswers } from './authorization/engine-answers.ts'
import { logEngineEvents } from './authorization/engine-events.ts'
import { makeInteractions } from './authorization/interactions.ts'
import { createProvider } from './authorization/provider.ts'
import { toClientMetadata } from './clients/client-metadata.ts'
import { type Clients, makeClients } from './clients/find-client.ts'
import type { Config } from './config/config.ts'
import { authMd } from './discovery/auth-md.ts'
import { cacheableJson } from './discovery/cacheable.ts'
import type { ServiceFacts } from './discovery/facts.ts'
import { protectedResourcePath } from './discovery/protected-resource.ts'
import { discoveryRoutes } from './discovery/routes.ts'
import { type AccessQuestion, findAccess } from './grants/access.ts'
import { makeGrantStore } from './grants/grant-store.ts'
import { type MemberApi, makeMemberApi } from './graphql/member-api.ts'
import { memberRoutes } from './graphql/routes.ts'
import { canonicalPath } from './http/canonical-path.ts'
import { errorHandler } from './http/error-handler.ts'
import { paths } from './http/paths.ts'
import { pinnedHost } from './http/pinned-host.ts'
import { requestLog } from './http/request-log.ts'
import { httpRoutes } from './http/routes.ts'
import { securityHeaders } from './http/security-headers.ts'
import { guardEvery, storageGuard } from './http/storage-guard.ts'
import { interactionRoutes } from './interaction/routes.ts'
import type { SecretRoot } from './keys/secret-root.ts'
import type { KeyRing } from './keys/signing-keys.ts'
import { makeToolEndpoint } from './mcp/endpoint.ts'
import { makeCursors } from './member/connection.ts'
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
import type { Database } from './store/database.ts'
import type { StateStore } from './store/state.ts'
import { bearerTokens } from './token/bearer-tokens.ts'
import { accessQuestion, makeFindAccount } from './token/claims.ts'
import { makeJudge } from './token/introspection.ts'
import { registerRefreshGrant } from './token/refresh-token.ts'
import { makeResources } from './token/resource-indicators.ts'

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
  const memberApi = makeMemberApi({
    data: guardEvery(makeMemberData(database, now)),
    cursors: makeCursors(secretRoot.cursorKeys),
    limits: config.service.memberApi,
  })
  const domain: Domain = {
    clients,
    documents,
    findPerson: storageGuard(accounts.findPerson),
    findAccess: storageGuard((question: AccessQuestion) =>
      clients.admitsOrigin(question.clientId)
        ? findAccess(database, question, integrations)
        : Promise.resolve({ kind: 'lost', reason: 'the client is disabled' } as const),
    ),
    listHeldSites: storageGuard((personId: string) => listHeldSites(database, personId)),
    signIn: storageGuard(
      makeSignIn({ accounts, limits, passwords: makePasswords(config.service.signIn) }),
    ),
    memberApi,
    toolEndpoint: makeToolEndpoint({
      ...toolSettings(config),
      redis,
      read: (question) => storageGuard(() => question(database))(),
      executeMember: memberApi.executeMember,
      now,
    }),
    async checkStores() {
      await Promise.all([database.ping(), state.ping()])
    },
  }
  return (ring) => createApp(parts, domain, ring)
}

interface Domain {
  readonly clients: Clients
  readonly documents: DocumentClients
  readonly findPerson: ReturnType<typeof makePersonStore>['findPerson']
  readonly findAccess: (question: AccessQuestion) => ReturnType<typeof findAccess>
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
  const app = createEngine(parts, domain, ring)
  const interactions = makeInteractions(app)
  const verifyBearer = makeVerifyBearer(
    bearerTokens(app, makeJudge(domain.findAccess, parts.records.usage.count), parts.state),
    baseUrl,
  )

  app.use(pinnedHost(baseUrl, config.trustProxy))
  app.use(requestLog(logger, now, noteRefusal(parts.records, now)))
  app.use(securityHeaders(baseUrl))
  app.use(errorHandler())
  app.use(canonicalPath(Object.values(paths)))
  app.use(engineAnswers({ resourceMetadataUrl: baseUrl + protectedResourcePath('origin') }))
  app.use(
    httpRoutes({
      checkStores: domain.checkStores,
      conformance: parts.conformance !== undefined,
      welcome: { baseUrl, links: welcomeLinks, demoPeople: parts.demoPeople },
    }).routes(),
  )
  app.use(discoveryRoutes(facts).routes())
  app.use(engineDocuments(facts.documentCacheSeconds).routes())
  app.use(
    registrationRoutes({
      policy: { ...config, loopbackHosts: config.service.loopbackHosts },
      register: storageGuard(domain.clients.loopback.register),
      findClient: storageGuard(domain.clients.find),
      countRegistration: domain.clients.countRegistration,
    }).routes(),
  )
  app.use(authorizationRequests(makeResources(baseUrl, protectedPaths), parts.conformance).routes())
  app.use(
    memberRoutes({
      api: domain.memberApi,
      verifyBearer,
      resourceMetadataUrl: baseUrl + protectedResourcePath('origin'),
      baseUrl,
      schemaCacheSeconds: config.service.documents.cacheSeconds,
    }).routes(),
  )
  app.use(domain.toolEndpoint(verifyBearer).routes())
  app.use(
    interactionRoutes({
      interactions,
      signIn: domain.signIn,
      findPerson: domain.findPerson,
      formKey: secretRoot.formKey,
    }).routes(),
  )
  usePages(app, parts, ring)
  return app
}

const protectedPaths = [paths.mcp, paths.graphql]

function createEngine(parts: Parts, domain: Domain, ring: KeyRing): Provider {
  const { config, secretRoot, state, logger, now } = parts
  const { lifetimes } = config.service
  const resources = makeResources(config.baseUrl, protectedPaths)
  const engine = createProvider({
    baseUrl: config.baseUrl,
    adapter: engineAdapter({
      state,
      clients: domain.clients,
      resources,
      connections: guardEvery(makeGrantStore(parts.database, now)),
      present: toClientMetadata,
    }),
    keys: ring.keys,
    cookieKeys: secretRoot.cookieKeys,
    lifetimes,
    resources,
    findAccount: makeFindAccount({
      ...domain,
      conformance: parts.conformance,
      countUse: parts.records.usage.count,
    }),
    judgeToken: makeJudge(domain.findAccess, parts.records.usage.count),
    listHeldSites: domain.listHeldSites,
    documentResolution: {
      enabled: admitsDocuments(config.service),
      documents: domain.documents,
      fetch: parts.fetch,
    },
    conformance: parts.conformance,
    now,
  })
  const refreshTokens = state.adapterFor('RefreshToken')
  registerRefreshGrant({
    provider: engine,
    consumeOnce: storageGuard((id: string, seed: string) => refreshTokens.consumeOnce(id, seed)),
    resources,
    retrySeconds: lifetimes.refreshRetrySeconds,
    accessTokenSeconds: lifetimes.accessTokenSeconds,
    async findLoss(token) {
      const access = await domain.findAccess(accessQuestion(token))
      return access.kind === 'lost' ? access.reason : undefined
    },
    now,
  })
  logEngineEvents(engine, logger)
  return engine
}

/** Discovery and JWKS are the engine's; that they may be cached and read from any page is ours. */
function engineDocuments(cacheSeconds: number): Router {
  const router = new Router()
  const documents = [paths.authorizationServer, paths.openidConfiguration, paths.jwks]
  router.get(documents, cacheableJson(cacheSeconds))
  return router
}

const welcomeLinks = [
  {
    href: paths.openidConfiguration,
    label: 'OpenID configuration',
    what: 'OpenID Connect Discovery',
  },
  { href: paths.authMd, label: 'auth.md', what: 'how to get and use a token, step by step' },
  { href: paths.openApi, label: 'openapi.json', what: 'every endpoint and answer' },
]

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
