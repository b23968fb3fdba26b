import { needsOperator, needsResource } from '../../directory/scopes/policy.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { type Client, requestableScopes } from './client.ts'
import type { ClientFinder } from './find-client.ts'

/** What an operation needs, of what a token has or had. */
export interface WantedScopes {
  readonly needed: readonly string[]
  readonly held: ReadonlySet<string>
  /** Whether one of those needed is enough. */
  readonly oneIsEnough: boolean
}

/** What a client is told to ask for. */
export interface ScopeAdvice {
  /** Those held and those needed, in the order of the catalogue; none where the client cannot get them. */
  readonly scopes: readonly string[]
  /** What the person does then: a clause that follows what is missing. */
  readonly remedy?: string
}

/**
 * What a challenge names. Clients ask for exactly that: those already held are repeated, because some
 * would lose them (MCP authorization, scope challenge handling), and one that this client is refused at
 * the authorization endpoint is never named.
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
  return { scopes: open.filter((scope) => held.has(scope) || needed.includes(scope)) }
}

function remedyFor(
  { origin, document }: Client,
  needed: readonly string[],
  baseUrl: string,
): string {
  if (needsResource(needed)) {
    return origin === 'site'
      ? 'the operator of the site did not choose it for this application and can add it'
      : `only an application that the operator of a site made gets the scopes of members: ask them for a client_id, see ${baseUrl}${pages.connectHome}`
  }
  if (needsOperator(needed) && origin === 'site') {
    return `an application of a site gets no scope of operators: connect to ${baseUrl}${paths.mcpAdmin} without its client_id`
  }
  return document?.mayWriteSomewhere === false
    ? `an operator has to review this client first, in the admin area under Self-declared clients (${baseUrl}${pages.admin})`
    : 'this client cannot get it'
}

/** Advises by the client as it is now; one that is gone has nothing to lose. */
export function makeScopeAdvice(clients: Pick<ClientFinder, 'find'>, baseUrl: string) {
  return async (clientId: string, wanted: WantedScopes): Promise<ScopeAdvice> => {
    const client = await clients.find(clientId)
    return client ? adviseScopes(client, wanted, baseUrl) : { scopes: wanted.needed }
  }
}
