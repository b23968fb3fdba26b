import { z } from 'zod'

import { grantTypesServed, type LoopbackRegistration } from '../clients/client.ts'
import { readClientName } from '../clients/client-name.ts'
import type { IntegrationRow } from '../clients/client-store.ts'
import { isLoopbackRedirect, isWebAddress } from '../clients/redirect-uri.ts'
import { invalidClientMetadata, unregisteredRedirectUri } from '../http/errors.ts'
import { decideScopes } from '../scopes/policy.ts'

/**
 * Who gets a client_id at the registration endpoint (specification, Client registration; design 6).
 * It owns the decision and stores nothing.
 */
export interface RegistrationPolicy {
  readonly integrations: readonly IntegrationRow[]
  readonly loopbackHosts: readonly string[]
}

export type RegistrationDecision =
  | { readonly kind: 'integration'; readonly integration: IntegrationRow; readonly scope: string }
  | { readonly kind: 'loopback'; readonly registration: LoopbackRegistration }

const REDIRECT_URIS_MAX = 10

/** The members that matter; others are ignored (RFC 7591 §2). */
const bodyShape = z.object({
  client_name: z.string().optional(),
  redirect_uris: z.array(z.string()).max(REDIRECT_URIS_MAX).optional(),
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
  const parsed = bodyShape.safeParse(body)
  if (!parsed.success) throw invalidClientMetadata(firstProblem(parsed.error))
  const read = readClientName(parsed.data.client_name ?? '')
  if ('problem' in read) throw invalidClientMetadata(read.problem)

  const { redirect_uris: redirectUris = [] } = parsed.data
  const integration = policy.integrations.find(({ client_name }) => client_name === read.name)
  if (integration && redirectUris.every((uri) => integration.redirect_uris.includes(uri))) {
    return { kind: 'integration', integration, scope: narrowed(parsed.data, 'integration') }
  }
  const isLoopback = (uri: string) => isLoopbackRedirect(uri, policy.loopbackHosts)
  if (redirectUris.length > 0 && redirectUris.every(isLoopback)) {
    return { kind: 'loopback', registration: loopbackOf(parsed.data, read.name, redirectUris) }
  }
  if (redirectUris.some((uri) => isWebAddress(uri) && !isLoopback(uri))) {
    throw unregisteredRedirectUri(
      `a fixed callback requires a registered integration; without one every redirect address must be of the form http://<host>:<port>/<path> with the host ${policy.loopbackHosts.join(' or ')}`,
    )
  }
  throw invalidClientMetadata(whyUnknown(redirectUris, integration !== undefined))
}

function loopbackOf(
  body: Body,
  name: string | undefined,
  redirectUris: readonly string[],
): LoopbackRegistration {
  const grantTypes = grantTypesServed.filter((type) => body.grant_types?.includes(type) ?? true)
  if (!grantTypes.includes('authorization_code')) {
    throw invalidClientMetadata('grant_types must include authorization_code')
  }
  if (body.response_types && !body.response_types.includes('code')) {
    throw invalidClientMetadata('response_types must include code')
  }
  const scope = narrowed(body, 'loopback')
  return { name, redirectUris: [...new Set(redirectUris)], grantTypes, scope }
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

function whyUnknown(redirectUris: readonly string[], known: boolean): string {
  if (redirectUris.length > 0) return 'redirect_uris may only have http loopback addresses'
  return known
    ? 'the redirect addresses are not those of the platform'
    : 'client_name is not a known integration, and there are no loopback redirect_uris'
}

function firstProblem({ issues: [issue] }: z.ZodError): string {
  return issue ? `${issue.path.join('.')}: ${issue.message}` : 'the metadata is malformed'
}
