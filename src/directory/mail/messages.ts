/** The texts of all mail messages. */

import type { Kysely } from 'kysely'

import type { MailBlock } from '../../../views/mail-message.ts'
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
    readonly action: keyof typeof secondFactorSubjects
    /** The number of unused recovery codes. */
    readonly left: number
  }
  /** Warns a person that, after the right password, too many wrong codes were sent. */
  second_factor_locked: NoValues
  /** Lets a person confirm the deletion of the account. */
  deletion_requested: NoValues
  account_deleted: NoValues
  /** Tells the last owner of sites that the account was not deleted. */
  deletion_stopped: { readonly sites: string }
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
    /** The one-time link in the message. If the link was used or has expired, the message is not sent. */
    readonly linkId?: string | undefined
    readonly values: MailValues[Kind]
  }
}[MailKind]

/** Stores a message in the transaction of the change that causes it. The outbox sends the message after the commit. */
export type QueueMail = (trx: Kysely<Schema>, mail: Mail, nowMs: number) => Promise<void>

/** The data that every message can show. */
export interface MailFrame {
  /** The name of the site or, without a site, of the service. */
  readonly place: string
  /** When the message was queued, as text. */
  readonly at: string
  /** The URL of the link in the message; empty for a message without a link. */
  readonly href: string
  /** How long the link works, in seconds; 0 for a message without a link. */
  readonly liveSeconds: number
  readonly accountHref: string
}

interface Message<Kind extends MailKind> {
  readonly subject: (values: MailValues[Kind], frame: MailFrame) => string
  readonly blocks: (values: MailValues[Kind], frame: MailFrame) => readonly MailBlock[]
  /** The message to send if the address has an account. Chosen at sending time, to hide the account from the caller. */
  readonly forAccount?: MailKind
  /** Whether the message is sent only as a precaution, so `signIn.notices` and a stricter limit apply. */
  readonly notice?: boolean
  /** Whether the code that queues the message has applied the limits. */
  readonly limitedBefore?: boolean
}

const button = (label: string, { href }: MailFrame): MailBlock => ({ label, href })
const IGNORE = 'If you did not ask for this, ignore this message. Nothing will change.'
const oneUse = ({ liveSeconds }: MailFrame) =>
  `The link works once and expires after ${duration(liveSeconds)}.`

/** Advice about a change that the person did not make. */
const notYou = ({ accountHref }: MailFrame): readonly MailBlock[] => [
  'If this was not you, someone else may know your password. In your account, change the password, sign out everywhere, and remove the passkeys, identity providers and apps that you do not recognize:',
  { label: 'Open your account', href: accountHref },
]

type AboutPasskey = Pick<Message<'passkey_added'>, 'subject' | 'blocks'>
const aboutPasskey = (happened: string, then: string): AboutPasskey => ({
  subject: (_, { place }) => `A passkey for ${place} was ${happened}`,
  blocks: ({ passkey }, frame) => [
    `The passkey “${passkey}” of your account at ${frame.place} was ${happened} on ${frame.at}. ${then}`,
    ...notYou(frame),
  ],
})

type AboutIdentity = Pick<Message<'identity_linked'>, 'subject' | 'blocks'>
const aboutIdentity = (can: string, happened: string): AboutIdentity => ({
  subject: ({ provider }, { place }) => `${provider} ${can} sign you in to ${place}`,
  blocks: ({ provider }, frame) => [
    `Your account at ${provider} was ${happened} your account at ${frame.place} on ${frame.at}. It ${can} sign you in.`,
    ...notYou(frame),
  ],
})

