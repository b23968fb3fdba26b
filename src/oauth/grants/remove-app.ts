import { type Actor, recordAuditEvent } from '../../platform/audit/audit-log.ts'
import type { Database } from '../../platform/store/database.ts'
import { endGrants } from './end-grants.ts'
import type { AppLine } from './grant-lists.ts'

/**
 * A person takes back what they allowed: every grant of theirs to this client at this site,
 * from whatever browser, with a line in the audit trail.
 *
 * @returns the grants that ended; none when there was nothing to take back
 */
export async function removeApp(
  { kysely }: Database,
  line: AppLine,
  actor: Actor,
): Promise<readonly string[]> {
  return await kysely.transaction().execute(async (trx) => {
    const ended = await endGrants(trx, line, { reason: 'the person removed it', nowMs: actor.now })
    if (ended.length === 0) return ended
    await recordAuditEvent(trx, actor, {
      action: 'grant.remove',
      subject: { kind: 'application', id: line.clientId },
      siteId: line.siteId,
      before: { grants: ended.length },
      after: { grants: 0 },
    })
    return ended
  })
}
