import type { Kysely, Transaction } from 'kysely'

import { queueMail } from '../../directory/mail/messages.ts'
import { holdFactorReset } from '../../directory/people/second-factors.ts'
import { type KnownActor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type EndReason, endGrantsWithEvents } from './end-grants.ts'

/** The columns of `person` whose change can end the person's sessions. */
const decisive = ['password_hash', 'disabled_at'] as const

/**
 * Finds the people whose sessions must end, because their password changes or their account is disabled. Sessions
 * opened with the old password may be an attacker's. Sessions of a disabled account must not become valid again when it
 * is enabled (OWASP ASVS 5.0, 7.4.2 and 7.4.3).
 *
 * @param rows the new values; they must not be written yet
 * @param changed the columns to write
 */
export async function findPeopleToSignOut(
  trx: Transaction<Schema>,
  rows: readonly { readonly [Column in 'id' | (typeof decisive)[number]]?: unknown }[],
  changed: readonly string[],
): Promise<string[]> {
  if (rows.length === 0 || !decisive.some((column) => changed.includes(column))) return []
  const wanted = new Map(rows.map((row) => [String(row.id), row]))
  const before = await trx
    .selectFrom('person')
    .select(['id', ...decisive])
    .where('id', 'in', [...wanted.keys()])
    .execute()
  return before.flatMap((person) => {
    const row = wanted.get(person.id)
    const hasOther =
      changed.includes('password_hash') &&
      person.password_hash !== null &&
      person.password_hash !== (row?.password_hash ?? null)
    const isDisabled =
      changed.includes('disabled_at') && person.disabled_at === null && row?.disabled_at != null
    return hasOther || isDisabled ? person.id : []
  })
}

/**
 * For each person, ends all sessions that began at or before `untilMs`, including those at applications that receive
 * sign-out notices. Grants stay valid.
 */
export async function endSessions(
  trx: Kysely<Schema>,
  personIds: readonly string[],
  untilMs: number,
): Promise<void> {
  if (personIds.length === 0) return
  await trx
    .updateTable('person')
    .set({ signed_out_at: untilMs })
    .where('id', 'in', [...personIds])
    .where((e) => e.or([e('signed_out_at', 'is', null), e('signed_out_at', '<', untilMs)]))
    .execute()
  // These sessions have already ended. Deleting the rows removes the data about the browsers.
  await trx
    .deleteFrom('browser_session')
    .where('person_id', 'in', [...personIds])
    .where('authenticated_at', '<=', untilMs)
    .execute()
}

/**
 * Ends a person's sessions and grants that were created at or before `untilMs`. If any grants ended, records an audit
 * event for all of them, and one for each grant at a site. A new password alone would not disconnect a program that an
 * attacker has connected (RFC 9700 §4.14.2). A repeated call with the same time does not end newer access.
 */
export async function endAllAccess(
  trx: Transaction<Schema>,
  personId: string,
  { reason, untilMs }: Readonly<{ reason: EndReason; untilMs: number }>,
  actor: KnownActor,
): Promise<void> {
  await endSessions(trx, [personId], untilMs)
  const whose = { personId, grantedUntil: untilMs }
  const grants = await endGrantsWithEvents(trx, whose, reason, actor)
  if (grants === 0) return
  const subject = { kind: 'person', id: personId }
  const change = { subject, siteId: undefined, personId, reason, after: { grants } }
  await recordAuditEvent(trx, actor, { action: 'grants.end_person', ...change })
}

interface NewPassword {
  readonly personId: string
  readonly passwordHash: string
  /** Whether to end the grants of connected apps, too. */
  readonly endApps: boolean
  /** When the session that changes the password began; undefined if the person used a recovery link. */
  readonly sessionSince?: number
}

/** Thrown if the session that changes a password has ended, for example because of another new password. */
export class SessionEnded extends Error {}

/**
 * Stores a person's new password, and ends all sessions that began at or before `actor.now`. One of them may be an
 * attacker's (OWASP ASVS 5.0, 7.4.3). Deletes the mailed links that delete the account, remove a second factor or,
 * after a recovery, set a new password. A recovery also postpones the removal of an authenticator app by e-mail. Ends
 * grants if `endApps` is set, records an audit event, and mails the person.
 *
 * @throws SessionEnded if all sessions of the person were ended at or after `sessionSince`
 */
export async function storeNewPassword(
  trx: Transaction<Schema>,
  { personId, passwordHash, endApps, sessionSince }: NewPassword,
  actor: KnownActor,
): Promise<void> {
  const nowMs = actor.now
  const byMail = sessionSince === undefined
  const { email, signed_out_at: signedOutAt } = await trx
    .updateTable('person')
    .set({ password_hash: passwordHash })
    .where('id', '=', personId)
    .returning(['email', 'signed_out_at'])
    .executeTakeFirstOrThrow()
  // Check after the update, which waits for a concurrent change of the password.
  if (!byMail && signedOutAt !== null && signedOutAt >= sessionSince) throw new SessionEnded()
  await endSessions(trx, [personId], nowMs)
  // An attacker who could read earlier e-mails must not be able to use their links. But a change by a signed-in person
  // keeps the recovery links. Otherwise, an attacker with the password could delete them before the owner uses one.
  await trx
    .deleteFrom('one_time_link')
    .where('person_id', '=', personId)
    .where('kind', 'in', ['second_factor', 'deletion', ...(byMail ? ['recovery' as const] : [])])
    .execute()
  if (byMail) await holdFactorReset(trx, personId, nowMs)
  const reason = 'the person set a new password' as const
  const whose = { personId, grantedUntil: nowMs }
  const grantsEnded = endApps ? await endGrantsWithEvents(trx, whose, reason, actor) : 0
  await recordAuditEvent(trx, actor, {
    action: byMail ? 'password.recover' : 'password.change',
    subject: { kind: 'person', id: personId },
    siteId: undefined,
    personId,
    after: { grantsEnded },
  })
  await queueMail(trx, { kind: 'password_changed', to: email, personId, values: {} }, nowMs)
}
