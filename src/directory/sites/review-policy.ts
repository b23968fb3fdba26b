import type { DocumentReview } from '../../platform/store/oauth-tables.ts'

/** A review of a client's metadata document, and the fingerprint of the reviewed version. */
export interface Decision {
  readonly review: DocumentReview
  readonly fingerprint: string | null
}

/** The review state of a document. `changed`: approved, but its name or redirect URIs have changed since. */
export type ReviewState = 'unreviewed' | 'changed' | DocumentReview

/**
 * Determines the review state of the current document at a site (design 31) from the decisions of the platform, for all
 * sites, and of the site's operators. If one of them has blocked the document, the other's approval has no effect. One
 * approval suffices if its fingerprint matches the current document.
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
