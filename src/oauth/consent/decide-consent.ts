/**
 * What decides whether the consent page is shown: it is skipped when the engine misses no scope in the grant that
 * the session remembers (remembered-grant.ts), that grant covers this request, and consent can be remembered.
 */

import { decideReview } from '../../directory/sites/review-policy.ts'
import type { HeldSite, SiteDecision } from '../../directory/sites/site-choice.ts'
import type { DocumentState } from '../clients/client.ts'
import type { ClientFacts } from '../clients/client-metadata.ts'
import type { Grant } from '../grants/access.ts'

/**
 * Whether consent must be asked each time, because more than one program can have this client_id (design 17):
 *
 * - A return address on the person's own computer, at a loopback address or an app's own scheme: any
 *   program there could claim to be the client, whose id is no secret (RFC 8252 §8.6).
 * - A metadata document that is not approved.
 * - A callback that belongs to one connection of many, of a platform or of an assistant: all connections
 *   share the client_id.
 *
 * @param sites where the consent may be for; read for clients of documents only
 * @param connectionPrefixes how the callbacks begin of which each connection of an assistant has its own
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
  const isOfOne =
    redirectUri === patternCallback ||
    connectionPrefixes.some((prefix) => redirectUri.startsWith(prefix))
  return isOfOne || !redirectUri.startsWith('https:')
}

/** Whether a remembered grant is for this very document and for the site that this request is bound to. */
export function coversRequest(
  grant: Grant,
  document: DocumentState | undefined,
  decision: SiteDecision,
): boolean {
  // A metadata document that changed its name or its redirect addresses inherits no consent.
  if (grant.documentFingerprint !== document?.fingerprint) return false
  return decision.kind === 'bound' ? decision.site.id === grant.siteId : decision.kind === 'none'
}

/** Whether a document is approved at a site, or for every site where the request is for none (design 31). */
export function isApproved(document: DocumentState, site: HeldSite | undefined): boolean {
  const { reviewed, fingerprint } = document
  const platform = reviewed ? ({ review: 'approved', fingerprint } as const) : undefined
  return decideReview({ platform, site: site?.documentReview }, fingerprint) === 'approved'
}
