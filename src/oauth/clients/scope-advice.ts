import { findScope } from '../../directory/scopes/catalogue.ts'
import { needsOperator, needsResource } from '../../directory/scopes/policy.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { type Client, requestableScopes } from './client.ts'
import type { Clients } from './find-client.ts'

/** The scopes that an operation needs, and those that the token holds or held. */
export interface WantedScopes {
  readonly needed: readonly string[]
  readonly held: readonly string[]
  /** Whether one of the needed scopes suffices. */
  readonly oneIsEnough: boolean
}

/** The scopes that a client should request. */
export interface ScopeAdvice {
  /** Held and needed scopes in the order of the catalogue; empty if the client cannot get them. */
  readonly scopes: readonly string[]
  /** What the person can do instead, as a clause to put after the missing scopes. */
  readonly remedy?: string
}

/** Creates the advice from the client's current rights. For a deleted client, repeats the needed scopes. */
export function makeScopeAdvice(clients: Pick<Clients, 'find'>, baseUrl: string) {
  return async (clientId: string, wanted: WantedScopes): Promise<ScopeAdvice> => {
    const client = await clients.find(clientId)
    return client ? adviseScopes(client, wanted, baseUrl) : { scopes: wanted.needed }
  }
}

/**
 * Chooses the scopes of a challenge. Clients request exactly these scopes, so held scopes are repeated, or some
 * clients would lose them (MCP authorization, scope challenge handling). Never names a scope that the authorization
 * endpoint would reject.
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
      ? 'the operator of the site can add it to this application'
      : `member scopes need an application created by a site operator: ask an operator for a client_id at ${baseUrl}${pages.connectHome}`
  }
  if (needsOperator(needed) && isOfSite) {
    return `an application of a site cannot have operator scopes: connect to ${baseUrl}${paths.mcpAdmin} without its client_id`
  }
  return isUnreviewed(client)
    ? `an operator must first approve this client in the admin area under Self-declared clients (${baseUrl}${pages.admin})`
    : 'this client cannot get it'
}

/** The client properties that the explanations need. */
export interface RefusedClient extends Pick<Client, 'origin' | 'document'> {
  /** The scopes that the client may request. */
  readonly open: readonly string[]
}

const NAMED_MAX = 3

/**
 * Explains why a client cannot have scopes, and what to do. Uses only characters allowed by RFC 6749 §4.1.2.1, and
 * repeats only scope names from the catalogue.
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
    return `this application cannot request ${named}: ${open} Operators of the site choose its scopes in the admin area.`
  }
  const members = refused.filter((name) => findScope(name)?.audience === 'member').join(' and ')
  if (members !== '') {
    return `only an application created by a site operator can request ${members}: ask an operator for a client_id at ${baseUrl}${pages.connectHome}. Or reduce the scopes of your client: ${open}`
  }
  return isUnreviewed(client)
    ? `this client can request ${named} after an operator has approved it in the admin area. Until then: ${open}`
    : `this client cannot request ${named}: ${open}`
}

/** RFC 6749 §3.3; some libraries separate scopes by commas by default. */
const COMMAS = 'scopes must be separated by spaces, not commas'

/**
 * Finds a fault in the requested scopes that does not depend on the client's rights. Either no scope is known, or
 * scopes are separated by commas.
 */
export function problemOfScopes(
  scope: string,
  client: RefusedClient,
  baseUrl: string,
): string | undefined {
  const asked = scope.split(' ')
  if (asked.some(findScope)) {
    // Unknown names are ignored, but ignoring comma-separated scopes would silently drop known ones.
    const joins = asked.some((name) => name.includes(',') && name.split(',').some(findScope))
    return joins ? `${COMMAS}; a name that contains a comma is not a scope` : undefined
  }
  const sentence = `scope must name at least one known scope: ${describeOpenScopes(client, baseUrl)}`
  return scope.includes(',') ? `${COMMAS}; ${sentence}` : sentence
}

/** Lists the few scopes of a site's application; other clients may request nearly the whole catalogue. */
function describeOpenScopes(client: RefusedClient, baseUrl: string): string {
  const list = `${baseUrl}${paths.authMd}#scopes`
  if (client.origin === 'site')
    return `it can request ${client.open.join(' ') || 'none'} (${list}).`
  const areas = isUnreviewed(client) ? 'reading scopes' : 'operator scopes'
  return `it can request openid, profile, email and ${areas}, for example openid courses:read (${list}).`
}

/** Whether the client still lacks the approval of its document that write scopes require. */
function isUnreviewed({ origin, document }: Pick<Client, 'origin' | 'document'>): boolean {
  return origin === 'document' && document?.mayWriteSomewhere !== true
}
