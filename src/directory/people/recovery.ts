import type { Transaction } from 'kysely'

import { networkOf } from '../../platform/limits/client-network.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { Database } from '../../platform/store/database.ts'
import { sha256 } from '../../platform/store/digest.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { QueueMail } from '../mail/messages.ts'
import type { OneTimeLinks } from './one-time-links.ts'
import { canonicalEmail } from './person-store.ts'

interface RecoveryPorts {
  readonly database: Database
  readonly links: OneTimeLinks
  readonly queueMail: QueueMail
  readonly limits: Pick<Limits, 'takeTogether'>
  readonly now: () => number
}

export interface RecoveryRequest {
  /** The e-mail address as entered. */
  readonly login: string
  /** The client IP address. */
  readonly address: string
  /** The cookie value of the browser that asks. Other browsers need the code that it shows. */
  readonly browser: string
  /** The interaction to continue afterwards. */
  readonly from: string | undefined
}

export type Recovery = ReturnType<typeof makeRecovery>

/** How long the link of a recovery mail works. */
export const RECOVERY_SECONDS = 1200

/**
 * Creates the functions that let a person set a new password with a mail. Known and unknown addresses get the same
 * response from the same statements: both store a link and a message. The message of an unknown address has a link that
 * does not exist, so it is not sent.
 */
export function makeRecovery({ database, links, queueMail, limits, now }: RecoveryPorts) {
  return {
    /**
     * Sends a recovery mail to the account with this address, if there is one.
     *
     * @returns the seconds to wait, if the network has asked too often; undefined otherwise
     */
    async request({ login, address, browser, from }: RecoveryRequest): Promise<number | undefined> {
      const network = networkOf(address)
      const exceeded = await limits.takeTogether('recoveriesOfAddress', network)
      if (exceeded) return exceeded.waitSeconds
      const emailCanonical = canonicalEmail(login)
      // Count per network, so strangers cannot block a person's recovery. They must not learn from an error that others
      // have asked, so the mail is left out silently.
      const asker = `${sha256(emailCanonical)}:${network}`
      const isTooMany =
        (await limits.takeTogether('recoveriesOfAccount', asker)) ??
        (await limits.takeTogether('mails', `recovery ${asker}`))
      const nowMs = now()
      const person = await findEnabled(database, emailCanonical)
      const personId = isTooMany ? undefined : person?.id
      await database.kysely.transaction().execute(async (trx) => {
        const life = { nowMs, livesSeconds: RECOVERY_SECONDS }
        const data = from === undefined ? undefined : JSON.stringify({ from })
        // The page shows the address as entered, so it does not reveal the one of an account.
        const asked = { email: login, emailCanonical, personId, data, browser }
        const linkId = await links.create(trx, { kind: 'recovery', ...asked }, life)
        const values = { byOperator: false }
        const shown = personId === undefined ? 'none' : linkId
        const to = person?.email ?? login
        await queueMail(trx, { kind: 'recovery', to, personId, linkId: shown, values }, nowMs)
      })
      return undefined
    },

    /** Sends a recovery mail to a person, in the transaction of an operator who asked for it. Any browser may use it. */
    async sendTo(
      trx: Transaction<Schema>,
      { personId, siteId }: { readonly personId: string; readonly siteId: string },
      nowMs: number,
    ): Promise<void> {
      const { email, email_canonical: emailCanonical } = await trx
        .selectFrom('person')
        .select(['email', 'email_canonical'])
        .where('id', '=', personId)
        .executeTakeFirstOrThrow()
      const link = { kind: 'recovery' as const, email, emailCanonical, personId, siteId }
      const linkId = await links.create(trx, link, { nowMs, livesSeconds: RECOVERY_SECONDS })
      const values = { byOperator: true }
      await queueMail(trx, { kind: 'recovery', to: email, personId, siteId, linkId, values }, nowMs)
    },
  }
}

/** Finds the account with an address, unless it is disabled. */
async function findEnabled({ kysely }: Database, emailCanonical: string) {
  // PostgreSQL raises an error on NUL instead of matching no row. No address contains it.
  if (emailCanonical.includes('\0')) return undefined
  return await kysely
    .selectFrom('person')
    .select(['id', 'email'])
    .where('email_canonical', '=', emailCanonical)
    .where('disabled_at', 'is', null)
    .executeTakeFirst()
}
