/** Renders and sends the queued mail. The caller of `queueMail` chooses the message and its recipient. */

import { plain } from '../../../views/html.ts'
import { type MailBlock, mailHtml, mailText } from '../../../views/mail-message.ts'
import {
  availableLanguage,
  dateText,
  deviceText,
  durationText,
  listText,
  siteLanguages,
  type TextId,
  type TextValues,
  text,
} from '../../../views/text.ts'
import { addressOf, linkPages, nameOfSite, pages } from '../../platform/http/paths.ts'
import { type MessageHandler, Undeliverable } from '../../platform/outbox/outbox.ts'
import type { Platform } from '../../platform/platform.ts'
import { canonicalEmail, isMailAddress } from '../../platform/store/mail-address.ts'
import type { OneTimeLinks } from '../people/one-time-links.ts'
import { findLook, logoAddress, shownText, textColorOn } from '../sites/site-look.ts'
import { mailFolder, openMailFolder } from './mail-folder.ts'
import { type Mail, type MailKind, type Message, messages } from './messages.ts'
import { isWanted, makeNotices } from './notices.ts'
import { openSmtp } from './smtp.ts'

type MailPorts = Pick<Platform, 'database' | 'now' | 'requestLimits' | 'noteEvent'>

export interface MailSettings {
  readonly baseUrl: string
  readonly dataDir: string
  /** The URL of the mail server, with its password, if any; undefined to write messages to the data folder. */
  readonly smtpUrl: string | undefined
  readonly mailFrom: string
  readonly service: { readonly name: string; readonly signIn: { readonly notices: boolean } }
}

type Links = Pick<OneTimeLinks, 'tokenOf'>

/** Creates the functions that queue notices, and the handler that sends all mail. */
export function makeMail(ports: MailPorts, settings: MailSettings, links: Links) {
  const { requestLimits, noteEvent } = ports
  const { dataDir, smtpUrl, mailFrom, service } = settings
  const transport = smtpUrl === undefined ? openMailFolder(mailFolder(dataDir)) : openSmtp(smtpUrl)
  /** Limits how many messages of a kind an address receives, because strangers can trigger some kinds. */
  const takeLimit = async (kind: MailKind, to: string) => {
    if (messages[kind].limitedBefore) return
    const limit = messages[kind].notice ? 'mailNotices' : 'mails'
    if (await requestLimits.takeTogether(limit, `${kind} ${canonicalEmail(to)}`)) {
      throw new Undeliverable('the address has received too many messages of this kind')
    }
  }
  const handler: MessageHandler = {
    async send({ id, payload, createdAt, attempt }, signal) {
      const mail = payload as Mail
      const facts = await findFacts(mail, createdAt, ports)
      // Contact the mail server even without a message. Otherwise, delay notices would reveal who has an account.
      if (!facts) return await transport.verify?.()
      const letter = render(mail, facts, settings, links)
      if (!isMailAddress(letter.to)) throw new Undeliverable('the e-mail address is invalid')
      if (attempt === 1) await takeLimit(mail.kind, letter.to)
      const from = { name: oneLine(service.name), address: mailFrom }
      await transport.deliver({ id, createdAt, from, ...letter }, signal)
    },
    gaveUp({ payload }, reason) {
      const { personId: aboutPersonId, siteId } = payload as Mail
      noteEvent({ action: 'mail.failure', aboutPersonId, siteId, reason })
    },
  }
  const notices = makeNotices(ports, service.signIn.notices)
  return { notices, handler, close: transport.close }
}

type Facts = NonNullable<Awaited<ReturnType<typeof findFacts>>>

