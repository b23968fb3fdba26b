import type { Logger } from 'pino'

import { accountRoutes } from './account/routes.ts'
import { adminRoutes } from './admin/routes.ts'
import { type ClientRefusals, makeClientRefusals } from './applications/application-refusals.ts'
import {
  type AuthorizationServer,
  makeAuthorizationServer,
} from './authorization/authorization-server.ts'
import { startBackgroundTasks } from './background-tasks.ts'
import { type DemoAccounts, settleDemo } from './campus/demo.ts'
import { type Clients, makeClients } from './clients/find-client.ts'
import { type Config, mayServeDemo } from './config/config.ts'
import { isLoopbackUrl } from './config/environment.ts'
import { type Discovery, makeDiscovery } from './discovery/discovery.ts'
import { makeGrants } from './grants/grants.ts'
import { memberSurface } from './graphql/surface.ts'
import { everyRequest } from './http/every-request.ts'
import { httpRoutes } from './http/routes.ts'
import { storageGuard } from './http/storage-guard.ts'
import { interactionRoutes } from './interaction/routes.ts'
import { type Keys, openKeys } from './keys/keys.ts'
import { toolEndpoint } from './mcp/endpoint.ts'
import { makeCursors } from './member/connection.ts'
import { makeDocumentClients } from './metadata-documents/document-clients.ts'
import { makePeople, type People } from './people/people.ts'
import { registrationRoutes } from './registration/routes.ts'
import {
  makeSignedInPages,
  type SignedInPages,
  type SignedInPagesPorts,
} from './relying-party/signed-in-pages.ts'
import { makeVerifyBearer, type VerifyBearer } from './resource-server/verdict.ts'
import { openStores, type Stores } from './store/open-stores.ts'

/** A running service without its socket: stores are open, keys are loaded, timers run. */
export type Gatehouse = Awaited<ReturnType<typeof openGatehouse>>

export interface GatehouseOptions {
  readonly now?: () => number
  /** Sends the requests for metadata documents; tests reach hosts of their own by it. */
  readonly fetch?: typeof fetch
}

/**
 * The composition root: the only module that knows every part. What was opened is closed again, in
 * reverse, when the service is disposed of or a later step fails.
 */
