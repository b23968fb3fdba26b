import { findScope } from '../../directory/scopes/catalogue.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import type { Client } from './client.ts'

/** The client properties that the explanations depend on. */
export interface RefusedClient extends Pick<Client, 'origin' | 'document'> {
  /** The scopes that the client may request. */
  readonly open: readonly string[]
}

const NAMED_MAX = 3

/**
 * Explains why a client cannot request these scopes, and what to do. Uses only characters allowed by RFC 6749 §4.1.2.1,
 * and repeats only scope names from the catalogue.
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

/** Describes scopes separated by commas instead of spaces (RFC 6749 §3.3), which some libraries send by default. */
const COMMAS = 'scopes must be separated by spaces, not commas'

/**
 * Finds a problem of the requested scopes that does not depend on the client's rights. Either no scope is known, or
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
  const areas = isUnreviewed(client) ? 'read scopes' : 'operator scopes'
  return `it can request openid, profile, email and ${areas}, for example openid courses:read (${list}).`
}

/** Whether the client cannot have write scopes yet, because no site has approved its document. */
export function isUnreviewed({ origin, document }: Pick<Client, 'origin' | 'document'>): boolean {
  return origin === 'document' && document?.mayWriteSomewhere !== true
}