/** Finds the data for a message; undefined if it has no recipient, its link is gone, or the notice is unwanted. */
async function findFacts(mail: Mail, createdAt: number, { database, now }: MailPorts) {
  const { kysely } = database
  const { siteId = '', personId = '', linkId } = mail
  const people = kysely.selectFrom('person').selectAll()
  const [site, look, person, link] = await Promise.all([
    kysely.selectFrom('site').selectAll().where('id', '=', siteId).executeTakeFirst(),
    findLook(database, siteId),
    (messages[mail.kind].forAccount
      ? people.where('email_canonical', '=', canonicalEmail(mail.to ?? ''))
      : people.where('id', '=', personId)
    ).executeTakeFirst(),
    kysely
      .selectFrom('one_time_link')
      .select(['id', 'kind', 'expires_at'])
      .where('id', '=', linkId ?? '')
      .where('expires_at', '>', now())
      .executeTakeFirst(),
  ])
  const to = mail.to ?? person?.email
  if ((linkId !== undefined && !link) || to === undefined) return undefined
  if (messages[mail.kind].notice) {
    const clientId = mail.kind === 'new_app' ? mail.values.clientId : undefined
    if (!(await isWanted(kysely, { personId, clientId }, createdAt))) return undefined
  }
  return { site, look, person, link, to, createdAt }
}

function render(mail: Mail, facts: Facts, { baseUrl, service }: MailSettings, links: Links) {
  const { look, person, to, site } = facts
  const languages = siteLanguages(look?.languages)
  const reader = {
    language:
      availableLanguage([person?.locale, mail.language, look?.language], languages) ??
      String(languages[0]),
    timeZone: person?.time_zone ?? site?.time_zone ?? 'UTC',
  }
  const place = oneLine(look ? plain(shownText(look, 'displayName'), reader) : service.name)
  const accent = look?.accentColor ?? '#0c665a'
  const logoPath = look && logoAddress(look.siteId, look.logoDigest)
  const kind = (person && messages[mail.kind].forAccount) ?? mail.kind
  const name = person && oneLine(person.name)
  const message = {
    ...contentOf({ ...mail, kind } as Mail, { ...facts, place, baseUrl }, links),
    greeting: name === undefined ? text('mail.greetingUnnamed') : text('mail.greeting', { name }),
    footer: text('mail.footer', { service: service.name, baseUrl, to }),
    look: {
      name: place,
      logoHref: logoPath ? baseUrl + logoPath : undefined,
      accent,
      onAccent: textColorOn(accent),
    },
  }
  return {
    to,
    subject: plain(message.subject, reader),
    text: mailText(message, reader),
    html: mailHtml(message).for(reader),
  }
}

/** Returns the subject and the blocks of a message, with each text value reduced to one line. */
function contentOf(mail: Mail, facts: Facts & Record<'place' | 'baseUrl', string>, links: Links) {
  const { link, site, createdAt, place, baseUrl } = facts
  const where = { token: link ? links.tokenOf(link) : '', site: site ? nameOfSite(site) : '' }
  const hrefs = {
    link: link ? baseUrl + addressOf(linkPages[link.kind], where) : '',
    account: baseUrl + pages.account,
  }
  const liveMs = link ? link.expires_at - createdAt : 0
  const frame = { place, at: dateText(createdAt), live: durationText(liveMs / 1000) }
  const own = Object.entries(mail.values).map(([name, value]) => [name, shownValue(name, value)])
  const values = { ...Object.fromEntries(own), ...frame } as TextValues
  const { blocks, button } = messages[mail.kind] as Message<MailKind>
  const names: readonly string[] =
    typeof blocks === 'function' ? blocks(mail.values as never) : blocks
  return {
    subject: text(`mail.${mail.kind}.subject`, values),
    blocks: names.map((name): MailBlock => {
      const id = (name.startsWith('mail.') ? name : `mail.${mail.kind}.${name}`) as TextId
      if (name === 'button') return { label: text(button ?? id), href: hrefs.link }
      return name === 'mail.openAccount'
        ? { label: text(id), href: hrefs.account }
        : text(id, values)
    }),
  }
}

function shownValue(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return listText(value.map(oneLine))
  if (typeof value !== 'string') return value
  return name === 'device' ? deviceText(value) : oneLine(value)
}

const NAME_CHARACTERS_MAX = 80

/** Reduces a name to one short line. Line breaks could forge headers, and bidirectional characters disguise text. */
function oneLine(name: string): string {
  const line = name.replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069\s]+/gu, ' ').trim()
  const short =
    line.length > NAME_CHARACTERS_MAX ? `${line.slice(0, NAME_CHARACTERS_MAX - 1)}…` : line
  return short.toWellFormed()
}
