import { recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'

/** Creates the function that keeps an account whose deletion is scheduled, and records an audit event. */
export function makeCancelDeletion({ kysely }: Database, now: () => number) {
  return async (personId: string): Promise<void> =>
    await kysely.transaction().execute(async (trx) => {
      const kept = trx.updateTable('person').set({ deletion_due_at: null })
      const { numUpdatedRows } = await kept
        .where('id', '=', personId)
        .where('deletion_due_at', 'is not', null)
        .where('deleted_at', 'is', null)
        .executeTakeFirstOrThrow()
      if (numUpdatedRows === 0n) return
      const subject = { kind: 'person', id: personId }
      const event = { action: 'account.deletion_cancelled', subject, siteId: undefined } as const
      await recordAuditEvent(trx, { personId, now: now() }, event)
    })
}
