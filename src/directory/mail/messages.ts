/** The kinds of mail messages. Their texts are in the catalogues, as `mail.<kind>`. */

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
  /** Lets a person confirm an address, to sign up or to change it. */
  address_confirmation: NoValues
  /** Lets a person who signs up, but already has an account, join the site with that account. */
  account_exists: NoValues
  new_sign_in: { readonly device: string }
  new_app: { readonly clientId: string; readonly app: string }
  password_changed: NoValues
  passkey_added: { readonly passkey: string }
  passkey_removed: { readonly passkey: string }
  passkey_copied: { readonly passkey: string }
  identity_linked: { readonly provider: string }
  identity_removed: { readonly provider: string }
  /** A change of the authenticator app or the recovery codes, or the use of a recovery code. */
  second_factor: {
    readonly change: string
    /** The number of unused recovery codes. */
    readonly left: number
  }
  /** Warns a person that, after the right password, too many wrong codes were sent. */
  second_factor_locked: NoValues
  /** Lets a person remove a lost authenticator app. */
  second_factor_reset: NoValues
  /** Lets a person confirm the deletion of the account. */
  deletion_requested: NoValues
  account_deleted: NoValues
  /** Tells an owner that events no longer reach a receiver. */
  webhook_disabled: { readonly url: string; readonly reason: string }
  /** Tells the last owner of sites that the account was not deleted. */
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
    /** The language for a recipient who has not chosen one. If undefined, the language of the site. */
    readonly language?: string | undefined
    /** The one-time link in the message. If the link was used or has expired, the message is not sent. */
    readonly linkId?: string | undefined
    readonly values: MailValues[Kind]
  }
}[MailKind]

/** Stores a message in the transaction of the change that causes it. The outbox sends the message after the commit. */
export async function queueMail(trx: Kysely<Schema>, mail: Mail, nowMs: number): Promise<void> {
  await storeMessage(trx, { kind: 'mail', payload: mail, nowMs })
}

/** A paragraph, or a button with its label that leads to the link of the message or to the account. */
type Block = TextId | { readonly label: TextId; readonly to: 'link' | 'account' }

interface Message<Kind extends MailKind> {
  readonly blocks: (values: MailValues[Kind]) => readonly Block[]
  /** The message to send if the address has an account. Chosen at sending time, to hide the account from the caller. */
  readonly forAccount?: MailKind
  /** Whether the message is sent only as a precaution, so `signIn.notices` and a stricter limit apply. */
  readonly notice?: boolean
  /** Whether the code that queues the message has applied the limits. */
  readonly limitedBefore?: boolean
}

const button = (label: TextId): Block => ({ label, to: 'link' })
const account = { label: 'mail.openAccount', to: 'account' } as const
/** What to do about a change that the person did not make. */
const notYou: readonly Block[] = ['mail.notYou', account]

/** The paragraphs and buttons of every message. The subject is `mail.<kind>.subject`. */
export const messages: { readonly [Kind in MailKind]: Message<Kind> } = {
  recovery: {
    limitedBefore: true,
    blocks: ({ byOperator }) => [
      byOperator ? 'mail.recovery.byOperator' : 'mail.recovery.asked',
      button('mail.recovery.button'),
      byOperator ? 'mail.oneUse' : 'mail.recovery.oneUse',
      'mail.recovery.ignore',
    ],
  },
  invitation: {
    forAccount: 'join_request',
    blocks: () => [
      'mail.invitation.text',
      button('mail.invitation.button'),
      'mail.invitation.oneUse',
      'mail.invitation.ignore',
    ],
  },
  join_request: {
    blocks: () => [
      'mail.join_request.text',
      button('mail.join_request.button'),
      'mail.join_request.oneUse',
      'mail.join_request.ignore',
    ],
  },
  address_confirmation: {
    forAccount: 'account_exists',
    blocks: () => [
      'mail.address_confirmation.text',
      button('mail.address_confirmation.button'),
      'mail.oneUse',
      'mail.ignore',
    ],
  },
  account_exists: {
    blocks: () => [
      'mail.account_exists.text',
      'mail.account_exists.join',
      button('mail.account_exists.button'),
      'mail.oneUse',
      'mail.ignore',
    ],
  },
  new_sign_in: {
    notice: true,
    blocks: () => ['mail.new_sign_in.text', 'mail.wasYou', ...notYou],
  },
  new_app: { notice: true, blocks: () => ['mail.new_app.text', 'mail.new_app.wasYou', ...notYou] },
  password_changed: {
    blocks: () => [
      'mail.password_changed.text',
      'mail.wasYou',
      'mail.password_changed.notYou',
      account,
    ],
  },
  passkey_added: { blocks: () => ['mail.passkey_added.text', ...notYou] },
  passkey_removed: { blocks: () => ['mail.passkey_removed.text', ...notYou] },
  passkey_copied: { blocks: () => ['mail.passkey_copied.text', ...notYou] },
  identity_linked: { blocks: () => ['mail.identity_linked.text', ...notYou] },
  identity_removed: { blocks: () => ['mail.identity_removed.text', ...notYou] },
  second_factor: {
    blocks: ({ change }) => [
      'mail.second_factor.text',
      /^re(moved|set)$/.test(change) ? 'mail.second_factor.alone' : 'mail.second_factor.left',
      'mail.wasYou',
      ...notYou,
    ],
  },
  second_factor_locked: {
    blocks: () => ['mail.second_factor_locked.text', 'mail.second_factor_locked.wasYou', ...notYou],
  },
  second_factor_reset: {
    limitedBefore: true,
    blocks: () => [
      'mail.second_factor_reset.text',
      button('secondFactor.remove'),
      'mail.recovery.oneUse',
      ...notYou,
    ],
  },
  deletion_requested: {
    blocks: () => [
      'mail.deletion_requested.text',
      button('mail.deletion_requested.button'),
      'mail.deletion_requested.oneUse',
      ...notYou,
    ],
  },
  account_deleted: { blocks: () => ['mail.account_deleted.text', 'mail.account_deleted.last'] },
  webhook_disabled: {
    limitedBefore: true,
    blocks: () => ['mail.webhook_disabled.text', 'mail.webhook_disabled.repair'],
  },
  deletion_stopped: { blocks: () => ['mail.deletion_stopped.text', account] },
}
