import { decideReview, decisionOf, type ReviewState } from '../../directory/sites/review-policy.ts'
import { type Actor, recordAuditEvent } from '../../platform/audit/audit-log.ts'
import type { Database } from '../../platform/store/database.ts'
import { type PageRequest, readCountedPage } from '../../platform/store/keyset.ts'
import type { DocumentReview } from '../../platform/store/oauth-tables.ts'
import { clientDocument } from './metadata-document.ts'

export type DocumentReviews = ReturnType<typeof makeDocumentReviews>

/** A client of a metadata document as the operators of a site see it. */
export interface ReviewedClient {
  readonly clientId: string
  readonly name: string
  readonly redirectUris: readonly string[]
  /** Names what is shown here: its name and its redirect addresses. */
  readonly fingerprint: string
  /** What counts at the site. */
  readonly state: ReviewState
  /** Who made the decision that counts, for whom, and when. */
  readonly decided:
    | { readonly by: string | undefined; readonly at: number; readonly forAll: boolean }
    | undefined
  readonly firstSeenAt: number
}

/** What an operator decides: about the document that the page showed, for their site or for all. */
export interface Verdict {
  readonly clientId: string
  readonly review: DocumentReview
  /** Of the document that the page showed. */
  readonly fingerprint: string
  readonly siteId: string
  /** For every site, which takes the platform's role. */
  readonly forAll: boolean
}

/** `changed`: the document is not the one that the page showed, and nothing was decided. */
export type Reviewed = 'done' | 'unknown' | 'changed' | 'forbidden'

/**
 * What operators decide about clients of metadata documents (design 31). It takes effect at the next request,
 * because nothing of it is cached: a block ends what the client holds there, an approval opens the write
 * scopes there, for the name and the redirect addresses that the page showed.
 */
export function makeDocumentReviews({ kysely }: Database) {
  return {
    /** The clients that somebody tried to use, the newest first, with what counts at the site. */
    async listDocumentClients(siteId: string, request: PageRequest) {
      const page = await readCountedPage(
        clientsAt(kysely, siteId),
        {
          by: 'd.first_seen_at',
          id: 'd.client_id',
          direction: 'desc',
          placeOf: (row) => [row.first_seen_at, row.client_id],
        },
        request,
      )
      return { ...page, rows: page.rows.map(clientOf) }
    },

    /** One of them; nothing when nobody tried to use it. */
    async findDocumentClient(siteId: string, clientId: string) {
      const row = await clientsAt(kysely, siteId)
        .where('d.client_id', '=', clientId)
        .executeTakeFirst()
      return row && clientOf(row)
    },

    /** Whether the person decides for every site. */
    async decidesForAll(personId: string): Promise<boolean> {
      return await hasPlatformRole(kysely, personId)
    },

    /** Writes a decision down, with its audit event, unless the document is another one by now. */
    async reviewDocumentClient(verdict: Verdict, actor: Actor): Promise<Reviewed> {
      return await kysely.transaction().execute(async (trx) => await decide(trx, verdict, actor))
    },
  }
}

async function decide(trx: Connection, verdict: Verdict, actor: Actor): Promise<Reviewed> {
  const { review, clientId, fingerprint, siteId, forAll } = verdict
  if (forAll && !(await hasPlatformRole(trx, actor.personId))) return 'forbidden'
  const row = await clientsAt(trx, siteId).where('d.client_id', '=', clientId).executeTakeFirst()
  if (!row) return 'unknown'
  if (row.fingerprint !== fingerprint) return 'changed'
  // Should the document change from here on, what is written names the one that the page showed.
  await (forAll ? writeForAll(trx, verdict, actor) : writeForSite(trx, verdict, actor))
  await recordAuditEvent(trx, actor, {
    action: review === 'approved' ? 'document_client.approved' : 'document_client.blocked',
    subject: { kind: 'document_client', id: clientId },
    siteId: forAll ? undefined : siteId,
    before: { review: clientOf(row).state },
    after: { review, fingerprint, for: forAll ? 'every site' : 'this site' },
  })
  return 'done'
}

/** The clients, with what was decided for every site and for this one. */
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
    .select('all.name as reviewer')
}

type Row = Awaited<ReturnType<ReturnType<typeof clientsAt>['executeTakeFirstOrThrow']>>

function clientOf(row: Row): ReviewedClient {
  const { client_id: clientId, fingerprint, first_seen_at: firstSeenAt } = row
  const { name, redirectUris } = clientDocument.parse(JSON.parse(row.document))
  const platform = decisionOf(row.review, row.reviewed_fingerprint)
  const site = decisionOf(row.site_review, row.site_fingerprint)
  const state = decideReview({ platform, site }, fingerprint)
  // Where both say the same, it is said of the one that nobody at the site can change.
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

async function writeForAll(kysely: Connection, verdict: Verdict, actor: Actor): Promise<void> {
  const { review, fingerprint, clientId } = verdict
  const { personId: reviewed_by, now: reviewed_at } = actor
  await kysely
    .updateTable('document_client')
    .set({ review, reviewed_fingerprint: fingerprint, reviewed_by, reviewed_at })
    .where('client_id', '=', clientId)
    .execute()
}

async function writeForSite(kysely: Connection, verdict: Verdict, actor: Actor): Promise<void> {
  const { review, fingerprint, clientId, siteId } = verdict
  const decided = { review, fingerprint, reviewed_by: actor.personId, reviewed_at: actor.now }
  await kysely
    .insertInto('document_site_review')
    .values({ client_id: clientId, site_id: siteId, ...decided })
    .onConflict((conflict) => conflict.columns(['client_id', 'site_id']).doUpdateSet(decided))
    .execute()
}
