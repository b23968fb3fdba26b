/** The audit trail: changes, sign-ins and refusals. Callers check whether the actor may make the change. */

import { randomUUID } from 'node:crypto'

import type { Insertable, Kysely } from 'kysely'

import type { Schema } from '../store/schema.ts'
import type { AuditAction, ChangeAction } from './audit-actions.ts'

/** The person or client that makes a change, and the request. */
export interface Actor {
  readonly personId: string
  readonly requestId: string
  readonly now: number
  /** The client IP address, shortened as configured. */
  readonly address?: string | undefined
  /** The client that acted, for the person or on its own behalf. */
  readonly clientId?: string | undefined
}

/** A change to record. Must not contain a secret, a digest or a token. */
export interface Change {
  readonly action: ChangeAction
  readonly subject: { readonly kind: string; readonly id: string }
  readonly siteId: string | undefined
  /** The affected person, unless that is the actor. */
  readonly personId?: string | undefined
  readonly reason?: string | undefined
  readonly before?: Record<string, unknown> | undefined
  readonly after?: Record<string, unknown> | undefined
}

export type AuditRow = Insertable<Schema['audit_event']> & { readonly action: AuditAction }

/** Records a change in its transaction. Changes made by commands have no person or request. */
export async function recordAuditEvent(
  kysely: Kysely<Schema>,
  actor: Partial<Actor> & Pick<Actor, 'now'>,
  { action, subject, siteId, personId, reason, before, after }: Change,
): Promise<void> {
  const row: AuditRow = {
    id: randomUUID(),
    occurred_at: actor.now,
    actor_person_id: actor.personId ?? null,
    action,
    subject_kind: subject.kind,
    subject_id: subject.id,
    site_id: siteId ?? null,
    person_id: personId ?? null,
    client_id: actor.clientId ?? null,
    address: actor.address ?? null,
    reason: reason ?? null,
    before: before ? JSON.stringify(before) : null,
    after: after ? JSON.stringify(after) : null,
    request_id: actor.requestId ?? null,
  }
  await writeAuditRows(kysely, [row])
}

/** Writes audit events. Skips stored ones, because an earlier write may have succeeded despite a timeout. */
export async function writeAuditRows(kysely: Kysely<Schema>, rows: readonly AuditRow[]) {
  await kysely
    .insertInto('audit_event')
    .values([...rows])
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}
