import { z } from 'zod'

import { decideScopes } from '../../directory/scopes/policy.ts'
import { invalidClientMetadata, unregisteredRedirectUri } from '../../platform/http/errors.ts'
import { matchesPattern } from '../../platform/http/redirect-pattern.ts'
import {
  differInPortOnly,
  isLoopbackRedirect,
  isWebAddress,
} from '../../platform/http/redirect-uri.ts'
import { grantTypesServed, type LoopbackRegistration } from '../clients/client.ts'
import { readClientName } from '../clients/client-name.ts'
import type { IntegrationRow } from '../clients/client-store.ts'
import { type RefusalFacts, whyForeign, whyUnknown } from './refusals.ts'

/**
 * Who gets a client_id at the registration endpoint (specification, Client registration; design 6).
 * It owns the decision and stores nothing.
 */
export interface RegistrationPolicy extends RefusalFacts {
  readonly integrations: readonly IntegrationRow[]
}

export type RegistrationDecision =
  | IntegrationDecision
  | { readonly kind: 'loopback'; readonly registration: LoopbackRegistration }

export interface IntegrationDecision {
  readonly kind: 'integration'
  readonly integration: IntegrationRow
  /** Those of the row, and what was sent besides that counts as one of them. */
  readonly redirectUris: readonly string[]
  /** Those of them that a pattern admitted, to be kept. */
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

type Body = z.infer<typeof bodyShape>

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
): RegistrationDecision {
  const parsed = bodyShape.safeParse(withoutNulls(body))
  if (!parsed.success) throw invalidClientMetadata(firstProblem(parsed.error))
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
    const own = { name: read.name, redirectUris, postLogoutRedirectUris: afterSignOut }
    return { kind: 'loopback', registration: loopbackOf(parsed.data, own) }
  }
  const foreign = redirectUris.filter((uri) => isWebAddress(uri) && !isLoopback(uri))
  if (foreign.length > 0) throw unregisteredRedirectUri(whyForeign(foreign, policy))
  throw invalidClientMetadata(whyUnknown(redirectUris, integration !== undefined, policy))
}

/** Some clients write every member that they know, and null for what they have not. */
function withoutNulls(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
}

/**
 * What of a body's addresses is the platform's: nothing when an http or https address is not, or when
 * there are addresses and none is. An app's own scheme that is not listed is left out (design 6).
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

function loopbackOf(
  body: Body,
  own: Pick<LoopbackRegistration, 'name' | 'redirectUris' | 'postLogoutRedirectUris'>,
): LoopbackRegistration {
  const grantTypes = grantTypesServed.filter((type) => body.grant_types?.includes(type) ?? true)
  if (!grantTypes.includes('authorization_code')) {
    throw invalidClientMetadata('grant_types must include authorization_code')
  }
  if (body.response_types && !body.response_types.includes('code')) {
    throw invalidClientMetadata('response_types must include code')
  }
  const scope = narrowed(body, 'loopback')
  const redirectUris = [...new Set(own.redirectUris)]
  return { ...own, redirectUris, grantTypes, scope }
}

/**
 * What was asked for of what the origin may have; all of that when nothing known was asked for.
 * Clients copy the scope of a challenge that may have been meant for another kind of client.
 */
function narrowed({ scope }: Body, origin: 'integration' | 'loopback'): string {
  const open = decideScopes({ origin })
  const asked = new Set(scope?.split(' '))
  const kept = open.filter((name) => asked.has(name))
  return (kept.length > 0 ? kept : open).join(' ')
}

function firstProblem({ issues: [issue] }: z.ZodError): string {
  return issue ? `${issue.path.join('.')}: ${issue.message}` : 'the metadata is malformed'
}
