import type { Transaction } from 'kysely'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { endSessions } from './end-access.ts'
import { endGrants } from './end-grants.ts'

interface NewPassword {
  readonly personId: string
  readonly passwordHash: string
  /** Whether to end the grants of connected apps, too. */
  readonly endApps: boolean
  /** Whether the person received a recovery mail, instead of entering the old password. */
  readonly byMail: boolean
}

/**
 * Stores a person's new password, and ends all sessions that began by `actor.now`: one of them may be an attacker's
 * (OWASP ASVS 5.0, 7.4.3). Records an audit event.
 */
export async function storeNewPassword(
  trx: Transaction<Schema>,
  { personId, passwordHash, endApps, byMail }: NewPassword,
  actor: Partial<Actor> & Pick<Actor, 'now'>,
): Promise<void> {
  const nowMs = actor.now
  await trx
    .updateTable('person')
    .set({ password_hash: passwordHash })
    .where('id', '=', personId)
    .execute()
  await endSessions(trx, [personId], nowMs)
  // An attacker who could read earlier mails must not be able to use their links.
  await trx
    .deleteFrom('one_time_link')
    .where('person_id', '=', personId)
    .where('kind', 'in', ['recovery', 'deletion'])
    .execute()
  const reason = 'the person set a new password' as const
  const ended = endApps
    ? await endGrants(trx, { personId, grantedUntil: nowMs }, { reason, nowMs })
    : []
  const subject = { kind: 'person', id: personId }
  await recordAuditEvent(trx, actor, {
    action: byMail ? 'password.recover' : 'password.change',
    subject,
    siteId: undefined,
    personId,
    after: { grantsEnded: ended.length },
  })
}
