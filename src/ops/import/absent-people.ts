import { endAllAccess } from '../../oauth/grants/end-access.ts'
import { recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'

/**
 * How to treat people from earlier imports who are missing from this one: `keep` only counts them, `end` disables them
 * unless there are too many, and `end-all` disables any number of them.
 */
export const missingChoices = ['keep', 'end', 'end-all'] as const
export type Missing = (typeof missingChoices)[number]

/** The maximum ratio of missing people to people in the import, for `end`. Up to `MISSING_FEW` are always accepted. */
const MISSING_SHARE_MAX = 0.1
const MISSING_FEW = 20

/** The people in an import. */
export interface PresentPeople {
  /** The ids of the people, including those in rejected lines. */
  readonly people: ReadonlySet<string>
  /** Whether every line of the import has a known type and, for a person, an id. */
  readonly knowsEveryRecord: boolean
}

/**
 * Counts enabled people of earlier imports who are missing from this one. With `end` or `end-all`, also disables them
 * and ends all their access.
 *
 * @returns the number of missing people, or a message if the number is unknown or too high
 */
export async function settleAbsentPeople(
  { kysely }: Database,
  { people: present, knowsEveryRecord }: PresentPeople,
  { missing, nowMs }: { readonly missing: Missing; readonly nowMs: number },
): Promise<number | string> {
  if (present.size === 0) return 'the import contains no people'
  if (!knowsEveryRecord) return 'a rejected line does not identify its record'
  const people = await kysely
    .selectFrom('person')
    .select('id')
    .where('imported_at', 'is not', null)
    .where('disabled_at', 'is', null)
    .execute()
  const absent = people.filter(({ id }) => !present.has(id))
  const { length } = absent
  if (missing === 'end' && length > Math.max(MISSING_FEW, present.size * MISSING_SHARE_MAX)) {
    return `the import lacks ${length} people and contains only ${present.size}: it may be incomplete. If it is complete, repeat it with --missing end-all`
  }
  if (missing !== 'keep') for (const { id } of absent) await endAccount(kysely, id, nowMs)
  return length
}

async function endAccount(kysely: Database['kysely'], id: string, nowMs: number): Promise<void> {
  await kysely.transaction().execute(async (trx) => {
    await trx.updateTable('person').set({ disabled_at: nowMs }).where('id', '=', id).execute()
    await endAllAccess(trx, id, { reason: 'the platform ended it', untilMs: nowMs }, { now: nowMs })
    const subject = { kind: 'person', id }
    const change = { before: { disabled: false }, after: { disabled: true } }
    await recordAuditEvent(
      trx,
      { now: nowMs },
      { action: 'person.absent', subject, siteId: undefined, personId: id, ...change },
    )
  })
}
