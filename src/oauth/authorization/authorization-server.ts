import { listHeldSites } from '../../directory/sites/site-choice.ts'
import { paths } from '../../platform/http/paths.ts'
import type { Platform } from '../../platform/platform.ts'
import { makeKeptClients } from '../clients/find-client.ts'
import type { Grants } from '../grants/grants.ts'
import type { Proofs } from '../proofs/proofs.ts'
import type { SignOuts } from '../sign-outs/sign-outs.ts'
import { makeResources } from '../token/resource-indicators.ts'
import { makeTokenEndpoint, type TokenEndpointPorts } from '../token/token-endpoint.ts'
import type { Tokens } from '../token/tokens.ts'
import { authorizationRequests } from './authorize-requests.ts'
import { type ConformanceSettings, makeConformanceProfile } from './conformance-profile.ts'
import { makeCurrentEngine } from './current-engine.ts'
import { type EngineAdapterDependencies, engineAdapter } from './engine-adapter.ts'
import { engineAnswers } from './engine-answers.ts'
import { type InteractionPorts, makeInteractions } from './interactions.ts'
import { grantOncePerRequest, oncePerRequest } from './once-per-request.ts'
import { createProvider, type ProviderDependencies } from './provider.ts'

/** What is made here. */
type Made =
  | ('adapter' | 'exchange' | 'findKeptClient')
  | ('readTokenRequest' | 'keys' | 'listHeldSites' | 'resources' | 'conformance')

type Needed = ProviderDependencies & EngineAdapterDependencies & TokenEndpointPorts

type Ports = Omit<Needed, Made> & InteractionPorts

/** The parts that the authorization server puts together. */
export interface AuthorizationServerParts {
  readonly people: Pick<Ports, 'findPerson' | 'signOutSession'>
  readonly clients: Ports['clients']
  readonly documentResolution: Ports['documentResolution']
  readonly grants: Grants
  readonly tokens: Tokens
  readonly proofs: Proofs
  /** Present while applications are notified of sign-outs. */
  readonly signOuts: SignOuts | undefined
  readonly cookieKeys: Ports['cookieKeys']
}

export interface AuthorizationServerSettings
  extends Pick<Ports, 'baseUrl' | 'connectionPrefixes' | 'lifetimes' | 'furtherPlans'> {
  readonly requestLengths: Ports['requestLengths']
  /** Present while the conformance profile is on. */
  readonly conformance: ConformanceSettings | undefined
}

/** The paths that clients may name as `resource`, besides the origin (design 3). */
const protectedPaths = [
  ...[paths.mcp, paths.mcpMember, paths.mcpAdmin],
  ...[paths.graphql, paths.adminGraphql],
]

/** The authorization server: the engine, and what stands before it and after it. */
export async function makeAuthorizationServer(
  platform: Platform,
  parts: AuthorizationServerParts,
  settings: AuthorizationServerSettings,
) {
  const { baseUrl } = settings
  const { database, logger, now } = platform
  const conformance =
    settings.conformance &&
    (await makeConformanceProfile(settings.conformance, settings.furtherPlans))
  const ports = portsOf(platform, parts, settings)
  if (conformance) logger.warn('the conformance profile is on: its clients need no PKCE')
  const resources = makeResources(baseUrl, protectedPaths)
  const findGrant = grantOncePerRequest(ports.findGrant)
  const clients = { find: oncePerRequest(ports.clients.find) }
  const findKeptClient = makeKeptClients(clients, database, now)
  const tokenEndpoint = makeTokenEndpoint({ ...ports, findGrant, resources })
  const { exchange } = tokenEndpoint
  const needed = {
    ...ports,
    ...tokenEndpoint,
    conformance,
    resources,
    findGrant,
    clients,
    findKeptClient,
    listHeldSites: oncePerRequest((personId: string, clientId?: string) =>
      listHeldSites(database, personId, clientId),
    ),
  }
  const adapter = engineAdapter(needed)
  const current = makeCurrentEngine(parts.signOuts)
  return {
    /** What happens to the answers of the engine on their way out. */
    answers: engineAnswers(exchange.firstTokens),
    /** Finds a client that authenticates, one of the conformance suite included. */
    findClient: async (clientId: string, version?: number) =>
      conformance?.findClient(clientId) ?? (await findKeptClient(clientId, version))?.client,
    sendSignOut: current.sendSignOut,
    findClientKeys: current.findClientKeys,
    /** What the suite's clients are told of people, while the conformance profile is on. */
    conformance,
    /** What happens to the requests of a browser before the engine reads them. */
    requests: authorizationRequests(resources, conformance, ports.requestLengths),
    /**
     * The certified engine with our policy in it, the Koa application that every surface is put in
     * front of. It is made again for each ring of signing keys, because it takes its keys at
     * construction only; that costs about a millisecond.
     */
    withKeys(keys: ProviderDependencies['keys']) {
      const engine = createProvider({ ...needed, adapter, keys })
      current.follow(engine)
      tokenEndpoint.serveRefreshes(engine)
      return { engine, interactions: makeInteractions(engine, ports) }
    },
  }
}

function portsOf(
  platform: Platform,
  {
    people,
    clients,
    documentResolution,
    grants,
    tokens,
    proofs,
    ...parts
  }: AuthorizationServerParts,
  {
    baseUrl,
    connectionPrefixes,
    lifetimes,
    furtherPlans,
    ...settings
  }: AuthorizationServerSettings,
): Ports {
  const { state, logger, noteEvent, requestLimits, now } = platform
  return {
    baseUrl,
    lifetimes,
    furtherPlans,
    connectionPrefixes,
    requestLengths: settings.requestLengths,
    state,
    logger,
    noteEvent,
    requestLimits,
    cookieKeys: parts.cookieKeys,
    nonceKey: proofs.nonceKey,
    useOnce: proofs.useOnce,
    checkDpop: proofs.checkDpop,
    values: tokens.values,
    findAccessToken: tokens.findAccessToken,
    findRefreshToken: tokens.findRefreshToken,
    clients,
    grants: grants.store,
    families: grants.families,
    grantSeconds: grants.grantSeconds,
    findGrant: grants.findGrant,
    signOuts: parts.signOuts,
    findPerson: people.findPerson,
    signOutSession: people.signOutSession,
    documentResolution,
    now,
  }
}