export async function openGatehouse(
  config: Config,
  logger: Logger,
  { now = Date.now, fetch = globalThis.fetch }: GatehouseOptions = {},
) {
  const { service } = config
  await using opening = new AsyncDisposableStack()
  const stores = await openStores(
    { ...config, ...service.storage },
    {
      guard: storageGuard,
      onIdleError: ({ message }) => logger.warn({ cause: message }, 'a database connection broke'),
    },
  )
  opening.use(stores)
  const { database } = stores
  const keys = openKeys({ ...config, database, policy: service.keys, now })
  const people = makePeople({ ...stores, policy: service.signIn })
  const { hashPassword } = people
  const mayServe = mayServeDemo(config)
  const demoAccounts = await settleDemo(database, { ...config, mayServe, hashPassword, now })

  let ring = await keys.loadRing()
  const ground = { config, logger, stores, keys, people, demoAccounts, now, fetch }
  const { grants, refusals, makeHandler } = await makeParts(ground, () => handler)
  let handler = makeHandler(ring.keys)
  const followKeys = async () => {
    const found = await keys.loadRing()
    if (found.version === ring.version) return
    ring = found
    handler = makeHandler(ring.keys)
    logger.info({ keys: ring.version }, 'signing keys changed')
  }

  opening.defer(refusals.flush)
  opening.defer(grants.usage.flush)
  const { usageFlushSeconds, sweepSeconds } = service.storage
  const tasks = [
    { everySeconds: usageFlushSeconds, run: grants.usage.flush },
    { everySeconds: usageFlushSeconds, run: refusals.flush },
    { everySeconds: service.keys.reloadSeconds, run: followKeys },
    { everySeconds: sweepSeconds, run: stores.state.sweep },
    { everySeconds: sweepSeconds, run: grants.prune },
  ]
  opening.use(startBackgroundTasks(tasks, logger))
  const open = opening.move()
  return {
    stores,
    demoAccounts,
    /** The application with the keys of this moment; it changes when keys rotate. */
    handler: () => handler,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** What all parts are made of. */
interface Ground {
  readonly config: Config
  readonly logger: Logger
  readonly stores: Stores
  readonly keys: Keys
  readonly people: People
  readonly demoAccounts: DemoAccounts
  readonly now: () => number
  readonly fetch: typeof fetch
}

/**
 * The parts, each made once. Only what holds the engine is made again for each ring of keys.
 *
 * @param handler the application as it is at the moment, for requests of our own
 */
async function makeParts(ground: Ground, handler: SignedInPagesPorts['handler']) {
  const { config, logger, stores, people, now } = ground
  const { secretRoot } = ground.keys
  const { baseUrl, service } = config
  const { lifetimes, metadataDocuments } = service
  const signedInPages = makeSignedInPages({
    ...stores,
    baseUrl,
    serviceName: service.name,
    people,
    handler,
    seals: secretRoot,
    formKey: secretRoot.formKey,
    sessionSeconds: lifetimes.pageSessionSeconds,
    now,
  })
  const documents = makeDocumentClients({
    ...stores,
    policy: metadataDocuments,
    loopbackHosts: service.loopbackHosts,
    tokensLiveSeconds: lifetimes.refreshTokenAbsoluteSeconds + lifetimes.accessTokenSeconds,
    now,
  })
  const own = signedInPages.client
  const clients = makeClients({ ...config, ...service, ...stores, documents, own, now })
  const { admitsOrigin } = clients
  const grants = makeGrants({ ...config, ...stores, admitsOrigin, now })
  const refusals = makeClientRefusals(stores.database)
  const discovery = makeDiscovery(config)
  const acceptsDocuments = metadataDocuments.openRegistration || metadataDocuments.hosts.length > 0
  const authorization = await makeAuthorizationServer({
    ...config,
    ...stores,
    lifetimes,
    cookieKeys: secretRoot.cookieKeys,
    clients,
    documentResolution: { enabled: acceptsDocuments, documents, fetch: ground.fetch },
    findPerson: people.findPerson,
    findAccess: grants.findAccess,
    countUse: grants.usage.count,
    resourceMetadataUrl: discovery.metadataUrl('origin'),
    logger,
    now,
  })
  const parts = { signedInPages, clients, grants, refusals, discovery, authorization }
  return { grants, refusals, makeHandler: makeSurfaces(ground, { ...parts, acceptsDocuments }) }
}

interface Parts {
  readonly signedInPages: SignedInPages
  readonly clients: Clients
  readonly refusals: ClientRefusals
  readonly discovery: Discovery
  readonly authorization: AuthorizationServer
  readonly acceptsDocuments: boolean
}

/** The surfaces, and the order in which they see a request; the engine sees what is left. */
function makeSurfaces(ground: Ground, parts: Parts) {
  const { config, logger, stores, people, demoAccounts, now } = ground
  const { secretRoot } = ground.keys
  const { baseUrl, trustProxy, service, conformance } = config
  const { signedInPages, clients, refusals, discovery, authorization } = parts
  let verify: VerifyBearer
  const verifyBearer: VerifyBearer = (headers) => verify(headers)
  const common = { ...stores, baseUrl, verifyBearer, signedInPages, now }
  const member = memberSurface({
    ...common,
    cursors: makeCursors(secretRoot.cursorKeys),
    limits: service.memberApi,
    resourceMetadataUrl: discovery.metadataUrl('origin'),
    schemaCacheSeconds: service.documents.cacheSeconds,
  })
  const tools = toolEndpoint({
    ...common,
    serviceName: service.name,
    policy: service.mcp,
    isLoopback: isLoopbackUrl,
    executeMember: member.executeMember,
    authGuide: discovery.authGuide,
    resourceMetadataUrl: discovery.metadataUrl('mcp'),
  })
  const admin = adminRoutes({
    ...common,
    seals: secretRoot,
    refusals,
    acceptsDocuments: parts.acceptsDocuments,
    loopbackHosts: service.loopbackHosts,
  })
  const first = [
    ...everyRequest({ baseUrl, trustProxy, logger, hear: refusals.hear, now }),
    authorization.answers,
    httpRoutes({
      checkStores: stores.ping,
      conformance: conformance !== undefined,
      welcome: { baseUrl, demoAccounts },
    }),
    discovery.routes,
    registrationRoutes({ policy: { ...config, ...service }, clients }),
    authorization.requests,
    member.routes,
    tools,
  ]
  const last = [
    signedInPages.followLogout(),
    signedInPages.routes(),
    accountRoutes(common),
    ...admin,
  ]

  return (keys: Parameters<AuthorizationServer['withKeys']>[0]) => {
    const { engine, interactions, tokens } = authorization.withKeys(keys)
    verify = makeVerifyBearer(tokens, baseUrl)
    const { formKey } = secretRoot
    const interaction = interactionRoutes({ ...people, interactions, formKey })
    for (const surface of [...first, interaction, ...last]) {
      engine.use('routes' in surface ? surface.routes() : surface)
    }
    return engine.callback()
  }
}
