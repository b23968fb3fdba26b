import { endAllAccess } from '../../oauth/grants/end-access.ts'
import { recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'

const PEOPLE_PER_PAGE = 500

/** What to do with people of earlier imports who are missing: `end` disables them, `keep` only counts them. */
export type Missing = 'end' | 'keep'

/**
 * Counts enabled people of earlier imports who are missing from this one. With `end`, also disables them and ends all
 * their access. `present` has the ids in this import, including those of rejected lines.
 */
export async function settleAbsentPeople(
  { kysely }: Database,
  present: ReadonlySet<string>,
  { missing, nowMs }: { readonly missing: Missing; readonly nowMs: number },
): Promise<number> {
  let [count, last] = [0, '']
  while (true) {
    const people = await kysely
      .selectFrom('person')
      .select('id')
      .where('id', '>', last)
      .where('imported_at', 'is not', null)
      .where('disabled_at', 'is', null)
      .orderBy('id')
      .limit(PEOPLE_PER_PAGE)
      .execute()
    const absent = people.filter(({ id }) => !present.has(id))
    count += absent.length
    if (missing === 'end') for (const { id } of absent) await endAccount(kysely, id, nowMs)
    if (people.length < PEOPLE_PER_PAGE) return count
    last = people.at(-1)?.id ?? last
  }
}

async function endAccount(kysely: Database['kysely'], id: string, nowMs: number): Promise<void> {
  await kysely.transaction().execute(async (trx) => {
    await trx.updateTable('person').set({ disabled_at: nowMs }).where('id', '=', id).execute()
    await endAllAccess(trx, id, { untilMs: nowMs, nowMs })
    const subject = { kind: 'person', id }
    const change = { before: { disabled: false }, after: { disabled: true } }
    await recordAuditEvent(
      trx,
      { now: nowMs },
      { action: 'person.absent', subject, siteId: undefined, personId: id, ...change },
    )
  })
}
