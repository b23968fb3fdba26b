import type { Transaction } from 'kysely'

import type { Schema } from '../store/schema.ts'
import { type EndReason, endGrants } from './end-grants.ts'

/** Clients that registered themselves are no access, and an id that came once must not come again. */
const KEPT_STATE = ['Client', 'ReplayDetection'] as const

/**
 * Ends all that people had allowed, to whichever client, and every session, code and sign-in that the
 * database knows. What Redis keeps is not reached.
 *
 * @returns how many grants ended
 */
export async function endEverything(
  trx: Transaction<Schema>,
  why: { readonly reason: EndReason; readonly nowMs: number },
): Promise<number> {
  const clients = await trx
    .selectFrom('oauth_grant')
    .select('client_id')
    .distinct()
    .where('ended_at', 'is', null)
    .execute()
  let count = 0
  for (const { client_id: clientId } of clients) {
    count += (await endGrants(trx, { clientId }, why)).length
  }
  await trx.deleteFrom('oauth_state').where('model', 'not in', KEPT_STATE).execute()
  return count
}
