import type { Kysely } from 'kysely'

import { describeDevice } from '../../platform/http/browser.ts'
import type { Platform } from '../../platform/platform.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { queueMail } from './messages.ts'

export type Notices = ReturnType<typeof makeNotices>

/** Creates the functions that queue optional notices. They do nothing unless `enabled` is set (`signIn.notices`). */
export function makeNotices(
  { database, now }: Pick<Platform, 'database' | 'now'>,
  enabled: boolean,
) {
  return {
    /** Queues a notice about a sign-in from a browser that is new to the account. */
    async newSignIn(personId: string, userAgent: string): Promise<void> {
      const values = { device: describeDevice(userAgent) }
      if (!enabled) return
      await queueMail(database.kysely, { kind: 'new_sign_in', personId, values }, now())
    },
    /** Queues a notice about an app that a person connected. Runs in the transaction of the consent. */
    async newApp(
      trx: Kysely<Schema>,
      grant: Readonly<Record<'personId' | 'clientId' | 'clientName', string>>,
      nowMs: number,
    ): Promise<void> {
      const { personId, clientId, clientName: app } = grant
      const values = { clientId, app }
      if (enabled) await queueMail(trx, { kind: 'new_app', personId, values }, nowMs)
    },
  }
}

/**
 * Whether to send a notice. Checked when the notice is sent, so sign-ins and consents only insert a row. The account
 * must be enabled, and must have been imported or have a verified address. A notice about a sign-in requires an earlier
 * grant, which may have ended. A notice about a new app requires that every earlier grant to this app has ended.
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
    .where('granted_at', '<', createdAt)
    .$if(clientId !== undefined, (query) =>
      query.where('client_id', '=', clientId ?? '').where('ended_at', 'is', null),
    )
  const row = await kysely
    .selectFrom('person')
    .select((e) => e.exists(earlier).as('used'))
    .where('id', '=', personId)
    .where('disabled_at', 'is', null)
    .where((e) => e.or([e('email_verified_at', 'is not', null), e('imported_at', 'is not', null)]))
    .executeTakeFirst()
  return row !== undefined && Boolean(row.used) === (clientId === undefined)
}
