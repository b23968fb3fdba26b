import type { Kysely } from 'kysely'

import { networkOf } from '../../platform/limits/client-network.ts'
import { sha256 } from '../../platform/store/digest.ts'
import { canonicalEmail } from '../../platform/store/mail-address.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { queueMail } from '../mail/messages.ts'
import { createLink, type NewLink } from './one-time-links.ts'
import type { FactorPorts } from './passkeys.ts'
import { accountOf } from './person-store.ts'

/** A request for a link by e-mail, from a browser without a session. */
export interface LinkRequest {
  /** The e-mail address as entered. */
  readonly login: string
  /** The client IP address. */
  readonly address: string
  /** The cookie value of the requesting browser. Other browsers need the code that this browser shows. */
  readonly browser: string
  /** The interaction to continue afterwards. */
  readonly from: string | undefined
  /** The language of the form, for mail to a person who has not chosen a language. */
  readonly language: string
}

export type LinkRequests = ReturnType<typeof makeLinkRequests>

/** The lifetime of an unused link that lets a person set a password or remove an authenticator app, in seconds. */
const RECOVERY_SECONDS = 1200
/** The lifetime of an unused link that confirms the address of a new account, in seconds. */
const SIGN_UP_SECONDS = 3600

/** The message for each kind of link. */
const messages = {
  recovery: { kind: 'recovery', values: { byOperator: false } },
  address: { kind: 'address_confirmation', values: {} },
  second_factor: { kind: 'second_factor_reset', values: {} },
} as const

/** An id that no link has. A message with this link id is not sent. */
const NO_LINK = 'none'

/**
 * Creates the functions that send one-time links to people who are not signed in. Each returns the seconds to wait if
 * there were too many requests; undefined otherwise. Requests for known and unknown addresses get the same response and
 * run the same statements: each stores a link and a message. A message beyond the limit for its address is silently
 * dropped, because an error would reveal earlier requests for that address.
 */
export function makeLinkRequests({ database, limits, now }: FactorPorts) {
  /** Stores the link and its message, with the same statements whether or not the message is sent. */
  const send = async (
    kind: keyof typeof messages,
    { isSent, to, ...whose }: Recipient,
    { browser, from, language }: Partial<LinkRequest>,
  ): Promise<undefined> => {
    const { email, personId, siteId } = whose
    const livesSeconds = kind === 'address' ? SIGN_UP_SECONDS : RECOVERY_SECONDS
    const data = from === undefined ? undefined : JSON.stringify({ from })
    const nowMs = now()
    await database.kysely.transaction().execute(async (trx) => {
      const id = await createLink(trx, { kind, ...whose, data, browser, livesSeconds }, nowMs)
      const linkId = isSent ? id : NO_LINK
      const message = { ...messages[kind], to: to ?? email, personId, siteId, language, linkId }
      await queueMail(trx, message, nowMs)
    })
  }
  return {
    /** Sends a recovery e-mail to the account with this address, if there is one. */
    async recovery(request: LinkRequest): Promise<number | undefined> {
      const { login } = request
      const network = networkOf(request.address)
      const exceeded = await limits.takeTogether('recoveriesOfAddress', network)
      if (exceeded) return exceeded.waitSeconds
      const emailCanonical = canonicalEmail(login)
      // Count per address and network, so strangers in other networks cannot block a person's recovery.
      const asker = `${sha256(emailCanonical)}:${network}`
      const isTooMany =
        (await limits.takeTogether('recoveriesOfAccount', asker)) ??
        (await limits.takeTogether('mails', `recovery ${asker}`))
      const account = accountOf(database.kysely, login).where('disabled_at', 'is', null)
      const person = await account.select(['id', 'email']).executeTakeFirst()
      const personId = isTooMany ? undefined : person?.id
      // The page shows the address as entered, so it does not reveal the stored address of an account.
      const whose = { email: login, to: person?.email, personId }
      return await send('recovery', { ...whose, isSent: personId !== undefined }, request)
    },

    /**
     * Sends an e-mail to confirm the address of a new account. Does not check whether the address already has an
     * account. If it has one when the e-mail is sent, the e-mail has a different text.
     */
    async signUp(siteId: string, request: LinkRequest): Promise<number | undefined> {
      const reached =
        (await limits.takeTogether('signUpsOfAddress', networkOf(request.address))) ??
        (await limits.takeTogether('signUpsOfSite', siteId))
      if (reached) return reached.waitSeconds
      // Send to the canonical form, which identifies the account, so the e-mail proves access to that mailbox.
      const email = canonicalEmail(request.login)
      // Count the requests from all networks together. The address may belong to a person who never asked for an
      // account, and strangers must not flood it with mail. A genuine sign-up may have to wait for the next window.
      const isTooMany = await limits.takeTogether('signUpsOfAccount', sha256(email))
      return await send('address', { email, siteId, isSent: !isTooMany }, request)
    },

    /** Sends the link that removes a lost authenticator app. The person has already completed the first step. */
    async factorReset(
      personId: string,
      asked: Pick<LinkRequest, 'browser' | 'from'>,
    ): Promise<number | undefined> {
      const exceeded = await limits.takeTogether('recoveriesOfAccount', `factor ${personId}`)
      if (exceeded) return exceeded.waitSeconds
      const email = await emailOf(database.kysely, personId)
      return await send('second_factor', { email, personId, isSent: true }, asked)
    },
  }
}

interface Recipient extends Pick<NewLink, 'email' | 'personId' | 'siteId'> {
  /** The recipient of the message, if it is not `email`. */
  readonly to?: string | undefined
  readonly isSent: boolean
}

/** Sends a recovery e-mail to a person, in the transaction of an operator's request. Any browser may use the link. */
export async function sendRecovery(
  trx: Kysely<Schema>,
  whose: { readonly personId: string; readonly siteId: string },
  nowMs: number,
): Promise<void> {
  const email = await emailOf(trx, whose.personId)
  const link = { kind: 'recovery' as const, email, ...whose, livesSeconds: RECOVERY_SECONDS }
  const linkId = await createLink(trx, link, nowMs)
  const mail = { kind: 'recovery' as const, to: email, ...whose, linkId }
  await queueMail(trx, { ...mail, values: { byOperator: true } }, nowMs)
}

async function emailOf(kysely: Kysely<Schema>, personId: string): Promise<string> {
  const person = kysely.selectFrom('person').select('email').where('id', '=', personId)
  return (await person.executeTakeFirstOrThrow()).email
}
