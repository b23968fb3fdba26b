import type { DocumentReview } from '../../platform/store/schema.ts'

/** A review of a metadata document, which its fingerprint identifies. */
export interface Decision {
  readonly review: DocumentReview
  readonly fingerprint: string | null
}

/** The reviews of a metadata-document client: for all sites, and for one. */
export interface Decisions {
  /** By platform reviewers. */
  readonly platform: Decision | undefined
  /** By operators of the site; also undefined without a site. */
  readonly site: Decision | undefined
}

/** `changed`: approved, but its name or redirect addresses have changed since. */
export type ReviewState = 'unreviewed' | 'changed' | DocumentReview

/**
 * Decides the state of the present document at a site (design 31). A block by either side counts: neither can
 * lift the other's. An approval by either side is enough, but covers one fingerprint only.
 */
export function decideReview({ platform, site }: Decisions, fingerprint: string): ReviewState {
  const decisions = [platform, site].filter((decision) => decision !== undefined)
  if (decisions.some(({ review }) => review === 'blocked')) return 'blocked'
  if (decisions.length === 0) return 'unreviewed'
  return decisions.some((decision) => decision.fingerprint === fingerprint) ? 'approved' : 'changed'
}

/** Reads a decision from its two columns. */
export function decisionOf(
  review: DocumentReview | null | undefined,
  fingerprint: string | null | undefined,
): Decision | undefined {
  return review ? { review, fingerprint: fingerprint ?? null } : undefined
}
