import { type Kysely, sql } from 'kysely'

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
  const query = sql`insert into setting (name, value, updated_at) values (${name}, ${value}, ${nowMs})
    on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at`
  await query.execute(kysely)
}
