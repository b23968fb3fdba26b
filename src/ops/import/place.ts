import type { Transaction } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { Source } from './sources.ts'

/** Where a run stands in a source; kept in the database with each batch. */
export interface Place {
  readonly name: string | undefined
  /** The last line of an earlier run. */
  readonly line: number
  /** Whether everything up to here is written. */
  goesOn: boolean
}

/** Where an earlier run of the same content has ended, or its beginning. */
export async function openPlace({ kysely }: Database, source: Source): Promise<Place> {
  if (!source.digest) return { name: undefined, line: 0, goesOn: true }
  const name = `import ${await source.digest()}`
  const kept = await kysely
    .selectFrom('setting')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return { name, line: kept ? Number(kept.value) : 0, goesOn: true }
}

/** Written with each batch, for as long as everything before it is written. */
export async function keepPlace(
  trx: Transaction<Schema>,
  { name, goesOn }: Place,
  { line, nowMs }: { readonly line: number; readonly nowMs: number },
): Promise<void> {
  if (name === undefined || !goesOn) return
  const row = { value: String(line), updated_at: nowMs }
  await trx
    .insertInto('setting')
    .values({ name, ...row })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
    .execute()
}

/** Once all of a source is written, it may be imported again from its beginning. */
export async function forgetPlace({ kysely }: Database, { name }: Place): Promise<void> {
  if (name !== undefined) await kysely.deleteFrom('setting').where('name', '=', name).execute()
}
