import type { Kysely } from 'kysely'

import { describeDevice } from '../../platform/http/browser.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { QueueMail } from './messages.ts'

interface Ports {
  readonly database: Database
  readonly now: () => number
}

export type Notices = ReturnType<typeof makeNotices>

/** Creates the functions that queue precautionary mail. They do nothing unless `enabled` (`signIn.notices`). */
export function makeNotices({ database, now }: Ports, queueMail: QueueMail, enabled: boolean) {
  return {
    /** Queues a notice of a sign-in with a browser that was not used before. */
    async newSignIn(personId: string, userAgent: string): Promise<void> {
      const values = { device: describeDevice(userAgent) }
      if (!enabled) return
      await queueMail(database.kysely, { kind: 'new_sign_in', personId, values }, now())
    },
    /** Queues a notice of an app that a person connected, in the transaction of the consent. */
    async newApp(
      trx: Kysely<Schema>,
      { personId, clientId, clientName: app }: Readonly<Record<AppField, string>>,
      nowMs: number,
    ): Promise<void> {
      const values = { clientId, app }
      if (enabled) await queueMail(trx, { kind: 'new_app', personId, values }, nowMs)
    },
  }
}

type AppField = 'personId' | 'clientId' | 'clientName'
