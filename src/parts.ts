import type { Logger } from 'pino'

import { scopesOfAdminApi } from './admin-api/needed-scopes.ts'
import { type ClientRefusals, makeClientRefusals } from './applications/application-refusals.ts'
import { makeAuthorizationServer } from './authorization/authorization-server.ts'
import { makeCleanUp } from './clean-up/clean-up.ts'
import { makeClients } from './clients/find-client.ts'
import { makeScopeAdvice } from './clients/scope-advice.ts'
import type { Config } from './config/config.ts'
import { makeDiscovery } from './discovery/routes.ts'
import { makeFiles } from './files/files.ts'
import { type Grants, makeGrants } from './grants/grants.ts'
import { paths } from './http/paths.ts'
import type { Keys } from './keys/keys.ts'
import type { RequestLimits } from './limits/caller-limits.ts'
import { protocolVersions } from './mcp/protocol-versions.ts'
import { makeDocumentClients } from './metadata-documents/document-clients.ts'
import type { People } from './people/people.ts'
import { makeProofs } from './proofs/proofs.ts'
import { makeOwnPages, type OwnPagesPorts } from './relying-party/own-pages.ts'
import { makeVerdicts } from './resource-server/verdict.ts'
import { makeOpenedScopes } from './scopes/opened.ts'
import { makeSignOuts } from './sign-outs/sign-outs.ts'
import type { Stores } from './store/open-stores.ts'
import { makeTokens } from './token/tokens.ts'
import { openingOf } from './upstream/routes.ts'

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
