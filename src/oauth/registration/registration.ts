import { z } from 'zod'

import { decideScopes } from '../../directory/scopes/policy.ts'
import { invalidClientMetadata, unregisteredRedirectUri } from '../../platform/http/errors.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import {
  differInPortOnly,
  isLoopbackRedirect,
  isWebAddress,
  matchesPattern,
} from '../../platform/http/redirect-uri.ts'
import { grantTypesServed, type LoopbackRegistration, readClientName } from '../clients/client.ts'
import type { IntegrationRow } from '../clients/client-store.ts'

/**
 * Who gets a client_id at the registration endpoint (specification, Client registration; design 6).
 * It owns the decision and stores nothing.
 */
export interface RegistrationPolicy {
  readonly baseUrl: string
  readonly loopbackHosts: readonly string[]
  readonly metadataDocuments: {
    readonly hosts: readonly string[]
    readonly openRegistration: boolean
  }
  readonly integrations: readonly IntegrationRow[]
}

export interface IntegrationDecision {
  readonly kind: 'integration'
  readonly integration: IntegrationRow
  /** Those of the row, and sent addresses that count as one of them. */
  readonly redirectUris: readonly string[]
  /** Those that a pattern admitted, to be kept. */
  readonly byPattern: readonly string[]
  readonly scope: string
}

const REDIRECT_URIS_MAX = 10

/** The members that matter; others are ignored (RFC 7591 §2). */
const bodyShape = z.object({
  client_name: z.string().optional(),
  redirect_uris: z.array(z.string()).max(REDIRECT_URIS_MAX).optional(),
  post_logout_redirect_uris: z.array(z.string()).max(REDIRECT_URIS_MAX).optional(),
  application_type: z.string().optional(),
  token_endpoint_auth_method: z.string().optional(),
  grant_types: z.array(z.string()).optional(),
  response_types: z.array(z.string()).optional(),
  scope: z.string().optional(),
})

type RegistrationBody = z.infer<typeof bodyShape>

/**
 * Decides on a registration, in the order of design 6. Values that RFC 7591 §2 lets a server replace
 * are replaced and not refused, because clients send one body to every server: authentication method
 * and application type follow from the kind of client, grant types and scopes are narrowed.
 *
 * @throws invalidClientMetadata or unregisteredRedirectUri, with the reason
 */
export function decideRegistration(
  body: Readonly<Record<string, unknown>>,
  policy: RegistrationPolicy,
): IntegrationDecision | { kind: 'loopback'; registration: LoopbackRegistration } {
  const parsed = bodyShape.safeParse(withoutNulls(body))
  if (!parsed.success) throw invalidClientMetadata(firstFault(parsed.error))
  const read = readClientName(parsed.data.client_name ?? '')
  if ('problem' in read) throw invalidClientMetadata(read.problem)

  const { redirect_uris: redirectUris = [] } = parsed.data
  const integration = policy.integrations.find(
    ({ client_name, other_names }) =>
      read.name !== undefined && [client_name, ...other_names].includes(read.name),
  )
  const recognized = integration && recognize(redirectUris, integration)
  if (integration && recognized) {
    const scope = narrowed(parsed.data, 'integration')
    return { kind: 'integration', integration, ...recognized, scope }
  }
  const isLoopback = (uri: string) => isLoopbackRedirect(uri, policy.loopbackHosts)
  if (redirectUris.length > 0 && redirectUris.every(isLoopback)) {
    const afterSignOut = (parsed.data.post_logout_redirect_uris ?? []).filter(isLoopback)
    const own = {
      name: read.name,
      redirectUris: [...new Set(redirectUris)],
      postLogoutRedirectUris: afterSignOut,
    }
    return { kind: 'loopback', registration: { ...own, ...narrowLoopback(parsed.data) } }
  }
  const foreign = redirectUris.filter((uri) => isWebAddress(uri) && !isLoopback(uri))
  if (foreign.length > 0) throw unregisteredRedirectUri(whyForeign(foreign, policy))
  const isKnown = integration !== undefined
  throw invalidClientMetadata(whyUnknown(redirectUris.length > 0, isKnown, policy))
}

