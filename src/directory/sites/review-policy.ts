import type { DocumentReview } from '../../platform/store/oauth-tables.ts'

/** A review of a client's metadata document, and the fingerprint of the reviewed version. */
export interface Decision {
  readonly review: DocumentReview
  readonly fingerprint: string | null
}

/** The review state of a document. `changed`: approved, but its name or redirect URIs have changed since. */
export type ReviewState = 'unreviewed' | 'changed' | DocumentReview

/**
 * Determines the review state of the current document at a site (design 31) from two decisions. The platform's decision
 * applies at all sites, and that of the site's operators at their site. If one of the decisions blocks the document, an
 * approval by the other has no effect. One approval suffices if its fingerprint matches the current document.
 */
export function decideReview(
  { platform, site }: Readonly<Record<'platform' | 'site', Decision | undefined>>,
  fingerprint: string,
): ReviewState {
  const decisions = [platform, site].filter((decision) => decision !== undefined)
  if (decisions.some(({ review }) => review === 'blocked')) return 'blocked'
  if (decisions.length === 0) return 'unreviewed'
  return decisions.some((decision) => decision.fingerprint === fingerprint) ? 'approved' : 'changed'
}

/** Creates a decision from its two columns; undefined without a review. */
export function decisionOf(
  review: DocumentReview | null | undefined,
  fingerprint: string | null | undefined,
): Decision | undefined {
  return review ? { review, fingerprint: fingerprint ?? null } : undefined
}
