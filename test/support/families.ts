import { sql } from 'kysely'

import { rowOf } from './database.ts'
import type { RunningService } from './gatehouse.ts'

/** Binds the family of a token to `audience`, as if another origin had issued the token. */
export async function bindTo(audience: string, ofFamily: string, { kysely }: RunningService) {
  const [familyId = ''] = ofFamily.split('.')
  const { token } = await rowOf(kysely, 'refresh_token_family', { id: familyId })
  const bound = JSON.stringify({ ...JSON.parse(token), audience })
  await sql`update refresh_token_family set token = ${bound} where id = ${familyId}`.execute(kysely)
}