/** All messages, by kind. Each says who asked, what to do, and what to do if the recipient did not ask. */
export const messages: { readonly [Kind in MailKind]: Message<Kind> } = {
  recovery: {
    limitedBefore: true,
    subject: (_, { place }) => `Set a new password for ${place}`,
    blocks: ({ byOperator }, frame) => [
      byOperator
        ? `An operator of ${frame.place} sent you this link to set a new password.`
        : `Someone asked for a new password for your account at ${frame.place}.`,
      button('Set a new password', frame),
      byOperator
        ? oneUse(frame)
        : `${oneUse(frame)} Open it in the browser in which you asked. Any other browser needs the code shown there.`,
      `If you did not ask for this, ignore this message. Your password will not change.`,
    ],
  },
  invitation: {
    forAccount: 'join_request',
    subject: (_, { place }) => `Your invitation to ${place}`,
    blocks: ({ invitedBy }, frame) => [
      `${invitedBy} invites you to ${frame.place}. To join, create an account with this address.`,
      button('Accept the invitation', frame),
      `${oneUse(frame)} It is only for you; do not forward it.`,
      'If you do not know the sender, ignore this message. No account will be created.',
    ],
  },
  join_request: {
    subject: (_, { place }) => `Your invitation to ${place}`,
    blocks: ({ invitedBy }, frame) => [
      `${invitedBy} invites you to join ${frame.place} with the account that you already have.`,
      button('Answer the invitation', frame),
      `${oneUse(frame)} ${frame.place} learns nothing about you until you accept.`,
      'If you do not want to join, ignore this message.',
    ],
  },
  address_confirmation: {
    forAccount: 'account_exists',
    subject: (_, { place }) => `Confirm your e-mail address for ${place}`,
    blocks: (_, frame) => [
      `Someone entered this address at ${frame.place}. If it was you, confirm the address.`,
      button('Confirm this address', frame),
      oneUse(frame),
      IGNORE,
    ],
  },
  account_exists: {
    subject: (_, { place }) => `You already have an account for ${place}`,
    blocks: (_, frame) => [
      `Someone entered this address to create an account at ${frame.place}. You already have one.`,
      `To join ${frame.place} with it, sign in. If you do not know your password, choose “Forgot your password?” there.`,
      button('Sign in and join', frame),
      oneUse(frame),
      IGNORE,
    ],
  },
  new_sign_in: {
    notice: true,
    subject: (_, { place }) => `New sign-in to ${place}`,
    blocks: ({ device }, frame) => [
      `Your account was used to sign in on ${frame.at}, in a browser that had not been used with it before: ${device}.`,
      'If this was you, you do not need to do anything.',
      ...notYou(frame),
    ],
  },
  new_app: {
    notice: true,
    subject: ({ app }) => `${app} can now use your account`,
    blocks: ({ app }, frame) => [
      `On ${frame.at}, the app ${app} was given access to your account at ${frame.place}.`,
      'If this was you, you do not need to do anything. You can remove the app in your account at any time.',
      ...notYou(frame),
    ],
  },
  password_changed: {
    subject: (_, { place }) => `Your password for ${place} was changed`,
    blocks: (_, frame) => [
      `The password of your account at ${frame.place} was changed on ${frame.at}.`,
      'If this was you, you do not need to do anything.',
      'If this was not you, use “Forgot your password?” on the sign-in page at once:',
      { label: 'Open your account', href: frame.accountHref },
    ],
  },
  passkey_added: aboutPasskey('added', 'It can now sign you in.'),
  passkey_removed: aboutPasskey('removed', 'It no longer signs you in.'),
  passkey_copied: aboutPasskey(
    'locked',
    'Someone used a copy of it, and was not signed in. Sign in another way, and remove the passkey.',
  ),
  identity_linked: aboutIdentity('can now', 'linked to'),
  identity_removed: aboutIdentity('can no longer', 'removed from'),
  second_factor: {
    subject: ({ action }, { place }) => `${secondFactorSubjects[action]} for ${place}`,
    blocks: ({ action, left }, frame) => [
      `${secondFactorSubjects[action]} for your account at ${frame.place} on ${frame.at}.`,
      action === 'second_factor.removed'
        ? 'From now on, your password alone is enough to sign in.'
        : `You have ${left} unused recovery codes.`,
      'If this was you, you do not need to do anything.',
      ...notYou(frame),
    ],
  },
  second_factor_locked: {
    subject: (_, { place }) => `Wrong codes at the sign-in to ${place}`,
    blocks: (_, frame) => [
      `On ${frame.at}, someone began to sign in to your account at ${frame.place}, and sent too many wrong codes for the second step. For some minutes, no code is accepted.`,
      'If this was you, wait and try again.',
      ...notYou(frame),
    ],
  },
  deletion_requested: {
    subject: (_, { place }) => `Confirm the deletion of your account at ${place}`,
    blocks: (_, frame) => [
      `Someone asked to delete your account at ${frame.place}.`,
      button('Confirm the deletion', frame),
      `${oneUse(frame)} After you confirm, you can cancel the deletion by signing in before the account is deleted.`,
      ...notYou(frame),
    ],
  },
  account_deleted: {
    subject: (_, { place }) => `Your account at ${place} was deleted`,
    blocks: (_, { place }) => [
      `Your account at ${place} and your personal data were deleted. This cannot be undone.`,
      'This is the last message to this address.',
    ],
  },
  deletion_stopped: {
    subject: (_, { place }) => `Your account at ${place} was not deleted`,
    blocks: ({ sites }, { accountHref }) => [
      `You are the last owner of ${sites}. Make another person an owner, and delete your account again.`,
      { label: 'Open your account', href: accountHref },
    ],
  },
}

const secondFactorSubjects = {
  'second_factor.added': 'An authenticator app was added',
  'second_factor.renewed': 'New recovery codes were created',
  'second_factor.used': 'A recovery code was used',
  'second_factor.removed': 'The authenticator app was removed',
} as const

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** Formats a duration, rounded to its largest unit, such as “20 minutes”. */
function duration(seconds: number): string {
  const [unit, length] = units.find(([, each]) => seconds >= each) ?? units[2]
  const count = Math.round(seconds / length)
  return count === 1 ? `one ${unit}` : `${count} ${unit}s`
}
