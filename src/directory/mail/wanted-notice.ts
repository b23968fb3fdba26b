import type { Kysely } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'

/**
 * Whether to send a notice. Decided when it is sent, so that sign-ins and consents only insert a row. The address must
 * be verified or imported. Before a notice of a sign-in, the person must have used the account, and before one of a new
 * app, must not have connected it: authorizations that have not ended show both.
 *
 * @param clientId the new app; undefined for a sign-in
 */
export async function isWanted(
  kysely: Kysely<Schema>,
  { personId = '', clientId }: { personId?: string | undefined; clientId?: string | undefined },
  createdAt: number,
): Promise<boolean> {
  const earlier = kysely
    .selectFrom('oauth_grant')
    .select('id')
    .where('person_id', '=', personId)
    .where('ended_at', 'is', null)
    .where('granted_at', '<', createdAt)
    .$if(clientId !== undefined, (query) => query.where('client_id', '=', clientId ?? ''))
  const row = await kysely
    .selectFrom('person')
    .select((e) => e.exists(earlier).as('used'))
    .where('id', '=', personId)
    .where('disabled_at', 'is', null)
    .where((e) => e.or([e('email_verified_at', 'is not', null), e('imported_at', 'is not', null)]))
    .executeTakeFirst()
  return row !== undefined && Boolean(row.used) === (clientId === undefined)
}
