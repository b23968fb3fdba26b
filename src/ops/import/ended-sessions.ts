import type { Transaction } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'

/** What is written of a person, as far as it matters here. */
interface PersonRow {
  readonly id?: unknown
  readonly password_hash?: unknown
  readonly disabled_at?: unknown
}

const decisive = ['password_hash', 'disabled_at'] as const

/**
 * The people of some rows whose sessions end with what is written: they have another password now, and
 * whoever knew the one before may be signed in with it; or they are disabled, and what was theirs shall not
 * come back with them (OWASP ASVS 5.0, 7.4.2 and 7.4.3).
 *
 * @param rows before they are written
 * @param changed the columns that are
 */
export async function findEndedSessions(
  trx: Transaction<Schema>,
  rows: readonly PersonRow[],
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

/** Ends every session of these people that began until this time, in every browser. */
export async function signOut(
  trx: Transaction<Schema>,
  personIds: readonly string[],
  untilMs: number,
): Promise<void> {
  if (personIds.length === 0) return
  await trx
    .insertInto('signed_out_everywhere')
    .values(personIds.map((person_id) => ({ person_id, signed_out_at: untilMs })))
    .onConflict((conflict) =>
      conflict
        .column('person_id')
        .doUpdateSet({ signed_out_at: untilMs })
        .where('signed_out_everywhere.signed_out_at', '<', untilMs),
    )
    .execute()
}
