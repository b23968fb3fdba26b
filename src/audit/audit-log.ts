/** Who changed what, before and after. What may be changed is decided elsewhere. */

import { randomUUID } from 'node:crypto'

import type { Kysely } from 'kysely'

import type { Database } from '../store/database.ts'
import { type PageRequest, readPage } from '../store/keyset.ts'
import type { Schema } from '../store/schema.ts'
import { type AuditAction, auditWords } from './audit-actions.ts'

/** Who changes something, in which request, when. */
export interface Actor {
  readonly personId: string
  readonly requestId: string
  readonly now: number
}

/** A change as the audit trail keeps it. Never a secret, a digest or a token. */
export interface Change {
  readonly action: AuditAction
  readonly subject: { readonly kind: string; readonly id: string }
  readonly siteId: string | undefined
  readonly before?: Record<string, unknown> | undefined
  readonly after?: Record<string, unknown> | undefined
}

/**
 * Writes a change down, in the transaction that makes it: neither is there without the other. What is
 * done at the command line has neither a person nor a request.
 */
export async function recordAuditEvent(
  kysely: Kysely<Schema>,
  actor: Partial<Actor> & Pick<Actor, 'now'>,
  change: Change,
): Promise<void> {
  await kysely
    .insertInto('audit_event')
    .values({
      id: randomUUID(),
      occurred_at: actor.now,
      actor_person_id: actor.personId ?? null,
      action: change.action,
      subject_kind: change.subject.kind,
      subject_id: change.subject.id,
      site_id: change.siteId ?? null,
      before: change.before ? JSON.stringify(change.before) : null,
      after: change.after ? JSON.stringify(change.after) : null,
      request_id: actor.requestId ?? null,
    })
    .execute()
}

/** The changes at a site and the reviews for all sites, the newest first. */
export async function listChanges({ kysely }: Database, siteId: string, request: PageRequest) {
  const changes = kysely
    .selectFrom('audit_event as e')
    .leftJoin('person', 'person.id', 'e.actor_person_id')
    .selectAll('e')
    .select('person.name as actor_name')
    .where((eb) =>
      eb.or([
        eb('e.site_id', '=', siteId),
        // Metadata documents are also reviewed for every site, so every operator may know by whom.
        eb.and([eb('e.subject_kind', '=', 'document_client'), eb('e.site_id', 'is', null)]),
      ]),
    )
  const page = await readPage(
    changes,
    {
      by: 'e.occurred_at',
      id: 'e.id',
      direction: 'desc',
      placeOf: (row) => [row.occurred_at, row.id],
    },
    request,
  )
  const rows = page.rows.map((row) => ({
    occurredAt: row.occurred_at,
    /** The name of the person, as it is now; undefined when there is no such person any more. */
    actorName: row.actor_name ?? undefined,
    action: row.action,
    words: auditWords(row.action),
    subjectId: row.subject_id,
    before: row.before ?? undefined,
    after: row.after ?? undefined,
  }))
  return { ...page, rows }
}
