import { findScope } from '../../directory/scopes/catalogue.ts'
import { paths } from '../../platform/http/paths.ts'
import { type Client, isUnreviewed } from './client.ts'
import { remedyFor } from './scope-advice.ts'

/** The client properties that explanations of rejected scopes depend on. */
export interface RefusedClient extends Pick<Client, 'clientId' | 'origin' | 'document'> {
  /** The scopes that the client may request. */
  readonly open: readonly string[]
}

const NAMED_MAX = 3
const listed = new Intl.ListFormat('en-GB')

/**
 * Explains why a client cannot request these scopes, and suggests a remedy. Uses only characters allowed by RFC 6749
 * §4.1.2.1. Repeats nothing from the request except scope names from the catalogue and the encoded client_id.
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
  return `this client cannot request ${named}: ${remedyFor(client, refused, baseUrl)}; otherwise, request fewer scopes. It ${open}`
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
  const sentence = `the scope parameter must name at least one known scope. This client ${open}`
  return scope.includes(',') ? `${COMMAS}; ${sentence}` : sentence
}

/** Lists all scopes of a site's application. Gives only examples for other clients, which have many scopes. */
function describeOpenScopes(client: RefusedClient, baseUrl: string): string {
  const list = `${baseUrl}${paths.authMd}#scopes`
  if (client.origin === 'site' || client.origin === 'operator')
    return `can request ${client.open.join(' ') || 'no scopes'} (${list}).`
  const areas = isUnreviewed(client) ? 'read scopes' : 'operator scopes'
  return `can request openid, profile, email and ${areas}, for example openid courses:read (${list}).`
}
