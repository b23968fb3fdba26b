import { findScope } from '../../directory/scopes/catalogue.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import type { Client } from './client.ts'

/** The client properties that explanations of rejected scopes depend on. */
export interface RefusedClient extends Pick<Client, 'origin' | 'document'> {
  /** The scopes that the client may request. */
  readonly open: readonly string[]
}

const NAMED_MAX = 3
const listed = new Intl.ListFormat('en-GB')

/**
 * Explains why a client cannot request these scopes, and suggests a remedy. Uses only characters allowed by RFC 6749
 * §4.1.2.1, and repeats only scope names from the catalogue.
 */
export function explainRefusedScopes(
  client: RefusedClient,
  scope: string,
  baseUrl: string,
): string {
  const refused = scope.split(' ').filter((name) => findScope(name) && !client.open.includes(name))
  const count = refused.length
  const named = count > NAMED_MAX ? `${count} of the requested scopes` : listed.format(refused)
  const open = describeOpenScopes(client, baseUrl)
  if (isOfSite(client)) {
    const who = client.origin === 'site' ? 'Operators' : 'Owners'
    return `this application cannot request ${named}. It ${open} ${who} of the site choose its scopes in the admin area.`
  }
  const members = refused.filter((name) => findScope(name)?.audience === 'member')
  if (members.length > 0) {
    return `only an application created by a site operator can request ${listed.format(members)}; ask an operator for a client_id (see ${baseUrl}${pages.connectHome}), or request fewer scopes. This client ${open}`
  }
  return isUnreviewed(client)
    ? `this client can request ${named} after an operator has approved it in the admin area. Until then, it ${open}`
    : `this client cannot request ${named}; request other scopes instead. It ${open}`
}

/** The error description for scopes separated by commas (RFC 6749 §3.3), which some libraries send by default. */
const COMMAS = 'scopes must be separated by spaces, not commas'

/** Explains a `scope` that is wrong for every client: it names no known scope, or commas separate the names. */
export function problemOfScopes(
  scope: string,
  client: RefusedClient,
  baseUrl: string,
): string | undefined {
  const asked = scope.split(' ')
  if (asked.some(findScope)) {
    // Unknown names are ignored, so names joined by commas would be dropped without an error.
    const joins = asked.some((name) => name.includes(',') && name.split(',').some(findScope))
    return joins ? `${COMMAS}; a name that contains a comma is not a scope` : undefined
  }
  const open = describeOpenScopes(client, baseUrl)
  const sentence = `scope must name at least one known scope. This client ${open}`
  return scope.includes(',') ? `${COMMAS}; ${sentence}` : sentence
}

/** Lists all scopes of a site's application. Gives only examples for other clients, which have many scopes. */
function describeOpenScopes(client: RefusedClient, baseUrl: string): string {
  const list = `${baseUrl}${paths.authMd}#scopes`
  if (isOfSite(client)) return `can request ${client.open.join(' ') || 'no scopes'} (${list}).`
  const areas = isUnreviewed(client) ? 'read scopes' : 'operator scopes'
  return `can request openid, profile, email and ${areas}, for example openid courses:read (${list}).`
}

/** Whether the client is a site's application, so that operators choose its scopes. */
function isOfSite({ origin }: Pick<Client, 'origin'>): boolean {
  return origin === 'site' || origin === 'operator'
}

/** Whether the client cannot get write scopes yet, because its metadata document is not approved for any site. */
export function isUnreviewed({ origin, document }: Pick<Client, 'origin' | 'document'>): boolean {
  return origin === 'document' && document?.approvedSomewhere !== true
}
