import type { DocumentReview } from '../../platform/store/schema.ts'

/** A review of the metadata document that has this fingerprint. */
export interface Decision {
  readonly review: DocumentReview
  readonly fingerprint: string | null
}

/** The reviews of a metadata document: for all sites, and for one site. */
export interface Decisions {
  /** The decision of platform reviewers. */
  readonly platform: Decision | undefined
  /** The decision of the site's operators; undefined if there is none or no site. */
  readonly site: Decision | undefined
}

/** The review state of a document. `changed`: approved, but its name or redirect URIs have changed since. */
export type ReviewState = 'unreviewed' | 'changed' | DocumentReview

/**
 * Determines the review state of the current document at a site (design 31). A block by the platform or by the site
 * overrides the other's approval. One approval suffices, but only for the approved fingerprint.
 */
export function decideReview({ platform, site }: Decisions, fingerprint: string): ReviewState {
  const decisions = [platform, site].filter((decision) => decision !== undefined)
  if (decisions.some(({ review }) => review === 'blocked')) return 'blocked'
  if (decisions.length === 0) return 'unreviewed'
  return decisions.some((decision) => decision.fingerprint === fingerprint) ? 'approved' : 'changed'
}

/** Converts the two columns of a decision to a review. */
export function decisionOf(
  review: DocumentReview | null | undefined,
  fingerprint: string | null | undefined,
): Decision | undefined {
  return review ? { review, fingerprint: fingerprint ?? null } : undefined
}
