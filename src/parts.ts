import type { Logger } from 'pino'

import { scopesOfAdminApi } from './api/admin-api/needed-scopes.ts'
import { makeDiscovery } from './api/discovery/routes.ts'
import { protocolVersions } from './api/mcp/protocol-versions.ts'
import type { Config } from './config/config.ts'
import type { People } from './directory/people/people.ts'
import { makeOpenedScopes } from './directory/scopes/opened.ts'
import { makeAuthorizationServer } from './oauth/authorization/authorization-server.ts'
import { makeDocumentClients } from './oauth/clients/document-clients.ts'
import { makeClients } from './oauth/clients/find-client.ts'
import { makeScopeAdvice } from './oauth/clients/scope-advice.ts'
import { type Grants, makeGrants } from './oauth/grants/grants.ts'
import type { Keys } from './oauth/keys/keys.ts'
import { makeProofs } from './oauth/proofs/proofs.ts'
import { makeSignOuts } from './oauth/sign-outs/sign-outs.ts'
import { makeTokens } from './oauth/token/tokens.ts'
import { makeCleanUp } from './ops/clean-up/clean-up.ts'
import {
  type ClientRefusals,
  makeClientRefusals,
} from './pages/applications/application-refusals.ts'
import { makeOwnPages, type OwnPagesPorts } from './pages/relying-party/own-pages.ts'
import { paths } from './platform/http/paths.ts'
import type { RequestLimits } from './platform/limits/caller-limits.ts'
import type { Stores } from './platform/store/open-stores.ts'
import { makeVerdicts } from './resource/resource-server/verdict.ts'
import { openingOf } from './resource/upstream/routes.ts'
import { makeFiles } from './school/files/files.ts'

/** What the parts are made of. */
export interface Ground
  extends Stores,
    Pick<OwnPagesPorts, 'handler' | 'noteEvent'>,
    RequestLimits {
  readonly logger: Logger
  readonly keys: Keys
  readonly people: People
  readonly now: () => number
  readonly fetch: Parameters<typeof makeAuthorizationServer>[0]['documentResolution']['fetch']
}

/** The parts that are no surface. Each is made once. */
export async function makeParts(config: Config, ground: Ground) {
  const { baseUrl, service, integrations, conformance } = config
  const { secretRoot, cursors } = ground.keys
  const { lifetimes, metadataDocuments, name: serviceName } = service
  const ownPages = makeOwnPages({
    ...ground,
    baseUrl,
    serviceName,
    cursors,
    seals: secretRoot,
    formKey: secretRoot.formKey,
    sessionSeconds: lifetimes.pageSessionSeconds,
  })
  const own = { ...secretRoot, own: ownPages.client }
  const { documents, clients } = makeClientParts(config, { ...ground, ...own })
  const { admitsOrigin } = clients
  // To a grant the suite's clients are platforms that the configuration lists.
  const listed = [...integrations, ...(conformance?.clients ?? [])]
  const grants = makeGrants({ ...ground, ...lifetimes, integrations: listed, admitsOrigin })
  const opened = makeOpenedScopes(() => [
    { address: paths.adminGraphql, scopes: scopesOfAdminApi() },
    ...service.upstreams.map(openingOf),
  ])
  const discovery = makeDiscovery({ baseUrl, service, integrations, opened, protocolVersions })
  const acceptsDocuments = metadataDocuments.openRegistration || metadataDocuments.hosts.length > 0
  const countUse = grants.usage.count
  const { furtherPlans, authorizationRequests: requestLengths } = service
  const proofs = makeProofs({ ...ground, baseUrl, secretRoot, furtherPlans })
  const tokens = makeTokens({
    ...{ ...ground, ...lifetimes, findGrant: grants.findGrant },
    keys: secretRoot.tokenKeys,
  })
  const refusals = makeClientRefusals(ground.database)
  const signOuts = makeSignOutPart(config, ground, { grants, refusals })
  const authorization = await makeAuthorizationServer({
    ...ground,
    ...{ baseUrl, furtherPlans, requestLengths, signOuts, ...proofs },
    lifetimes,
    conformance,
    cookieKeys: secretRoot.cookieKeys,
    ...tokens,
    clients,
    ...{ grants: grants.store, families: grants.families },
    grantSeconds: grants.grantSeconds,
    findGrant: grants.findGrant,
    findAllowed: grants.findAllowed,
    findPerson: ground.people.findPerson,
    signOutSession: ground.people.signOutSession,
    connectionPrefixes: config.assistants.flatMap(({ ownCallback }) => ownCallback?.prefix ?? []),
    documentResolution: { enabled: acceptsDocuments, documents, fetch: ground.fetch },
  })
  const judging = { lifetimes, countUse, checkDpop: proofs.checkDpop, audience: baseUrl }
  const verdicts = makeVerdicts({ ...ground, ...tokens, ...judging })
  const made = { signOuts, ownPages, clients, grants, opened, discovery, authorization, refusals }
  const files = await makeFiles(config, { ...ground, ...secretRoot })
  const adviseOnScopes = makeScopeAdvice(clients, baseUrl)
  const verifyAssertion = proofs.verifyAssertionWith(authorization.findClientKeys)
  const asked = {
    cleanUp: makeCleanUpPart(config, ground),
    countUse,
    acceptsDocuments,
    adviseOnScopes,
    verifyAssertion,
  }
  return { ...ground, ...made, ...files, ...verdicts, ...asked }
}

/** What is told of sign-outs, where the configuration has it. */
function makeSignOutPart(
  { service: { furtherPlans } }: Config,
  ground: Ground,
  { grants, refusals }: { readonly grants: Grants; readonly refusals: ClientRefusals },
) {
  if (!furtherPlans.backChannelLogout) return undefined
  return makeSignOuts({
    ...{ ...ground, findGrant: grants.findGrant },
    noteFailure(clientId, reason) {
      refusals.noteSignOut(clientId, reason)
      ground.noteEvent({ action: 'sign_out_notice.failure', clientId, reason })
    },
  })
}

function makeCleanUpPart({ service: { lifetimes, storage, audit } }: Config, ground: Ground) {
  const { refreshTokenAbsoluteSeconds, accessTokenSeconds } = lifetimes
  return makeCleanUp({
    ...ground,
    runSeconds: storage.sweepSeconds,
    keeping: {
      tokensLiveSeconds: refreshTokenAbsoluteSeconds + accessTokenSeconds,
      auditDays: audit.keepDays,
    },
  })
}

/** Every way in which a client comes to be. */
function makeClientParts(
  { service, integrations, documentCopies: copies }: Config,
  ground: Ground & Pick<Parameters<typeof makeClients>[0], 'own' | 'networkKey'>,
) {
  const { metadataDocuments: policy, loopbackHosts } = service
  const documents = makeDocumentClients({ ...ground, policy, loopbackHosts, copies })
  return { documents, clients: makeClients({ ...ground, ...service, integrations, documents }) }
}
