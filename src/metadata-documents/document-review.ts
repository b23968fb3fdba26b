import { type Actor, recordAuditEvent } from '../audit/audit-log.ts'
import type { Database } from '../store/database.ts'
import type { DocumentReview } from '../store/document-tables.ts'
import { type PageRequest, readCountedPage } from '../store/keyset.ts'
import { isReviewed } from './document-clients.ts'
import { clientDocument } from './metadata-document.ts'

export type DocumentReviews = ReturnType<typeof makeDocumentReviews>

/**
 * What operators decide about clients of metadata documents. It takes effect at the next request,
 * because nothing of it is cached: a block ends what the client holds, an approval opens the write
 * scopes, for the name and the redirect addresses that the document has at that time.
 */
export function makeDocumentReviews({ kysely }: Database) {
  return {
    /** The clients that somebody tried to use, the newest first. */
    async listDocumentClients(request: PageRequest) {
      const page = await readCountedPage(
        kysely
          .selectFrom('document_client as d')
          .leftJoin('person', 'person.id', 'd.reviewed_by')
          .selectAll('d')
          .select('person.name as reviewer_name'),
        {
          by: 'd.first_seen_at',
          id: 'd.client_id',
          direction: 'desc',
          placeOf: (row) => [row.first_seen_at, row.client_id],
        },
        request,
      )
      const rows = page.rows.map((row) => {
        const { name, redirectUris } = clientDocument.parse(JSON.parse(row.document))
        return {
          clientId: row.client_id,
          name,
          redirectUris,
          state: stateOf(row),
          firstSeenAt: row.first_seen_at,
          fetchedAt: row.fetched_at,
          reviewedAt: row.reviewed_at ?? undefined,
          reviewerName: row.reviewer_name ?? undefined,
        }
      })
      return { ...page, rows }
    },

    /** False when there is no such client. */
    async reviewDocumentClient(clientId: string, review: DocumentReview, actor: Actor) {
      return await kysely.transaction().execute(async (transaction) => {
        const row = await transaction
          .selectFrom('document_client')
          .select(['review', 'fingerprint', 'reviewed_fingerprint'])
          .where('client_id', '=', clientId)
          .executeTakeFirst()
        if (!row) return false
        await transaction
          .updateTable('document_client')
          .set({
            review,
            reviewed_fingerprint: row.fingerprint,
            reviewed_by: actor.personId,
            reviewed_at: actor.now,
          })
          .where('client_id', '=', clientId)
          .execute()
        await recordAuditEvent(transaction, actor, {
          action: review === 'approved' ? 'document_client.approved' : 'document_client.blocked',
          subject: { kind: 'document_client', id: clientId },
          siteId: undefined,
          before: { review: stateOf(row) },
          after: { review, fingerprint: row.fingerprint },
        })
        return true
      })
    },
  }
}

/** `changed`: it was approved, and its name or redirect addresses are others since. */
function stateOf(row: Parameters<typeof isReviewed>[0]): 'unreviewed' | 'changed' | DocumentReview {
  if (row.review === null) return 'unreviewed'
  return row.review === 'approved' && !isReviewed(row) ? 'changed' : row.review
}
