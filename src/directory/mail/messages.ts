/** The kinds of mail messages. The texts of each kind are in the catalogues, as `mail.<kind>.<name>`. */

import type { Kysely } from 'kysely'

import type { TextId } from '../../../views/text.ts'
import { storeMessage } from '../../platform/outbox/outbox.ts'
import type { Schema } from '../../platform/store/schema.ts'

type NoValues = Readonly<Record<never, never>>

/** The values in the text of each kind of message. */
export interface MailValues {
  /** Lets a person set a new password. */
  recovery: { readonly byOperator: boolean }
  /** Invites a new person to a site. */
  invitation: { readonly invitedBy: string }
  /** Asks a person who has an account to join a site. */
  join_request: { readonly invitedBy: string }
  /** Lets a person confirm an address to sign up. */
  address_confirmation: NoValues
  /** Lets a person who signs up, but already has an account, join the site with that account. */
  account_exists: NoValues
  new_sign_in: { readonly device: string }
  new_app: { readonly clientId: string; readonly app: string }
  password_changed: NoValues
  passkey_changed: { readonly passkey: string; readonly change: 'added' | 'removed' | 'copied' }
  identity_changed: { readonly provider: string; readonly change: 'linked' | 'removed' }
  /** Reports a change to the authenticator app or the recovery codes, or the use of a recovery code. */
  second_factor: {
    readonly change: string
    /** The number of unused recovery codes. */
    readonly left: number
  }
  /** Warns a person that the second step of a sign-in failed too often after the first step succeeded. */
  second_factor_locked: NoValues
  /** Lets a person remove a lost authenticator app. */
  second_factor_reset: NoValues
  /** Lets a person confirm the deletion of the account. */
  deletion_requested: NoValues
  account_deleted: NoValues
  /** Tells an owner that a webhook endpoint was disabled after failures. */
  webhook_disabled: { readonly url: string; readonly reason: string }
  /** Tells a person that the account was not deleted, because the person is the last owner of one or more sites. */
  deletion_stopped: { readonly sites: readonly string[] }
}

export type MailKind = keyof MailValues

export type Mail = {
  readonly [Kind in MailKind]: {
    readonly kind: Kind
    /** The recipient, if it is not the current address of the person. Send only to a stored or a canonical address. */
    readonly to?: string | undefined
    /** The person who is greeted by name. */
    readonly personId?: string | undefined
    /** The site whose name and look the message shows. */
    readonly siteId?: string | undefined
    /** The language for a recipient who has not chosen a language. Defaults to the language of the site. */
    readonly language?: string | undefined
    /** The id of the one-time link in the message. The message is not sent if the link no longer works. */
    readonly linkId?: string | undefined
    readonly values: MailValues[Kind]
  }
}[MailKind]

/** Stores a message, usually in the transaction of the change that causes it. The outbox sends it after the commit. */
export async function queueMail(trx: Kysely<Schema>, mail: Mail, nowMs: number): Promise<void> {
  await storeMessage(trx, { kind: 'mail', payload: mail, nowMs })
}

type SharedText = 'oneUse' | 'ignore' | 'wasYou' | 'notYou' | 'openAccount' | 'recovery.oneUse'

/**
 * The name of a text for this kind of message, or the id of a shared text. `button` becomes a button that opens the
 * message's link. `mail.openAccount` becomes a button that opens the account.
 */
type Block<Kind extends MailKind, Id = TextId> =
  | `mail.${SharedText}`
  | 'button'
  | (Id extends `mail.${Kind}.${infer Name}` ? Name : never)

export interface Message<Kind extends MailKind> {
  readonly blocks: readonly Block<Kind>[] | ((values: MailValues[Kind]) => readonly Block<Kind>[])
  /** The label of the button. Defaults to the text `button` of this kind of message. */
  readonly button?: TextId
  /** The kind to send if the address has an account. Chosen on delivery, so the request does not reveal accounts. */
  readonly forAccount?: MailKind
  /** Whether the message is an optional notice. `signIn.notices` can switch it off, and a separate limit applies. */
  readonly notice?: boolean
  /** Whether to send without a limit, for example because the limits were applied when the message was queued. */
  readonly limitedBefore?: boolean
}

/** Says what to do if another person signed in or made the change. */
const notYou = ['mail.notYou', 'mail.openAccount'] as const

/** The paragraphs and buttons of every message. The subject is `mail.<kind>.subject`. */
export const messages: { readonly [Kind in MailKind]: Message<Kind> } = {
  recovery: {
    limitedBefore: true,
    blocks: ({ byOperator }) =>
      byOperator
        ? ['byOperator', 'button', 'mail.oneUse', 'ignore']
        : ['asked', 'button', 'oneUse', 'ignore'],
  },
  invitation: { forAccount: 'join_request', blocks: ['text', 'button', 'oneUse', 'ignore'] },
  join_request: { blocks: ['text', 'button', 'oneUse', 'ignore'] },
  address_confirmation: {
    forAccount: 'account_exists',
    blocks: ['text', 'button', 'mail.oneUse', 'mail.ignore'],
  },
  account_exists: { blocks: ['text', 'join', 'button', 'mail.oneUse', 'mail.ignore'] },
  new_sign_in: { notice: true, blocks: ['text', 'mail.wasYou', ...notYou] },
  new_app: { notice: true, blocks: ['text', 'wasYou', ...notYou] },
  password_changed: { blocks: ['text', 'mail.wasYou', 'notYou', 'mail.openAccount'] },
  passkey_changed: { blocks: ['text', ...notYou] },
  identity_changed: { blocks: ['text', ...notYou] },
  second_factor: {
    blocks: ({ change }) => {
      const left = /^re(moved|set)$/.test(change) ? 'alone' : 'left'
      return ['text', left, 'mail.wasYou', ...notYou]
    },
  },
  second_factor_locked: { blocks: ['text', 'wasYou', ...notYou] },
  second_factor_reset: {
    limitedBefore: true,
    button: 'secondFactor.remove',
    blocks: ['text', 'button', 'mail.recovery.oneUse', ...notYou],
  },
  deletion_requested: { blocks: ['text', 'button', 'oneUse', ...notYou] },
  account_deleted: { blocks: ['text', 'last'] },
  webhook_disabled: { limitedBefore: true, blocks: ['text', 'repair'] },
  deletion_stopped: { blocks: ['text', 'mail.openAccount'] },
}