/** Some clients send null for every member that they do not set. */
function withoutNulls(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
}

/**
 * The platform's addresses in a body. Undefined when an http or https address is not the platform's, or
 * when there are addresses and none is. An app's own scheme that is not listed is left out (design 6).
 */
function recognize(
  redirectUris: readonly string[],
  row: IntegrationRow,
): Pick<IntegrationDecision, 'redirectUris' | 'byPattern'> | undefined {
  const isListed = (uri: string) =>
    row.redirect_uris.some((listed) => listed === uri || differInPortOnly(uri, listed))
  const listed = redirectUris.filter(isListed)
  const byPattern = [...new Set(redirectUris)].filter((uri) =>
    row.redirect_patterns.some((pattern) => matchesPattern(uri, pattern)),
  )
  const known = [...listed, ...byPattern]
  const isForeign = redirectUris.some((uri) => isWebAddress(uri) && !known.includes(uri))
  if (isForeign || (redirectUris.length > 0 && known.length === 0)) return undefined
  return { redirectUris: [...new Set([...row.redirect_uris, ...known])], byPattern }
}

function narrowLoopback(body: RegistrationBody) {
  const grantTypes = grantTypesServed.filter((type) => body.grant_types?.includes(type) ?? true)
  if (!grantTypes.includes('authorization_code')) {
    throw invalidClientMetadata('grant_types must include authorization_code')
  }
  if (body.response_types && !body.response_types.includes('code')) {
    throw invalidClientMetadata('response_types must include code')
  }
  return { grantTypes, scope: narrowed(body, 'loopback') }
}

/**
 * The requested scopes that the origin may have; all that it may have when none of them is known.
 * Clients copy the scope of a challenge that may have been meant for another kind of client.
 */
function narrowed({ scope }: RegistrationBody, origin: 'integration' | 'loopback'): string {
  const open = decideScopes({ origin })
  const asked = new Set(scope?.split(' '))
  const kept = open.filter((name) => asked.has(name))
  return (kept.length > 0 ? kept : open).join(' ')
}

function firstFault({ issues: [issue] }: z.ZodError): string {
  return issue ? `${issue.path.join('.')}: ${issue.message}` : 'the metadata is malformed'
}

/**
 * Why an http or https address is refused, and what to do. The people who read it connect an assistant, so
 * that each sentence names the next step and where to take it. Nothing that was sent is quoted, except an
 * address in the accepted form.
 */
function whyForeign(foreign: readonly string[], policy: RegistrationPolicy): string {
  const { loopbackHosts } = policy
  const [pathless] = foreign.filter((uri) => isLoopbackRedirect(`${uri}/`, loopbackHosts))
  if (pathless !== undefined && foreign.length === 1) {
    return `a loopback redirect address needs a path: send ${pathless}/callback, for example`
  }
  return `a fixed callback requires a registered integration. ${otherWays(policy)} Without one every redirect address must be of the form http://<host>:<port>/<path> with the host ${loopbackHosts.join(' or ')}`
}

/** Why a body describes neither a platform nor a loopback client, and what to do. */
function whyUnknown(hasAddresses: boolean, isKnown: boolean, policy: RegistrationPolicy): string {
  const known = isKnown
    ? 'none of the redirect addresses is one of the platform'
    : 'redirect_uris may only have http loopback addresses'
  const why = hasAddresses
    ? known
    : 'client_name is not a known integration, and there are no loopback redirect_uris'
  return `${why}. ${otherWays(policy)}`
}

function otherWays({ baseUrl, metadataDocuments }: RegistrationPolicy): string {
  const ask = `Ask an operator of the site for a client_id, at ${baseUrl}${pages.connectHome}`
  const { hosts, openRegistration } = metadataDocuments
  if (!openRegistration && hosts.length === 0) return `${ask}.`
  const where = openRegistration ? '' : ' on a host that is admitted'
  return `${ask}, or publish a client ID metadata document${where} (${baseUrl}${paths.authMd}).`
}
