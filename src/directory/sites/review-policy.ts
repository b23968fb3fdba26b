import type { DocumentReview } from '../../platform/store/oauth-tables.ts'

/** A review of a client's metadata document, and the fingerprint of the reviewed version. */
export interface Decision {
  readonly review: DocumentReview
  readonly fingerprint: string | null
}

/** The reviews of a metadata document: by the platform for all sites, and by one site. */
export interface Decisions {
  readonly platform: Decision | undefined
  /** The decision of the site's operators, if there is a site and they made a decision. */
  readonly site: Decision | undefined
}

/** The review state of a document. `changed`: approved, but its name or redirect URIs have changed since. */
export type ReviewState = 'unreviewed' | 'changed' | DocumentReview

/**
 * Determines the review state of the current document at a site (design 31). A block by the platform or by the site
 * overrides an approval by the other. One approval suffices if its fingerprint matches the current document.
 */
export function decideReview({ platform, site }: Decisions, fingerprint: string): ReviewState {
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
