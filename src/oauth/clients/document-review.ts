import { decideReview, decisionOf } from '../../directory/sites/review-policy.ts'
import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { orderBy, type PageRequest, readPage } from '../../platform/store/keyset.ts'
import type { DocumentReview } from '../../platform/store/oauth-tables.ts'
import type { ClientDocument } from './metadata-document.ts'

export type DocumentReviews = ReturnType<typeof makeDocumentReviews>

/** An operator's decision about a document, for their own site or for all sites. */
interface Verdict {
  readonly clientId: string
  readonly review: DocumentReview
  /** The fingerprint of the document that the page showed. */
  readonly fingerprint: string
  readonly siteId: string
  /** Whether the decision is for all sites. Only platform reviewers may make such a decision. */
  readonly forAll: boolean
}

/** The outcome of a decision. `changed`: it was not stored, because the page showed another version. */
type Reviewed = 'done' | 'unknown' | 'changed' | 'forbidden'

/**
 * Lists metadata-document clients for operators, and stores their decisions (design 31). A decision takes effect at the
 * next request. A block stops the client's access, at one site or at all sites. An approval allows write scopes for the
 * name and redirect URIs that the page showed.
 */
export function makeDocumentReviews({ kysely }: Database) {
  return {
    /** Lists a page of all document clients, newest first, with their review state at the site. */
    async listDocumentClients(siteId: string, request: PageRequest) {
      const order = orderBy('first_seen_at', 'desc', 'd.first_seen_at', 'd.client_id')
      const page = await readPage(clientsAt(kysely, siteId), order, request)
      return { ...page, rows: page.rows.map(reviewedClientOf) }
    },

    /** Finds a document client, with the decision in force at the site. */
    async findDocumentClient(siteId: string, clientId: string) {
      const row = await clientsAt(kysely, siteId)
        .where('d.client_id', '=', clientId)
        .executeTakeFirst()
      return row && reviewedClientOf(row)
    },

    /** Of the clients in use at the site, counts those whose current document is neither approved nor blocked. */
    async countUnreviewed(siteId: string): Promise<number> {
      const used = kysely
        .selectFrom('oauth_grant')
        .select('client_id')
        .where('site_id', '=', siteId)
        .where('ended_at', 'is', null)
      const rows = await clientsAt(kysely, siteId).where('d.client_id', 'in', used).execute()
      const states = rows.map((row) => reviewedClientOf(row).state)
      return states.filter((state) => state === 'unreviewed' || state === 'changed').length
    },

    decidesForAll: async (personId: string) => await hasPlatformRole(kysely, personId),

    /** Stores and audits a decision, or returns why it was not stored. Callers must check the role at the site. */
    async reviewDocumentClient(verdict: Verdict, actor: Actor): Promise<Reviewed> {
      return await kysely.transaction().execute(async (trx) => await review(trx, verdict, actor))
    },
  }
}

async function review(trx: Connection, verdict: Verdict, actor: Actor): Promise<Reviewed> {
  const { review: decision, clientId, fingerprint, siteId, forAll } = verdict
  const { personId: reviewed_by, now: reviewed_at } = actor
  if (forAll && !(await hasPlatformRole(trx, reviewed_by))) return 'forbidden'
  const row = await clientsAt(trx, siteId).where('d.client_id', '=', clientId).executeTakeFirst()
  if (!row) return 'unknown'
  if (row.fingerprint !== fingerprint) return 'changed'
  // If the document changes after this check, the decision still applies to the version that the page showed.
  const decided = { review: decision, reviewed_by, reviewed_at }
  if (forAll) {
    await trx
      .updateTable('document_client')
      .set({ ...decided, reviewed_fingerprint: fingerprint })
      .where('client_id', '=', clientId)
      .execute()
  } else {
    const ofSite = { ...decided, fingerprint }
    await trx
      .insertInto('document_site_review')
      .values({ client_id: clientId, site_id: siteId, ...ofSite })
      .onConflict((conflict) => conflict.columns(['client_id', 'site_id']).doUpdateSet(ofSite))
      .execute()
  }
  await recordAuditEvent(trx, actor, {
    action: decision === 'approved' ? 'document_client.approved' : 'document_client.blocked',
    subject: { kind: 'document_client', id: clientId },
    siteId: forAll ? undefined : siteId,
    before: { review: reviewedClientOf(row).state },
    after: { review: decision, fingerprint, for: forAll ? 'every site' : 'this site' },
  })
  return 'done'
}

/** Selects the document clients, with the decisions for all sites and for this site. */
function clientsAt(kysely: Connection, siteId: string) {
  return kysely
    .selectFrom('document_client as d')
    .leftJoin('document_site_review as s', (join) =>
      join.onRef('s.client_id', '=', 'd.client_id').on('s.site_id', '=', siteId),
    )
    .leftJoin('person as all', 'all.id', 'd.reviewed_by')
    .leftJoin('person as here', 'here.id', 's.reviewed_by')
    .selectAll('d')
    .select(['s.review as site_review', 's.fingerprint as site_fingerprint'])
    .select(['s.reviewed_at as site_reviewed_at', 'here.name as site_reviewer'])
    .select(['d.client_id as id', 'all.name as reviewer'])
}

type Row = Awaited<ReturnType<ReturnType<typeof clientsAt>['executeTakeFirstOrThrow']>>

function reviewedClientOf(row: Row) {
  const { client_id: clientId, fingerprint, first_seen_at: firstSeenAt } = row
  const { name, redirectUris }: ClientDocument = JSON.parse(row.document)
  const platform = decisionOf(row.review, row.reviewed_fingerprint)
  const site = decisionOf(row.site_review, row.site_fingerprint)
  const state = decideReview({ platform, site }, fingerprint)
  // If this site's decision makes no difference, show the one for all sites, which operators cannot change.
  const forAll = decideReview({ platform, site: undefined }, fingerprint) === state
  const [by, at] = forAll
    ? [row.reviewer, row.reviewed_at]
    : [row.site_reviewer, row.site_reviewed_at]
  const decided = at === null ? undefined : { by: by ?? undefined, at, forAll }
  return { clientId, name, redirectUris, fingerprint, state, decided, firstSeenAt }
}

type Connection = Database['kysely']

async function hasPlatformRole(kysely: Connection, personId: string): Promise<boolean> {
  const row = await kysely
    .selectFrom('platform_reviewer')
    .select('person_id')
    .where('person_id', '=', personId)
    .executeTakeFirst()
  return row !== undefined
}
