/**
 * Decides whether a consent can be remembered, and whether a remembered grant covers a request.
 * authorization/prompts.ts uses both to decide whether to show the consent page.
 */

import { decideReview } from '../../directory/sites/review-policy.ts'
import type { HeldSite, SiteDecision } from '../../directory/sites/site-choice.ts'
import type { DocumentState } from '../clients/client.ts'
import type { ClientFacts } from '../clients/client-metadata.ts'
import type { Grant } from '../grants/judge-access.ts'

/**
 * Whether to ask for consent each time, because several programs can share this client_id (design 17):
 *
 * - The redirect URI is on the person's own device (loopback or custom scheme). Any program there could claim to be
 *   the client, because a client_id is not secret (RFC 8252 §8.6).
 * - The metadata document is not approved.
 * - The callback belongs to one of many connections of a platform or an assistant that share the client_id.
 *
 * @param sites the possible sites of the consent; used only for metadata-document clients
 * @param connectionPrefixes prefixes of assistant callbacks that differ for each connection
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

/** Whether a remembered grant is for the current document and for the site of this request. */
export function coversRequest(
  grant: Grant,
  document: DocumentState | undefined,
  decision: SiteDecision,
): boolean {
  // A document with a new name or new redirect URIs needs a new consent.
  if (grant.documentFingerprint !== document?.fingerprint) return false
  return decision.kind === 'bound' ? decision.site.id === grant.siteId : decision.kind === 'none'
}

/** Whether a document is approved at a site or, without a site, for all sites (design 31). */
export function isApproved(document: DocumentState, site: HeldSite | undefined): boolean {
  const { reviewed, fingerprint } = document
  const platform = reviewed ? ({ review: 'approved', fingerprint } as const) : undefined
  return decideReview({ platform, site: site?.documentReview }, fingerprint) === 'approved'
}
