import type { DocumentReview } from '../../platform/store/schema.ts'

/** What somebody decided about a document, which is named by its fingerprint. */
export interface Decision {
  readonly review: DocumentReview
  readonly fingerprint: string | null
}

/** What was decided about a client of a metadata document: for every site, and for one. */
export interface Decisions {
  /** Of people with the platform's role. */
  readonly platform: Decision | undefined
  /** Of the operators of the site that is meant; undefined too where no site is. */
  readonly site: Decision | undefined
}

/** `changed`: it was approved, and its name or redirect addresses are others since. */
export type ReviewState = 'unreviewed' | 'changed' | DocumentReview

/**
 * What counts at a site for the document as it is now (design 31). A block counts whoever said it: a site
 * never opens what the platform closed, nor the platform what a site closed for itself. An approval is of one
 * document, by its fingerprint, and one of either is enough.
 */
export function decideReview({ platform, site }: Decisions, fingerprint: string): ReviewState {
  const decisions = [platform, site].filter((decision) => decision !== undefined)
  if (decisions.some(({ review }) => review === 'blocked')) return 'blocked'
  if (decisions.length === 0) return 'unreviewed'
  return decisions.some((decision) => decision.fingerprint === fingerprint) ? 'approved' : 'changed'
}

/** A decision as two columns have it; none where nobody decided. */
export function decisionOf(
  review: DocumentReview | null | undefined,
  fingerprint: string | null | undefined,
): Decision | undefined {
  return review ? { review, fingerprint: fingerprint ?? null } : undefined
}
