/** The table of 0002-document-clients.sql, as `schema.ts` describes the others. */
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
}
