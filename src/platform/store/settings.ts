import type { Kysely } from 'kysely'

import type { Schema } from './schema.ts'

/** Reads a stored setting of the service; undefined if it was never written. */
export async function readSetting(
  kysely: Kysely<Schema>,
  name: string,
): Promise<string | undefined> {
  const query = kysely.selectFrom('setting').select('value').where('name', '=', name)
  return (await query.executeTakeFirst())?.value
}

/** Writes or replaces a stored setting. */
export async function writeSetting(
  kysely: Kysely<Schema>,
  name: string,
  value: string,
  nowMs: number,
): Promise<void> {
  const row = { value, updated_at: nowMs }
  await kysely
    .insertInto('setting')
    .values({ name, ...row })
    .onConflict((known) => known.column('name').doUpdateSet(row))
    .execute()
}
