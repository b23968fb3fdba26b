import type { ApplicationFormPage } from '../../../views/admin-application-form.ts'
import type { Html } from '../../../views/html.ts'
import { inCode, listText, text } from '../../../views/text.ts'
import { catalogue } from '../../directory/scopes/catalogue.ts'
import { describeScope } from '../../directory/scopes/scope-uses.ts'
import { hasForbiddenCharacters } from '../../oauth/clients/client.ts'
import { leadsToThisMachine } from '../../platform/http/loopback.ts'
import type { ApplicationType, ClientAuthMethod } from '../../platform/store/oauth-tables.ts'

/** The validated input for an application (design 2). The engine accepts all input that is valid here. */
export interface CheckedApplication {
  readonly name: string
  readonly redirectUris: readonly string[]
  /** The post-logout redirect URIs (RP-Initiated Logout §3); may be empty. */
  readonly postLogoutRedirectUris: readonly string[]
  readonly authMethod: ClientAuthMethod
  readonly applicationType: ApplicationType
  readonly scopes: readonly string[]
  /** Whether the application acts for an owner, with operator scopes (design 40). */
  readonly isOperator?: boolean
  /** Whether grants to this application never expire as long as their tokens are refreshed. */
  readonly isEndless?: boolean
}

/** The problems with each field, as sentences. */
export type EntryProblems = ApplicationFormPage['problems']
/** The input as entered, with one URI per line. */
export type TypedEntry = ApplicationFormPage['typed']

/** Converts an application to the values of the form. */
export function entryOf(application: CheckedApplication): TypedEntry {
  const { name, redirectUris, postLogoutRedirectUris, scopes, isOperator } = application
  return {
    ...{ name, scopes, isEndless: application.isEndless === true },
    authMethod: isOperator ? OPERATOR : application.authMethod,
    redirectUris: redirectUris.join('\n'),
    postLogoutRedirectUris: postLogoutRedirectUris.join('\n'),
  }
}

/** The loopback hosts and app schemes that the deployment allows in redirect URIs. */
interface RedirectRules {
  readonly loopbackHosts: readonly string[]
  /** Schemes of known assistants that are not reversed domain names, including the colon: `cursor:`. */
  readonly appSchemes: readonly string[]
}

/** The form value for the kind of application that acts for an owner. */
export const OPERATOR = 'operator'

const NAME_LENGTH_MAX = 80
const URI_LENGTH_MAX = 2000
const URIS_MAX = 20

/** Returns the scopes to choose from, with descriptions. Applications may always request identity scopes. */
export function choosableScopes(isOperator = false) {
  return catalogue
    .filter(({ audience }) => audience === (isOperator ? 'operator' : 'member'))
    .map((scope) => ({ name: scope.name, words: describeScope(scope) }))
}

export function checkEntry(
  typed: TypedEntry,
  { loopbackHosts, appSchemes }: RedirectRules,
):
  | { readonly kind: 'good'; readonly application: CheckedApplication }
  | { readonly kind: 'bad'; readonly problems: EntryProblems } {
  const name = typed.name.normalize('NFC').trim()
  const redirectUris = linesOf(typed.redirectUris)
  const postLogoutRedirectUris = linesOf(typed.postLogoutRedirectUris)
  const isOperator = typed.authMethod === OPERATOR
  const isServer = isOperator || typed.authMethod === 'client_secret_post'
  const authMethod = isServer ? 'client_secret_post' : 'none'
  const scopes = choosableScopes(isOperator)
    .filter((scope) => typed.scopes.includes(scope.name))
    .map((scope) => scope.name)

  const rules: UriRules = { authMethod, isOperator, loopbackHosts, appSchemes }
  const isKnownKind = isServer || typed.authMethod === 'none'
  const problems: EntryProblems = {
    name: problemOfName(name),
    redirectUris:
      redirectUris.length === 0
        ? [text('applications.wrong.noUri')]
        : problemsOfUris(redirectUris, rules),
    postLogoutRedirectUris: problemsOfUris(postLogoutRedirectUris, rules),
    authMethod: isKnownKind ? undefined : text('applications.wrong.kind'),
    scopes: scopeProblem(scopes, typed, isOperator),
  }
  if (Object.values(problems).some(Boolean)) return { kind: 'bad', problems }
  const applicationType = typeOf(redirectUris, authMethod)
  const addresses = { redirectUris, postLogoutRedirectUris }
  const isEndless = isOperator && typed.isEndless === true
  const kind = { authMethod, applicationType, isOperator, isEndless } as const
  return { kind: 'good', application: { name, ...addresses, scopes, ...kind } }
}

