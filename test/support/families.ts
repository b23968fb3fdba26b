import { sql } from 'kysely'

import { makeSecretRoot, readOrMakeSecret } from '../../src/oauth/keys/secret-root.ts'
import { makeTokenValues } from '../../src/oauth/token/token-values.ts'
import { rowOf } from './database.ts'
import type { RunningService } from './gatehouse.ts'

/** Binds the family of a token to another audience, as if another origin had issued it. */
export async function bindTo(audience: string, ofFamily: string, { kysely }: RunningService) {
  const [familyId = ''] = ofFamily.split('.')
  const { token } = await rowOf(kysely, 'refresh_token_family', { id: familyId })
  const bound = JSON.stringify({ ...JSON.parse(token), audience })
  await sql`update refresh_token_family set token = ${bound} where id = ${familyId}`.execute(kysely)
}

/** Returns the first access token of a family as if it had already expired. */
export async function expiredToken(accessToken: string, { config, kysely }: RunningService) {
  const { secrets, dataDir, service: policy } = config
  const [id = ''] = accessToken.split('.')
  const { seed, token } = await rowOf(kysely, 'refresh_token_family', { id })
  const { tokenKeys } = makeSecretRoot(secrets ?? [readOrMakeSecret(dataDir)])
  const { scopes } = JSON.parse(token)
  const ageSeconds = policy.lifetimes.accessTokenSeconds + 3
  const issuedAtSeconds = Math.floor(Date.now() / 1000) - ageSeconds
  const issued = { generation: 0, issuedAtSeconds, has: scopes }
  return makeTokenValues(tokenKeys).writeAccessToken({ id, seed, scopes }, issued)
}
