import { needsOperator, needsResource } from '../../directory/scopes/policy.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { type Client, isUnreviewed, requestableScopes } from './client.ts'
import type { Clients } from './find-client.ts'

/** The scopes that an operation needs, and the scopes of the client's token. */
export interface WantedScopes {
  readonly needed: readonly string[]
  readonly held: readonly string[]
  /** Whether any one of the needed scopes suffices. */
  readonly oneIsEnough: boolean
}

/** The scopes that a client should request. */
export interface ScopeAdvice {
  /** The held and needed scopes that the client may request; empty if it cannot get access. */
  readonly scopes: readonly string[]
  /** What to do if `scopes` is empty: a clause that follows the names of the missing scopes. */
  readonly remedy?: string
}

/** Creates the function that advises a client on its scopes. For an unknown client, it returns the needed scopes. */
export function makeScopeAdvice(clients: Pick<Clients, 'find'>, baseUrl: string) {
  return async (clientId: string, wanted: WantedScopes): Promise<ScopeAdvice> => {
    const client = await clients.find(clientId)
    return client ? adviseScopes(client, wanted, baseUrl) : { scopes: wanted.needed }
  }
}

/**
 * Chooses the scopes of a challenge. Includes held scopes, because some clients request exactly the scopes of the
 * challenge and would lose the others (MCP authorization, scope challenge handling). Never includes a scope that the
 * authorization endpoint would reject.
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

/** Returns a clause that says how a client, or its user, can get scopes that the client cannot request now. */
export function remedyFor(
  client: Pick<Client, 'clientId' | 'origin' | 'document'>,
  needed: readonly string[],
  baseUrl: string,
): string {
  const approval = new URLSearchParams({ approve: client.clientId })
  const isOfSite = client.origin === 'site'
  const scopes = needed.length === 1 ? 'the required scope' : 'the required scopes'
  if (needsOperator(needed) && isOfSite) {
    return `a site's application cannot have operator scopes: connect to ${baseUrl}${paths.mcpAdmin} without its client_id`
  }
  if (needsResource(needed)) {
    return isOfSite
      ? `an operator of the site can add ${scopes} to this application`
      : `member scopes need an application created by a site operator: ask an operator for a client_id, as described at ${baseUrl}${pages.connectHome}`
  }
  if (needsOperator(needed) && client.origin === 'operator')
    return `an owner of the site can add ${scopes} to this application`
  return isUnreviewed(client)
    ? `an operator must first approve this client at ${baseUrl}${pages.admin}?${approval}`
    : `this client cannot get ${scopes}`
}