function linesOf(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

function scopeProblem(scopes: readonly string[], typed: TypedEntry, isOperator: boolean) {
  if (isOperator && scopes.length === 0) return text('applications.wrong.noScope')
  return scopes.length < new Set(typed.scopes).size ? text('applications.wrong.scopes') : undefined
}

/** Returns the problem with the name of an application or resource server, if any. */
export function problemOfName(name: string): Html | undefined {
  if (name === '') return text('applications.wrong.noName')
  if (name.length > NAME_LENGTH_MAX)
    return text('applications.wrong.longName', { max: NAME_LENGTH_MAX })
  return hasForbiddenCharacters(name) ? text('applications.wrong.hiddenName') : undefined
}

interface UriRules extends RedirectRules {
  readonly authMethod: ClientAuthMethod
  readonly isOperator: boolean
}

function problemsOfUris(uris: readonly string[], rules: UriRules): Html[] | undefined {
  if (uris.length > URIS_MAX) return [text('applications.wrong.uris', { max: URIS_MAX })]
  const problems = uris.flatMap((uri, position) => {
    const problem = uris.indexOf(uri) < position ? 'twice' : problemOfUri(uri, rules)
    if (problem === undefined) return []
    const as = shown(URL.parse(uri)?.href ?? '')
    const hosts = listText(rules.loopbackHosts.map(inCode))
    return text(`applications.wrong.${problem}`, { uri: shown(uri), as, hosts })
  })
  return problems.length > 0 ? problems : undefined
}

/** Returns the problem with a (post-logout) redirect URI, if any (RFC 6749 §3.1.2, RFC 8252 §7, RFC 9700 §2.1). */
function problemOfUri(uri: string, rules: UriRules) {
  if (uri.length > URI_LENGTH_MAX) return 'long'
  const url = URL.parse(uri)
  if (!url) return 'uri'
  if (uri.includes('#')) return 'fragment'
  if (url.username || url.password) return 'login'
  if (uri.includes('*')) return 'wildcard'
  // A non-canonical URI would never match, or would disguise its host.
  if (url.href !== uri && url.href !== `${uri}/`) return 'spelling'
  return problemOfScheme(url, rules)
}

function problemOfScheme(
  { protocol, hostname }: URL,
  { authMethod, isOperator, loopbackHosts, appSchemes }: UriRules,
) {
  const onThisMachine = leadsToThisMachine(hostname)
  if (protocol === 'https:') return onThisMachine ? 'localHttps' : undefined
  if (isOperator) return 'serverOnly'
  if (protocol === 'http:') {
    if (!onThisMachine) return 'https'
    return loopbackHosts.includes(hostname) ? undefined : 'localHost'
  }
  // The scheme of an app is a reversed domain name (RFC 8252 §7.1).
  const isReverseDomain = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(protocol)
  if (!isReverseDomain && !appSchemes.includes(protocol)) return 'scheme'
  return authMethod === 'none' ? undefined : 'device'
}

/** Returns the application type. Only native clients may vary the port of a loopback URI (RFC 8252 §7.3). */
function typeOf(uris: readonly string[], authMethod: ClientAuthMethod): ApplicationType {
  const onDevice = uris.some((uri) => !uri.startsWith('https:'))
  return authMethod === 'none' && onDevice ? 'native' : 'web'
}

const SHOWN_LENGTH_MAX = 100

function shown(uri: string): Html {
  return inCode(uri.length > SHOWN_LENGTH_MAX ? `${uri.slice(0, SHOWN_LENGTH_MAX)}…` : uri)
}
