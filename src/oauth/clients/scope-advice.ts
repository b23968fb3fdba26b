import { findScope } from '../../directory/scopes/catalogue.ts'
import { needsOperator, needsResource } from '../../directory/scopes/policy.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { type Client, requestableScopes } from './client.ts'
import type { ClientFinder } from './find-client.ts'

/** The scopes that an operation needs, and those that a token has or had. */
export interface WantedScopes {
  readonly needed: readonly string[]
  readonly held: readonly string[]
  /** Whether one of those needed is enough. */
  readonly oneIsEnough: boolean
}

/** What a client is told to request. */
export interface ScopeAdvice {
  /** Those held and those needed, in the order of the catalogue; none where the client cannot get them. */
  readonly scopes: readonly string[]
  /** What the person does then: a clause that follows what is missing. */
  readonly remedy?: string
}

/** Advises by the client as it is now; a deleted client has nothing to lose. */
export function makeScopeAdvice(clients: Pick<ClientFinder, 'find'>, baseUrl: string) {
  return async (clientId: string, wanted: WantedScopes): Promise<ScopeAdvice> => {
    const client = await clients.find(clientId)
    return client ? adviseScopes(client, wanted, baseUrl) : { scopes: wanted.needed }
  }
}

/**
 * The scopes that a challenge names. Clients request exactly those: scopes already held are repeated, because
 * some clients would lose them (MCP authorization, scope challenge handling), and a scope that the
 * authorization endpoint refuses this client is never named.
 */
export function adviseScopes(
  client: Client,
  { needed, held, oneIsEnough }: WantedScopes,
  baseUrl: string,
): ScopeAdvice {
  const open = requestableScopes(client)
  const obtainable = needed.filter((scope) => open.includes(scope))
  const isReachable = oneIsEnough ? obtainable.length > 0 : obtainable.length === needed.length
  if (!isReachable) return { scopes: [], remedy: remedyFor(client, needed, baseUrl) }
  return { scopes: open.filter((scope) => held.includes(scope) || needed.includes(scope)) }
}

function remedyFor(client: Client, needed: readonly string[], baseUrl: string): string {
  const isOfSite = client.origin === 'site'
  if (needsResource(needed)) {
    return isOfSite
      ? 'the operator of the site did not choose it for this application and can add it'
      : `only an application that the operator of a site made gets the scopes of members: ask them for a client_id, see ${baseUrl}${pages.connectHome}`
  }
  if (needsOperator(needed) && isOfSite) {
    return `an application of a site gets no scope of operators: connect to ${baseUrl}${paths.mcpAdmin} without its client_id`
  }
  return isUnreviewed(client)
    ? `an operator has to review this client first, in the admin area under Self-declared clients (${baseUrl}${pages.admin})`
    : 'this client cannot get it'
}

/** What the sentences below need to know of a client, whichever way it was found. */
export interface RefusedClient extends Pick<Client, 'origin' | 'document'> {
  /** The scopes that it may request. */
  readonly open: readonly string[]
}

const NAMED_MAX = 3

/**
 * Tells a client, and the person who connects it, why it cannot have scopes, and what to do. Only characters
 * of RFC 6749 §4.1.2.1 may stand in it, so that nothing that was sent does, except names of the catalogue.
 */
export function explainRefusedScopes(
  client: RefusedClient,
  scope: string,
  baseUrl: string,
): string {
  const refused = scope.split(' ').filter((name) => findScope(name) && !client.open.includes(name))
  const named = refused.length > NAMED_MAX ? `${refused.length} scopes` : refused.join(' and ')
  const open = describeOpenScopes(client, baseUrl)
  if (client.origin === 'site') {
    return `${named} cannot be asked for by this application: ${open} Which ones these are was chosen by the operators of the site, who can choose others in the admin area.`
  }
  const members = refused.filter((name) => findScope(name)?.audience === 'member').join(' and ')
  if (members !== '') {
    return `${members} can only be asked for by a client that an operator of the site has made: ask an operator for a client_id, at ${baseUrl}${pages.connectHome}. Or set the scopes of your client to less: ${open}`
  }
  return isUnreviewed(client)
    ? `${named} can be asked for when an operator has reviewed this client, in the admin area. Until then: ${open}`
    : `${named} cannot be asked for by this client: ${open}`
}

/** RFC 6749 §3.3; some libraries join them otherwise unless told. */
const COMMAS = 'scopes are separated by spaces and not by commas'

/**
 * The fault of requested scopes whatever the client may have: none of them is known, or they are joined with
 * commas. Undefined where one is known.
 */
export function problemOfScopes(
  scope: string,
  client: RefusedClient,
  baseUrl: string,
): string | undefined {
  const asked = scope.split(' ')
  if (asked.some(findScope)) {
    // An unknown name is ignored; one that joins scopes would be missing without a word.
    const joins = asked.some((name) => name.includes(',') && name.split(',').some(findScope))
    return joins ? `${COMMAS}; with a comma at it, a name is that of no scope here` : undefined
  }
  const sentence = `scope must name at least one scope that is known: ${describeOpenScopes(client, baseUrl)}`
  return scope.includes(',') ? `${COMMAS}; ${sentence}` : sentence
}

/** A client of a site has a few scopes, which are named; the others have nearly the whole catalogue. */
function describeOpenScopes(client: RefusedClient, baseUrl: string): string {
  const list = `${baseUrl}${paths.authMd}#scopes`
  if (client.origin === 'site')
    return `it may ask for ${client.open.join(' ') || 'none'} (${list}).`
  const areas = isUnreviewed(client) ? 'reading scopes' : 'operator scopes'
  return `it may ask for openid, profile, email and ${areas}, for example openid courses:read (${list}).`
}

/** Whether the write scopes open to the client when an operator approves its document. */
function isUnreviewed({ origin, document }: Pick<Client, 'origin' | 'document'>): boolean {
  return origin === 'document' && document?.mayWriteSomewhere !== true
}
