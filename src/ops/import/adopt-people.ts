import { sql, type Transaction } from 'kysely'

import { recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { Row } from './record-rows.ts'

/**
 * Changes the ids of people added by operators to the ids in the import, matched by e-mail address. Otherwise, an
 * operator of one site could block the import of an address. Applies only to people without a password who were never
 * imported: they never had a session or a grant, so no account in use is taken over. If the id already exists, that
 * person gets the roles and the address instead. Records each change.
 */
export async function adoptPeople(
  trx: Transaction<Schema>,
  rows: readonly Row[],
  nowMs: number,
): Promise<void> {
  const ids = new Map(rows.map((row) => [String(row['email_canonical']), String(row['id'])]))
  const found = await trx
    .selectFrom('person')
    .select(['id', 'email_canonical'])
    .where('email_canonical', 'in', [...ids.keys()])
    .where('imported_at', 'is', null)
    .where('password_hash', 'is', null)
    .execute()
  for (const { id: addedId, email_canonical } of found) {
    const id = ids.get(email_canonical) ?? addedId
    if (id === addedId) continue
    const taken = trx.selectFrom('person as other').select('other.id').where('other.id', '=', id)
    const adopted = await trx
      .updateTable('person')
      .set({ id })
      .where('id', '=', addedId)
      .where(({ not, exists }) => not(exists(taken)))
      .executeTakeFirst()
    if (adopted.numUpdatedRows === 0n) await giveWay(trx, addedId, id, nowMs)
    const subject = { kind: 'person', id }
    const change = { before: { id: addedId }, after: { id }, personId: id, siteId: undefined }
    await recordAuditEvent(trx, { now: nowMs }, { action: 'person.adopted', subject, ...change })
  }
}

/** Moves the roles of the added person to the person with the imported id, and frees the address. */
async function giveWay(trx: Transaction<Schema>, addedId: string, id: string, nowMs: number) {
  await sql`insert into site_role (person_id, site_id, role, granted_at)
    select ${id}, site_id, role, granted_at from site_role where person_id = ${addedId}
    on conflict do nothing`.execute(trx)
  await sql`insert into member_addition (person_id, site_id, name, added_at)
    select ${id}, site_id, name, added_at from member_addition where person_id = ${addedId}
    on conflict do nothing`.execute(trx)
  await trx.deleteFrom('site_role').where('person_id', '=', addedId).execute()
  // Clean-up deletes this row, unless other rows such as purchases refer to it.
  const email = `${addedId.toLowerCase()}@replaced.invalid`
  await trx
    .updateTable('person')
    .set({ email, email_canonical: email, unused_at: nowMs })
    .where('id', '=', addedId)
    .execute()
}

/** Marks people as imported if they are not, such as people whom operators added. */
export async function markImported(
  trx: Transaction<Schema>,
  rows: readonly Row[],
  nowMs: number,
): Promise<void> {
  await trx
    .updateTable('person')
    .set({ imported_at: nowMs, unused_at: null })
    .where(
      'id',
      'in',
      rows.map(({ id }) => String(id)),
    )
    .where('imported_at', 'is', null)
    .execute()
}
