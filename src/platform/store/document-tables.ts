/** The tables of metadata documents and of who decides about them, as `schema.ts` describes the others. */
export type DocumentReview = 'approved' | 'blocked'

export interface DocumentTables {
  document_client: {
    client_id: string
    document: string
    fingerprint: string
    first_seen_at: number
    fetched_at: number
    fresh_until: number
    review: DocumentReview | null
    reviewed_fingerprint: string | null
    reviewed_by: string | null
    reviewed_at: number | null
  }
  document_site_review: {
    client_id: string
    site_id: string
    review: DocumentReview
    fingerprint: string
    reviewed_by: string | null
    reviewed_at: number
  }
  platform_reviewer: {
    person_id: string
    granted_at: number
  }
}
