/** Decides whether a consent can be remembered, and whether a remembered grant covers a request. */

import { decideReview } from '../../directory/sites/review-policy.ts'
import type { HeldSite, SiteDecision } from '../../directory/sites/site-choice.ts'
import type { DocumentState } from '../clients/client.ts'
import type { ClientFacts } from '../clients/client-metadata.ts'
import type { Grant } from '../grants/judge-access.ts'

/**
 * Whether the person must consent at every authorization (design 17). The client of our own pages never needs consent.
 * For other clients, the person must consent each time in these cases:
 *
 * - The redirect URI is on the person's own device (loopback or custom scheme). Any program on that device could claim
 *   to be the client, because a client_id is not secret (RFC 8252 §8.6).
 * - The client has a metadata document, and the document is not approved or several sites are possible.
 * - The redirect URI belongs to a platform or assistant that connects several people with one client_id. A remembered
 *   consent could serve another person's connection.
 *
 * @param sites the possible sites of the grant; used only for metadata-document clients
 * @param connectionPrefixes the callback prefixes of such assistants
 */
export function consentCannotBeRemembered(
  { origin, document, patternCallback }: ClientFacts,
  redirectUri: string,
  sites: readonly HeldSite[],
  connectionPrefixes: readonly string[],
): boolean {
  if (origin === 'first_party') return false
  if (document) {
    const [site, ...others] = sites
    if (others.length > 0 || !isApproved(document, site)) return true
  }
  const isOfConnection =
    redirectUri === patternCallback ||
    connectionPrefixes.some((prefix) => redirectUri.startsWith(prefix))
  return isOfConnection || !redirectUri.startsWith('https:')
}

/** Whether a remembered grant is for this request's metadata document and site. */
export function coversRequest(
  grant: Grant,
  document: DocumentState | undefined,
  decision: SiteDecision,
): boolean {
  // If the document's name or redirect URIs have changed, the person must consent again.
  if (grant.documentFingerprint !== document?.fingerprint) return false
  return decision.kind === 'bound' ? decision.site.id === grant.siteId : decision.kind === 'none'
}

/** Whether a document is approved at a site or, if no site is given, for all sites (design 31). */
export function isApproved(document: DocumentState, site: HeldSite | undefined): boolean {
  const { reviewed, fingerprint } = document
  const platform = reviewed ? ({ review: 'approved', fingerprint } as const) : undefined
  return decideReview({ platform, site: site?.documentReview }, fingerprint) === 'approved'
}
