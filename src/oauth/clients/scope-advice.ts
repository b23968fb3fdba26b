import { needsOperator, needsResource } from '../../directory/scopes/policy.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { type Client, requestableScopes } from './client.ts'
import type { Clients } from './find-client.ts'
import { isUnreviewed } from './refused-scopes.ts'

/** The scopes that an operation needs, and those that the token holds or held. */
export interface WantedScopes {
  readonly needed: readonly string[]
  readonly held: readonly string[]
  /** Whether any one of the needed scopes suffices. */
  readonly oneIsEnough: boolean
}

/** The scopes that a client should request. */
export interface ScopeAdvice {
  /** Held and needed scopes in the order of the catalogue; empty if the client cannot get the needed ones. */
  readonly scopes: readonly string[]
  /** What the person can do instead, as a clause that follows the missing scopes. */
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
 * Chooses the scopes of a challenge. Clients request exactly these scopes. So held scopes are repeated, because some
 * clients would otherwise lose them (MCP authorization, scope challenge handling). Never names a scope that the
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
