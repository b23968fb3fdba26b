import type { Transaction } from 'kysely'

import { endGrants } from '../../oauth/grants/end-grants.ts'
import { recordAuditEvent } from '../../platform/audit/audit-log.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { resolveTime } from './campus-time.ts'
import { signOut } from './ended-sessions.ts'
import type { DataRecord } from './read-records.ts'

/**
 * Ends all access to the accounts of some people that began until the time that their line names, or until
 * now where that is earlier: sessions, and what applications were allowed, with every token. It is what an
 * account needs that was somebody else's for a while: who was signed in to it may have connected a program,
 * which another password alone does not end (RFC 9700 §4.14.2). Imported again, the line ends nothing newer.
 */
export async function endAccess(
  trx: Transaction<Schema>,
  people: readonly DataRecord[],
  nowMs: number,
): Promise<void> {
  for (const { id, values } of people) {
    const { accessEndedAt } = values
    if (typeof accessEndedAt !== 'string') continue
    const untilMs = Math.min(resolveTime(accessEndedAt, nowMs), nowMs)
    await signOut(trx, [id], untilMs)
    const whose = { personId: id, grantedUntil: untilMs }
    const ended = await endGrants(trx, whose, { reason: 'the platform ended it', nowMs })
    if (ended.length === 0) continue
    await recordAuditEvent(
      trx,
      { now: nowMs },
      {
        action: 'grants.end_person',
        subject: { kind: 'person', id },
        siteId: undefined,
        personId: id,
        after: { grants: ended.length },
      },
    )
  }
}
