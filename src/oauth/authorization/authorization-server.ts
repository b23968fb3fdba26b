import { type JWK, Provider } from 'oidc-provider'

import { listHeldSites } from '../../directory/sites/site-choice.ts'
import { paths } from '../../platform/http/paths.ts'
import type { Platform } from '../../platform/platform.ts'
import { type Clients, makeKeptClients } from '../clients/find-client.ts'
import type { FindGrant } from '../grants/access.ts'
import type { Grants } from '../grants/grants.ts'
import type { Proofs } from '../keys/proofs.ts'
import { makeResources } from '../token/resource-indicators.ts'
import { makeTokenEndpoint } from '../token/token-endpoint.ts'
import type { Tokens } from '../token/tokens.ts'
import { authorizationRequests } from './authorize-requests.ts'
import { type ConformanceSettings, makeConformanceProfile } from './conformance-profile.ts'
import { makeCurrentEngine } from './current-engine.ts'
import { engineAdapter } from './engine-adapter.ts'
import { engineAnswers } from './engine-answers.ts'
import type { EngineParts } from './engine-parts.ts'
import { makeInteractions } from './interactions.ts'
import { createProvider } from './provider.ts'
import type { SignOuts } from './sign-outs.ts'

/** The parts that the authorization server puts together. */
export interface AuthorizationServerParts {
  readonly people: Pick<EngineParts, 'findPerson' | 'signOutSession'>
  readonly clients: Clients
  readonly documentResolution: EngineParts['documentResolution']
  readonly grants: Grants
  readonly tokens: Tokens
  readonly proofs: Proofs
  /** Present while applications are notified of sign-outs. */
  readonly signOuts: SignOuts | undefined
  readonly cookieKeys: EngineParts['cookieKeys']
}

export interface AuthorizationServerSettings
  extends Pick<
    EngineParts,
    'baseUrl' | 'connectionPrefixes' | 'lifetimes' | 'furtherPlans' | 'requestLengths'
  > {
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
  const clients = { find: oncePerRequest(parts.clients.find) }
  const findKeptClient = makeKeptClients(clients, database, now)
  const tokenEndpoint = makeTokenEndpoint({ ...ports, findGrant, resources })
  const { exchange } = tokenEndpoint
  const engineParts: EngineParts = {
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
  const adapter = engineAdapter(engineParts)
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
    requests: authorizationRequests(resources, conformance, settings.requestLengths),
    /**
     * The certified engine with our policy in it, the Koa application that every surface is put in
     * front of. It is made again for each ring of signing keys, because it takes its keys at
     * construction only; that costs about a millisecond.
     */
    withKeys(keys: readonly JWK[]) {
      const engine = createProvider(engineParts, { adapter, keys })
      current.follow(engine)
      tokenEndpoint.serveRefreshes(engine)
      return { engine, interactions: makeInteractions(engine, parts.grants.store, parts.clients) }
    },
  }
}

/** What the parts give to the engine and to the token endpoint. */
function portsOf(
  { state, logger, noteEvent, requestLimits, now }: Platform,
  { people, grants, tokens, proofs, documentResolution, ...parts }: AuthorizationServerParts,
  { baseUrl, lifetimes, furtherPlans, ...settings }: AuthorizationServerSettings,
) {
  return {
    baseUrl,
    lifetimes,
    furtherPlans,
    connectionPrefixes: settings.connectionPrefixes,
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

type Answers<Answer> = Map<string, Promise<Answer>>

/** The answers that are known in the running request; undefined outside of one. */
function makeAnswers<Answer>() {
  const byRequest = new WeakMap<object, Answers<Answer>>()
  return (): Answers<Answer> | undefined => {
    const { ctx } = Provider
    if (!ctx) return undefined
    const known = byRequest.get(ctx) ?? new Map()
    byRequest.set(ctx, known)
    return known
  }
}

/**
 * Asks each question of a request once. Several steps of a request need the same client or the same
 * grant, and all must see the same state of it. Nothing is kept for the next request.
 */
function oncePerRequest<Question extends (string | boolean | undefined)[], Answer>(
  ask: (...question: Question) => Promise<Answer>,
): (...question: Question) => Promise<Answer> {
  const answers = makeAnswers<Answer>()
  return async (...question) => {
    const key = JSON.stringify(question)
    const known = answers()
    const answer = known?.get(key) ?? ask(...question)
    known?.set(key, answer)
    return await answer
  }
}

/** Finds each grant of a request once. A grant found with its family or a client also answers for the grant alone. */
function grantOncePerRequest(find: FindGrant): FindGrant {
  const answers = makeAnswers<Awaited<ReturnType<FindGrant>>>()
  return async (question) => {
    const { grantId, familyId, callerId } = question
    const isPlain = familyId === undefined && callerId === undefined
    const key = isPlain ? `${grantId}` : JSON.stringify([grantId, familyId, callerId])
    const known = answers()
    const answer = known?.get(key) ?? find(question)
    known?.set(key, answer)
    const facts = await answer
    if (facts && known?.has(facts.grant.id) === false) known.set(facts.grant.id, answer)
    return facts
  }
}
