import { sql } from 'kysely'

import type { Database } from '../../src/platform/store/database.ts'

/** Makes the tokens of a family those of another origin, as if its database had been that one's. */
export async function bindTo(
  audience: string,
  familyId: string,
  { kysely }: Database,
): Promise<void> {
  const { token } = await kysely
    .selectFrom('refresh_token_family')
    .select('token')
    .where('id', '=', familyId)
    .executeTakeFirstOrThrow()
  const bound = JSON.stringify({ ...JSON.parse(token), audience })
  await sql`update refresh_token_family set token = ${bound} where id = ${familyId}`.execute(kysely)
}
