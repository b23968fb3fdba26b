import { change, rowOf } from './database.ts'
import type { RunningService } from './gatehouse.ts'

/** Binds the family of a token to `audience`, as if another origin had issued the token. */
export async function bindTo(audience: string, ofFamily: string, { kysely }: RunningService) {
  const [id = ''] = ofFamily.split('.')
  const family = await rowOf(kysely, 'refresh_token_family', { id })
  const token = JSON.stringify({ ...JSON.parse(family.token), audience })
  await change(kysely, 'refresh_token_family', { id }, { token })
}
