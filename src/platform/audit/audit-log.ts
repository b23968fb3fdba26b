/** Who did what, and why: changes before and after, and events. What may be done is decided elsewhere. */

import { randomUUID } from 'node:crypto'

import type { Insertable, Kysely } from 'kysely'

import type { Schema } from '../store/schema.ts'
import type { AuditAction, ChangeAction } from './audit-actions.ts'

/** Who changes something, in which request, when. */
export interface Actor {
  readonly personId: string
  readonly requestId: string
  readonly now: number
  /** Of the caller, as the policy shows it. */
  readonly address?: string | undefined
  /** The client that acts for the person, or by itself. */
  readonly clientId?: string | undefined
}

/** A change as the audit trail keeps it. Never a secret, a digest or a token. */
export interface Change {
  readonly action: ChangeAction
  readonly subject: { readonly kind: string; readonly id: string }
  readonly siteId: string | undefined
  /** Whom it is about, where that is not the actor. */
  readonly personId?: string | undefined
  readonly reason?: string | undefined
  readonly before?: Record<string, unknown> | undefined
  readonly after?: Record<string, unknown> | undefined
}

export type AuditRow = Insertable<Schema['audit_event']> & { readonly action: AuditAction }

/**
 * Writes a change down, in the transaction that makes it: neither is there without the other. What is
 * done at the command line has neither a person nor a request.
 */
export async function recordAuditEvent(
  kysely: Kysely<Schema>,
  actor: Partial<Actor> & Pick<Actor, 'now'>,
  change: Change,
): Promise<void> {
  await writeAuditRows(kysely, [
    {
      id: randomUUID(),
      occurred_at: actor.now,
      actor_person_id: actor.personId ?? null,
      action: change.action,
      subject_kind: change.subject.kind,
      subject_id: change.subject.id,
      site_id: change.siteId ?? null,
      person_id: change.personId ?? null,
      client_id: actor.clientId ?? null,
      address: actor.address ?? null,
      reason: change.reason ?? null,
      before: change.before ? JSON.stringify(change.before) : null,
      after: change.after ? JSON.stringify(change.after) : null,
      request_id: actor.requestId ?? null,
    },
  ])
}

/** Writes rows; one that is there already, because an answer was lost, is left as it is. */
export async function writeAuditRows(
  kysely: Kysely<Schema>,
  rows: readonly AuditRow[],
): Promise<void> {
  await kysely
    .insertInto('audit_event')
    .values([...rows])
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}
