import type { Logger } from 'pino'

import { accountRoutes } from './account/routes.ts'
import { adminRoutes } from './admin/routes.ts'
import { makeClientRefusals } from './applications/application-refusals.ts'
import { makeAuthorizationServer } from './authorization/authorization-server.ts'
import { startBackgroundTasks } from './background-tasks.ts'
import { type DemoPeople, settleDemo } from './campus/demo.ts'
import { makeCleanUp } from './clean-up/clean-up.ts'
import { makeClients } from './clients/find-client.ts'
import type { Config } from './config/config.ts'
import { makeDiscovery } from './discovery/routes.ts'
import { makeGrants } from './grants/grants.ts'
import { memberSurface } from './graphql/surface.ts'
import { everyRequest } from './http/every-request.ts'
import { inOrder } from './http/in-order.ts'
import { httpRoutes } from './http/routes.ts'
import { orUnavailable } from './http/storage-guard.ts'
import { interactionRoutes } from './interaction/routes.ts'
import { introspectionRoute } from './introspection/routes.ts'
import { type Keys, openKeys } from './keys/keys.ts'
import { toolEndpoint } from './mcp/endpoint.ts'
import { makeDocumentClients } from './metadata-documents/document-clients.ts'
import { makePeople, type People } from './people/people.ts'
import { registrationRoutes } from './registration/routes.ts'
import { makeOwnPages, type OwnPagesPorts } from './relying-party/own-pages.ts'
import { makeVerdicts } from './resource-server/verdict.ts'
import { openStores, type Stores } from './store/open-stores.ts'
import type { LimitStore } from './store/rate-limits.ts'
import { makeTokens } from './token/tokens.ts'
import { userinfoRoute } from './userinfo/routes.ts'

/** A running service without its socket: stores are open, keys are loaded, timers run. */
export type Gatehouse = Awaited<ReturnType<typeof openGatehouse>>

export interface GatehouseOptions {
  readonly now?: () => number
  /** Sends the requests for metadata documents; tests reach hosts of their own by it. */
  readonly fetch?: typeof fetch
  /** Given to one of several processes behind one port. */
  readonly worker?: WorkerPart | undefined
}

/** The part of a host's service that one worker is. */
export interface WorkerPart {
  /** How many share the host's password checks and database connections. */
  readonly processes: number
  /** Whether this one does what one of them does for all. */
  readonly sweeps: () => boolean
}

/**
 * The composition root: the only module that knows every part. What was opened is closed again, in
 * reverse, when the service is disposed of or a later step fails.
 */
