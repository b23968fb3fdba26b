/** Queues mail in the caller's transaction, and renders and sends it later. Other rooms decide what is sent to whom. */

import type { Transaction } from 'kysely'

import { mailHtml, mailText } from '../../../views/mail-message.ts'
import { addressOf, linkPages, nameOfSite, pages } from '../../platform/http/paths.ts'
import {
  type MessageHandler,
  type NewMessage,
  type OutboxMessage,
  Undeliverable,
} from '../../platform/outbox/outbox.ts'
import type { Database } from '../../platform/store/database.ts'
import type { OneTimeLinkKind, Schema } from '../../platform/store/schema.ts'
import { canonicalEmail } from '../people/person-store.ts'
import { findLook, logoAddress, textColorOn } from '../sites/site-look.ts'
import { isMailAddress } from './mail-address.ts'
import { type MailFrame, type MailKind, type MailValues, messages } from './messages.ts'
import { openTransport, type TransportSettings } from './transports.ts'

/** A message to send. */
export type Mail = {
  readonly [Kind in MailKind]: {
    readonly kind: Kind
    /** The recipient. Send to the address of the account, never to the one that was typed. */
    readonly to: string
    /** The person who is greeted by name. */
    readonly personId?: string | undefined
    /** The site with whose name and look the message is sent. */
    readonly siteId?: string | undefined
    /** The one-time link in the message. If it no longer exists, the message is not sent. */
    readonly linkId?: string | undefined
    readonly values: MailValues[Kind]
  }
}[MailKind]

/** Stores a message in the transaction of its cause. It is sent soon after the commit. */
export type QueueMail = (trx: Transaction<Schema>, mail: Mail, nowMs: number) => Promise<void>

interface MailPorts {
  readonly database: Database
  readonly now: () => number
  readonly outbox: {
    readonly enqueue: (trx: Transaction<Schema>, message: NewMessage) => Promise<string>
  }
  readonly requestLimits: {
    readonly takeTogether: (
      limit: 'mails' | 'mailNotices',
      key: string,
    ) => Promise<object | undefined>
  }
  readonly noteEvent: (note: {
    readonly action: 'mail.failure'
    readonly aboutPersonId: string | undefined
    readonly siteId: string | undefined
    readonly reason: string
  }) => void
}

export interface MailSettings extends TransportSettings {
  readonly baseUrl: string
  readonly mailFrom: string
  readonly service: { readonly name: string }
}

interface Links {
  readonly tokenOf: (link: { readonly kind: OneTimeLinkKind; readonly id: string }) => string
}

/** Creates the function that queues mail, and what sends it. */
export function makeMail(ports: MailPorts, settings: MailSettings, links: Links) {
  const { outbox, requestLimits, noteEvent } = ports
  const transport = openTransport(settings)
  const queueMail: QueueMail = async (trx, mail, nowMs) => {
    await outbox.enqueue(trx, { kind: 'mail', payload: mail, nowMs })
  }
  /** Limits what an address receives of each kind, because strangers can cause some messages. */
  const takeLimit = async ({ kind, to }: Mail) => {
    const limit = messages[kind].notice ? 'mailNotices' : 'mails'
    if (await requestLimits.takeTogether(limit, `${kind} ${canonicalEmail(to)}`)) {
      throw new Undeliverable('the address has received too many messages of this kind')
    }
  }
  const handler: MessageHandler = {
    async send({ id, payload, createdAt, attempt }, signal) {
      const mail = payload as Mail
      if (!isMailAddress(mail.to)) throw new Undeliverable('the e-mail address is invalid')
      if (attempt === 1) await takeLimit(mail)
      const content = await render(mail, createdAt, { ports, settings, links })
      if (!content) return
      const from = { name: oneLine(settings.service.name), address: settings.mailFrom }
      await transport.deliver({ id, createdAt, from, to: mail.to, ...content }, signal)
    },
    gaveUp({ payload }: OutboxMessage, reason) {
      const { personId: aboutPersonId, siteId } = payload as Mail
      noteEvent({ action: 'mail.failure', aboutPersonId, siteId, reason })
    },
  }
  return { queueMail, handler, close: transport.close }
}

interface Rendering {
  readonly ports: Pick<MailPorts, 'database' | 'now'>
  readonly settings: MailSettings
  readonly links: Links
}

/** Renders a message; undefined if its link was used or has expired. */
async function render(mail: Mail, createdAt: number, { ports, settings, links }: Rendering) {
  const { baseUrl, service } = settings
  const { kysely } = ports.database
  const { siteId = '', personId = '', linkId } = mail
  const [site, look, person, link] = await Promise.all([
    kysely.selectFrom('site').selectAll().where('id', '=', siteId).executeTakeFirst(),
    findLook(ports.database, siteId),
    kysely.selectFrom('person').select('name').where('id', '=', personId).executeTakeFirst(),
    kysely
      .selectFrom('one_time_link')
      .select(['id', 'kind', 'expires_at'])
      .where('id', '=', linkId ?? '')
      .where('expires_at', '>', ports.now())
      .executeTakeFirst(),
  ])
  if (linkId !== undefined && !link) return undefined
  const place = oneLine(look?.name ?? site?.name ?? service.name)
  const where = { token: link ? links.tokenOf(link) : '', site: site ? nameOfSite(site) : '' }
  const frame: MailFrame = {
    place,
    at: `${new Date(createdAt).toISOString().slice(0, 16).replace('T', ' at ')} UTC`,
    href: link ? baseUrl + addressOf(linkPages[link.kind], where) : '',
    liveSeconds: link ? (link.expires_at - createdAt) / 1000 : 0,
    accountHref: baseUrl + pages.account,
  }
  const accent = look?.accentColor ?? '#0c665a'
  const logoPath = look && logoAddress(look.siteId, look.logoDigest)
  const message = {
    ...contentOf(mail, frame),
    greeting: person ? `Hello ${oneLine(person.name)},` : 'Hello,',
    footer: `${service.name} (${baseUrl}) sent this message to ${mail.to}. Do not reply to it.`,
    look: {
      name: place,
      logoHref: logoPath ? baseUrl + logoPath : undefined,
      accent,
      onAccent: textColorOn(accent),
    },
  }
  return { subject: message.subject, text: mailText(message), html: mailHtml(message).toString() }
}

/** Returns subject and text of a message. Names in its values are reduced to one line. */
function contentOf<Kind extends MailKind>(mail: Mail & { kind: Kind }, frame: MailFrame) {
  const { subject, blocks } = messages[mail.kind] as (typeof messages)[Kind]
  const values = Object.fromEntries(
    Object.entries(mail.values).map(([name, value]) => [
      name,
      typeof value === 'string' ? oneLine(value) : value,
    ]),
  ) as MailValues[Kind]
  return { subject: subject(values, frame), blocks: blocks(values, frame) }
}

const NAME_CHARACTERS_MAX = 80

/** Reduces a name to one short line. Control and bidirectional characters could forge lines or headers. */
function oneLine(name: string): string {
  const line = name.replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069\s]+/gu, ' ').trim()
  const short =
    line.length > NAME_CHARACTERS_MAX ? `${line.slice(0, NAME_CHARACTERS_MAX - 1)}…` : line
  return short.toWellFormed()
}
