import { sql } from 'kysely'

import { makeSecretRoot, readOrMakeSecret } from '../../src/oauth/keys/secret-root.ts'
import { makeTokenValues } from '../../src/oauth/token/token-values.ts'
import type { RunningService } from './gatehouse.ts'

/** Binds the family of a token to another audience, as if another origin had issued it. */
export async function bindTo(audience: string, ofFamily: string, { service }: RunningService) {
  const { kysely } = service.stores.database
  const [familyId = ''] = ofFamily.split('.')
  const { token } = await kysely
    .selectFrom('refresh_token_family')
    .select('token')
    .where('id', '=', familyId)
    .executeTakeFirstOrThrow()
  const bound = JSON.stringify({ ...JSON.parse(token), audience })
  await sql`update refresh_token_family set token = ${bound} where id = ${familyId}`.execute(kysely)
}

/** The first access token of a family, as if it had been issued so long ago that it has expired. */
export async function expiredToken(
  accessToken: string,
  { config: { secrets, dataDir, service: policy }, service }: RunningService,
): Promise<string> {
  const [id = ''] = accessToken.split('.')
  const { seed, token } = await service.stores.database.kysely
    .selectFrom('refresh_token_family')
    .select(['seed', 'token'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const { tokenKeys } = makeSecretRoot(secrets ?? [readOrMakeSecret(dataDir)])
  const { scopes } = JSON.parse(token)
  const ageSeconds = policy.lifetimes.accessTokenSeconds + 3
  const issuedAtSeconds = Math.floor(Date.now() / 1000) - ageSeconds
  return makeTokenValues(tokenKeys).writeAccessToken(
    { id, seed, scopes },
    { generation: 0, issuedAtSeconds, has: scopes },
  )
}