export async function openGatehouse(
  config: Config,
  logger: Logger,
  { now = Date.now, fetch = globalThis.fetch, worker }: GatehouseOptions = {},
) {
  const { service } = config
  await using opening = new AsyncDisposableStack()
  const processes = worker?.processes ?? 1
  const connections = Math.floor(service.storage.databaseConnectionsMax / processes)
  const stores = await openStores(
    { ...config, ...service.storage, databaseConnectionsMax: Math.max(1, connections) },
    {
      guard: orUnavailable,
      onIdleError: ({ message }) => logger.warn({ cause: message }, 'a database connection broke'),
    },
  )
  opening.use(stores)
  const limitStore: LimitStore = stores.redis ?? (worker ? 'primary' : 'process')
  const ground = { ...stores, limitStore, logger, now, fetch }
  const keys = openKeys({ ...config, ...ground, policy: service.keys })
  const people = makePeople({ ...ground, policy: { ...service.signIn, processes } })
  const { hashPassword } = people
  const demoPeople = await settleDemo(stores.database, { ...config, hashPassword, now })

  let ring = await keys.loadRing()
  // Our own pages send requests to the application that is made of them, so that they ask for it late.
  const parts = await makeParts(config, { ...ground, keys, people, handler: () => handler })
  const makeHandler = makeSurfaces(config, { ...parts, demoPeople })
  let handler = makeHandler(ring)
  const followKeys = async () => {
    const found = await keys.loadRing()
    if (found.version === ring.version) return
    ring = found
    handler = makeHandler(ring)
    logger.info({ keys: ring.version }, 'signing keys changed')
  }

  const { grants, refusals, cleanUp } = parts
  opening.defer(refusals.flush)
  opening.defer(grants.usage.flush)
  const { usageFlushSeconds, sweepSeconds } = service.storage
  const tasks = [
    { everySeconds: usageFlushSeconds, run: grants.usage.flush },
    { everySeconds: usageFlushSeconds, run: refusals.flush },
    { everySeconds: service.keys.reloadSeconds, run: followKeys },
    { everySeconds: sweepSeconds, run: cleanUp.run, onlyWhen: worker?.sweeps },
  ]
  opening.use(startBackgroundTasks(tasks, logger))
  const open = opening.move()
  return {
    stores,
    demoPeople,
    /** The application with the keys that sign now; it changes when keys rotate. */
    handler: () => handler,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** What the parts are made of. */
interface Ground extends Stores, Pick<OwnPagesPorts, 'handler'> {
  readonly limitStore: LimitStore
  readonly logger: Logger
  readonly keys: Keys
  readonly people: People
  readonly now: () => number
  readonly fetch: typeof fetch
}

/** The parts that are no surface. Each is made once. */
async function makeParts({ baseUrl, service, integrations, conformance }: Config, ground: Ground) {
  const { secretRoot, cursors } = ground.keys
  const { lifetimes, metadataDocuments, loopbackHosts, name: serviceName } = service
  const ownPages = makeOwnPages({
    ...ground,
    baseUrl,
    serviceName,
    cursors,
    seals: secretRoot,
    formKey: secretRoot.formKey,
    sessionSeconds: lifetimes.pageSessionSeconds,
  })
  const documents = makeDocumentClients({
    ...ground,
    policy: metadataDocuments,
    loopbackHosts,
  })
  const own = ownPages.client
  const clients = makeClients({ ...ground, ...service, integrations, documents, own })
  const { admitsOrigin } = clients
  // To a grant the suite's clients are platforms that the configuration lists.
  const listed = [...integrations, ...(conformance?.clients ?? [])]
  const grants = makeGrants({ ...ground, ...lifetimes, integrations: listed, admitsOrigin })
  const discovery = makeDiscovery({ baseUrl, service, integrations })
  const acceptsDocuments = metadataDocuments.openRegistration || metadataDocuments.hosts.length > 0
  const countUse = grants.usage.count
  const tokens = makeTokens({
    ...{ ...ground, ...lifetimes, findGrant: grants.findGrant },
    keys: secretRoot.tokenKeys,
  })
  const authorization = await makeAuthorizationServer({
    ...ground,
    baseUrl,
    lifetimes,
    conformance,
    cookieKeys: secretRoot.cookieKeys,
    ...tokens,
    clients,
    grants: grants.store,
    families: grants.families,
    grantSeconds: grants.grantSeconds,
    findGrant: grants.findGrant,
    findAllowed: grants.findAllowed,
    findPerson: ground.people.findPerson,
    documentResolution: { enabled: acceptsDocuments, documents, fetch: ground.fetch },
  })
  const verdicts = makeVerdicts({ ...ground, ...tokens, lifetimes, countUse, audience: baseUrl })
  const refusals = makeClientRefusals(ground.database)
  const { refreshTokenAbsoluteSeconds, accessTokenSeconds } = lifetimes
  const cleanUp = makeCleanUp({
    ...ground,
    runSeconds: service.storage.sweepSeconds,
    keeping: { tokensLiveSeconds: refreshTokenAbsoluteSeconds + accessTokenSeconds },
  })
  const made = { ownPages, clients, grants, discovery, authorization, refusals }
  return { ...ground, ...made, ...verdicts, cleanUp, countUse, acceptsDocuments }
}

type Ring = Awaited<ReturnType<Keys['loadRing']>>
type Parts = Awaited<ReturnType<typeof makeParts>> & { readonly demoPeople: DemoPeople }

/** The surfaces, and the order in which they see a request; the engine sees what is left of them. */
function makeSurfaces(config: Config, parts: Parts) {
  const { baseUrl, trustProxy, service } = config
  const { keys, people, ownPages, clients, grants, discovery, authorization, refusals } = parts
  const common = { ...parts, ...ownPages, baseUrl, serviceName: service.name }
  const member = memberSurface({
    ...common,
    cursors: keys.cursors,
    limits: service.memberApi,
    resourceMetadataUrl: discovery.metadataUrl('origin'),
    schemaCacheSeconds: service.documents.cacheSeconds,
  })
  const { conformance, findClient } = authorization
  const tokenUse = {
    ...{ ...common, conformance, findClient, findAllowed: grants.findAllowed },
    resourceMetadataUrl: discovery.metadataUrl('origin'),
  }
  const first = everyRequest({ ...common, trustProxy, hear: refusals.hear })
  // `answers` wraps everything behind it, because the engine's answers pass it on their way out.
  const before = [
    userinfoRoute(tokenUse),
    introspectionRoute(tokenUse),
    authorization.answers,
    httpRoutes({
      checkStores: parts.ping,
      conformance: config.conformance !== undefined,
      welcome: { baseUrl, demoPeople: parts.demoPeople },
    }),
    discovery.routes,
    registrationRoutes({ policy: { ...config, ...service }, clients }),
    authorization.requests,
    member.routes,
    toolEndpoint({
      ...common,
      cursors: keys.cursors,
      policy: service.mcp,
      executeMember: member.executeMember,
      read: (question) => question(parts.database),
      authGuide: discovery.authGuide,
      resourceMetadataUrl: discovery.metadataUrl('mcp'),
    }),
  ]
  const after = [
    ownPages.signedInPages.followLogout(),
    ownPages.signedInPages.routes(),
    accountRoutes(common),
    ...adminRoutes({ ...common, seals: keys.secretRoot, loopbackHosts: service.loopbackHosts }),
  ]

  /** Only what holds the engine is made again for each ring: itself, its documents, the interactions. */
  return (ring: Ring) => {
    const { engine, interactions } = authorization.withKeys(ring.keys)
    const { formKey } = keys.secretRoot
    const interaction = interactionRoutes({ ...people, interactions, formKey })
    const documents = discovery.keepEngineDocuments()
    for (const each of [...first, documents]) engine.use(each)
    engine.use(inOrder([...before, interaction, ...after]))
    return engine.callback()
  }
}
