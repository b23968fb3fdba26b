import type { Database } from '../../platform/store/database.ts'

/** Of all hosts together, with which nobody allowed anything. */
export const UNUSED_DOCUMENTS_MAX = 10_000

/** As many as one statement removes. One document comes at a time, and after a smaller limit there are more. */
const ROWS_MAX = 100

/**
 * Removes the oldest copies with which nobody allowed anything and that nobody reviewed, until there are no
 * more than there may be: where any host is admitted, anybody can name any number of documents.
 */
export async function makeRoom({ kysely }: Database, max: number): Promise<void> {
  const tooMany = await kysely
    .selectFrom('document_client as d')
    .select('d.client_id')
    .where('d.review', 'is', null)
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('oauth_grant as g')
            .select('g.id')
            .whereRef('g.client_id', '=', 'd.client_id')
            .where('g.ended_at', 'is', null),
        ),
      ),
    )
    .orderBy('d.fetched_at', 'desc')
    .orderBy('d.client_id')
    .offset(max)
    .limit(ROWS_MAX)
    .execute()
  if (tooMany.length === 0) return
  const ids = tooMany.map((row) => row.client_id)
  await kysely
    .deleteFrom('document_client')
    .where('client_id', 'in', ids)
    .where('review', 'is', null)
    .execute()
}

/** Whether somebody allowed something with a document, or decided about it. */
export async function isInUse({ kysely }: Database, clientId: string): Promise<boolean> {
  const row = await kysely
    .selectFrom('document_client as d')
    .select('d.client_id')
    .where('d.client_id', '=', clientId)
    .where((e) =>
      e.or([
        e('d.review', 'is not', null),
        e.exists(
          e
            .selectFrom('oauth_grant as g')
            .select('g.id')
            .whereRef('g.client_id', '=', 'd.client_id')
            .where('g.ended_at', 'is', null),
        ),
      ]),
    )
    .executeTakeFirst()
  return row !== undefined
}
