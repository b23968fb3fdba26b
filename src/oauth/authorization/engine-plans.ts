import { type Configuration, errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider'

import { choseFapi, type EngineClient } from '../clients/client-metadata.ts'
import type { FurtherPlans } from '../clients/further-plans.ts'
import { problemOfAudience } from '../proofs/assertion-audience.ts'
import { problemOfTime } from '../proofs/assertion-time.ts'
import { proofAlgorithms } from '../proofs/proof-algorithms.ts'
import type { UseOnce } from '../proofs/used-proofs.ts'
import { type DocumentResolution, documentFeature } from './engine-documents.ts'
import { rememberProofsOnce } from './engine-proofs.ts'

export interface PlanDependencies {
  readonly furtherPlans: FurtherPlans
  /** Of the nonces that proofs carry (oauth/proofs/dpop-nonces.ts): 32 bytes. */
  readonly nonceKey: Buffer
  readonly documentResolution: DocumentResolution
  readonly useOnce: UseOnce
}

type AuthMethod = 'client_secret_post' | 'none' | 'private_key_jwt'

/** In this order: some libraries take the first that they know, and with `none` would send no secret. */
export function clientAuthMethods({ privateKeyJwt }: FurtherPlans): AuthMethod[] {
  return ['client_secret_post', 'none', ...(privateKeyJwt ? (['private_key_jwt'] as const) : [])]
}

/** How a client may sign what it proves; nothing while no plan lets it. */
export function proofSigning({ privateKeyJwt, dpop }: FurtherPlans): Configuration['enabledJWA'] {
  return {
    ...(privateKeyJwt && { clientAuthSigningAlgValues: [...proofAlgorithms] }),
    ...(dpop && { dPoPSigningAlgValues: [...proofAlgorithms] }),
  }
}

/** The engine's features, which are advertised exactly when they are on. */
export function configuredFeatures({
  furtherPlans,
  nonceKey,
  documentResolution,
}: PlanDependencies) {
  return {
    clientIdMetadataDocument: documentFeature(documentResolution),
    dPoP: { enabled: furtherPlans.dpop, ...(furtherPlans.dpop && { nonceSecret: nonceKey }) },
    backchannelLogout: { enabled: furtherPlans.backChannelLogout },
    pushedAuthorizationRequests: { enabled: furtherPlans.pushedAuthorizationRequests },
  } satisfies Configuration['features']
}

/** What of the plans no setting of the engine gives. */
export function applyPlans(provider: Provider, { useOnce }: PlanDependencies): void {
  rememberProofsOnce(provider, useOnce)
}

/** What the metadata says of the two endpoints beside the token endpoint (RFC 8414 §2). */
export function planMetadata({ privateKeyJwt }: FurtherPlans): Readonly<Record<string, unknown>> {
  if (!privateKeyJwt) return {}
  return {
    revocation_endpoint_auth_signing_alg_values_supported: [...proofAlgorithms],
    introspection_endpoint_auth_signing_alg_values_supported: [...proofAlgorithms],
  }
}

/** What the engine leaves open of whom an assertion is for, and of when it was made (proofs/). */
export function assertAssertion(
  { oidc }: KoaContextWithOIDC,
  claims: { readonly aud?: unknown; readonly iat?: number },
  ...[, client]: readonly [header: unknown, client: EngineClient]
): void {
  const isOfFapi = choseFapi(client)
  const accepted = isOfFapi ? [] : [...oidc.clientJwtAuthExpectedAudience()]
  const problem =
    problemOfAudience(claims.aud, { issuer: oidc.issuer, accepted }) ??
    // The engine compares the other times with this clock.
    problemOfTime(claims.iat, { choseFapi: isOfFapi, nowMs: Date.now() })
  if (problem !== undefined) throw new errors.InvalidClientAuth(problem)
}
