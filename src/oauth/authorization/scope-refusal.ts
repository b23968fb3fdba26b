import { findScope } from '../../directory/scopes/catalogue.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { type EngineClient, factsOf } from '../clients/client-metadata.ts'

/**
 * What a client, and with it the person who connects it, is told about scopes that it cannot have: why,
 * and what to do. Only characters of RFC 6749 §4.1.2.1 may stand in it, so nothing that was sent does,
 * but for the names of the catalogue.
 */
export function explainRefusedScopes(client: EngineClient, scope: string, baseUrl: string): string {
  const allowed = client.scope?.split(' ') ?? []
  const refused = scope.split(' ').filter((name) => findScope(name) && !allowed.includes(name))
  const named = refused.length > NAMED_MAX ? `${refused.length} scopes` : refused.join(' and ')
  const { origin, document } = factsOf(client)
  const isMember = refused.some((name) => findScope(name)?.audience === 'member')
  if (origin === 'site') {
    return `${named} cannot be asked for by this application: ${whatIsOpen(client, baseUrl)} Which ones these are was chosen by the operators of the site, who can choose others in the admin area.`
  }
  if (isMember) {
    const members = refused.filter((name) => findScope(name)?.audience === 'member').join(' and ')
    return `${members} can only be asked for by a client that an operator of the site has made: ask an operator for a client_id, at ${baseUrl}${pages.connectHome}. Or set the scopes of your client to less: ${whatIsOpen(client, baseUrl)}`
  }
  if (origin === 'document' && document?.mayWriteSomewhere !== true) {
    return `${named} can be asked for when an operator has reviewed this client, in the admin area. Until then: ${whatIsOpen(client, baseUrl)}`
  }
  return `${named} cannot be asked for by this client: ${whatIsOpen(client, baseUrl)}`
}

const NAMED_MAX = 3

/**
 * What is wrong with the scopes of a request, whoever may have them: none of them is known, or they are
 * joined with commas. Nothing where one is known.
 */
export function problemOfScopes(
  scope: string,
  client: EngineClient,
  baseUrl: string,
): string | undefined {
  const asked = scope.split(' ')
  if (asked.some(findScope)) {
    return asked.some(joinsWithCommas) ? `${COMMAS}; ${COMMA_AT_A_NAME}` : undefined
  }
  const sentence = explainMissingScope(client, baseUrl)
  return scope.includes(',') ? `${COMMAS}; ${sentence}` : sentence
}

/** A name of no scope that holds one: ignored like any other, it would be missing without a word. */
function joinsWithCommas(name: string): boolean {
  return name.includes(',') && name.split(',').some(findScope)
}

/** RFC 6749 §3.3; some libraries join them otherwise unless told. */
const COMMAS = 'scopes are separated by spaces and not by commas'
const COMMA_AT_A_NAME = 'with a comma at it, a name is that of no scope here'

/** What a client that names no scope, or none that is known, is told. */
function explainMissingScope(client: EngineClient, baseUrl: string): string {
  return `scope must name at least one scope that is known: ${whatIsOpen(client, baseUrl)}`
}

/** A client of a site has a few scopes, which are named; the others have nearly the whole catalogue. */
function whatIsOpen(client: EngineClient, baseUrl: string): string {
  const { origin, document } = factsOf(client)
  const list = `${baseUrl}${paths.authMd}#scopes`
  if (origin === 'site') return `it may ask for ${client.scope ?? 'none'} (${list}).`
  const areas =
    origin === 'document' && document?.mayWriteSomewhere !== true
      ? 'reading scopes'
      : 'operator scopes'
  return `it may ask for openid, profile, email and ${areas}, for example openid courses:read (${list}).`
}
