import { type Actor, recordAuditEvent } from '../audit/audit-log.ts'
import type { Database } from '../store/database.ts'
import type { DocumentReview } from '../store/document-tables.ts'
import {
  type CountedPage,
  type ListOrder,
  type PageRequest,
  readCountedPage,
} from '../store/keyset.ts'
import { isReviewed } from './document-clients.ts'
import { clientDocument } from './metadata-document.ts'

/**
 * What operators decide about clients of metadata documents. It takes effect at the next request,
 * because nothing of it is cached: a block ends what the client holds, an approval opens the write
 * scopes, for the name and the redirect addresses that the document has at that time.
 */
export interface DocumentReviews {
  /** The clients that somebody tried to use, the newest first. */
  listDocumentClients(page: PageRequest): Promise<CountedPage<ListedDocumentClient>>
  /** False when there is no such client. */
  reviewDocumentClient(clientId: string, review: DocumentReview, actor: Actor): Promise<boolean>
}

export interface ListedDocumentClient {
  readonly clientId: string
  readonly name: string
  readonly redirectUris: readonly string[]
  /** `changed`: it was approved, and its name or redirect addresses are others since. */
  readonly state: 'unreviewed' | 'changed' | DocumentReview
  readonly firstSeenAt: number
  readonly fetchedAt: number
  readonly reviewedAt: number | undefined
  readonly reviewerName: string | undefined
}

export function makeDocumentReviews(database: Database): DocumentReviews {
  const { kysely } = database
  return {
    listDocumentClients: async (page) => await listClients(database, page),
    async reviewDocumentClient(clientId, review, actor) {
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

const newestFirst: ListOrder<ListedRow> = {
  by: 'd.first_seen_at',
  id: 'd.client_id',
  direction: 'desc',
  placeOf: (row) => [row.first_seen_at, row.client_id],
}

async function listClients(
  { kysely }: Database,
  request: PageRequest,
): Promise<CountedPage<ListedDocumentClient>> {
  const clients = kysely
    .selectFrom('document_client as d')
    .leftJoin('person', 'person.id', 'd.reviewed_by')
    .selectAll('d')
    .select('person.name as reviewer_name')
  const page = await readCountedPage(clients, newestFirst, request)
  return { ...page, rows: page.rows.map(listed) }
}

interface ReviewFacts {
  readonly review: DocumentReview | null
  readonly fingerprint: string
  readonly reviewed_fingerprint: string | null
}

function stateOf(row: ReviewFacts): ListedDocumentClient['state'] {
  if (row.review === null) return 'unreviewed'
  return row.review === 'approved' && !isReviewed(row) ? 'changed' : row.review
}

interface ListedRow extends ReviewFacts {
  readonly client_id: string
  readonly document: string
  readonly first_seen_at: number
  readonly fetched_at: number
  readonly reviewed_at: number | null
  readonly reviewer_name: string | null
}

function listed(row: ListedRow): ListedDocumentClient {
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
}
