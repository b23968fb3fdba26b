/** Sends mail that confirms the address of a new account. */

import { networkOf } from '../../platform/limits/client-network.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { Database } from '../../platform/store/database.ts'
import { sha256 } from '../../platform/store/digest.ts'
import type { QueueMail } from '../mail/messages.ts'
import type { OneTimeLinks } from './one-time-links.ts'
import { canonicalEmail } from './person-store.ts'

export interface SignUpPorts {
  readonly database: Database
  readonly links: Pick<OneTimeLinks, 'create'>
  readonly queueMail: QueueMail
  readonly limits: Pick<Limits, 'takeTogether'>
  readonly now: () => number
}

interface SignUpRequest {
  /** The e-mail address as entered. */
  readonly login: string
  /** The client IP address. */
  readonly address: string
  /** The cookie value of the browser that asks. Other browsers need the code that it shows. */
  readonly browser: string
  /** The interaction to continue afterwards. */
  readonly from: string | undefined
}

/** How long the link that confirms an address works, in seconds. */
export const SIGN_UP_SECONDS = 3600

/** Creates the function that `requestSignUp` describes. */
export function makeSignUp(ports: SignUpPorts) {
  return async (siteId: string, request: SignUpRequest) =>
    await requestSignUp(ports, siteId, request)
}

/**
 * Sends a mail to confirm an address. Reads no account, so known and unknown addresses get the same response from
 * the same statements. The mail to a person with an account has another text, chosen when it is sent.
 *
 * @returns the seconds to wait, if the network has asked too often or the site has too many sign-ups
 */
async function requestSignUp(
  { database, links, queueMail, limits, now }: SignUpPorts,
  siteId: string,
  request: SignUpRequest,
): Promise<number | undefined> {
  const { login, address, browser, from } = request
  const reached =
    (await limits.takeTogether('signUpsOfAddress', networkOf(address))) ??
    (await limits.takeTogether('signUpsOfSite', siteId))
  if (reached) return reached.waitSeconds
  // Send to the canonical form: the mail must prove the mailbox by which accounts are told apart.
  const email = canonicalEmail(login)
  // Strangers must not learn from an error that others have asked, so the mail is left out silently.
  const isTooMany = await limits.takeTogether('signUpsOfAccount', sha256(email))
  const nowMs = now()
  await database.kysely.transaction().execute(async (trx) => {
    const data = from === undefined ? undefined : JSON.stringify({ from })
    const link = {
      kind: 'address' as const,
      email,
      emailCanonical: email,
      siteId,
      data,
      browser,
    }
    const linkId = await links.create(trx, link, { nowMs, livesSeconds: SIGN_UP_SECONDS })
    const shown = isTooMany ? 'none' : linkId
    const mail = { kind: 'address_confirmation', to: email, siteId, linkId: shown } as const
    await queueMail(trx, { ...mail, values: {} }, nowMs)
  })
  return undefined
}
