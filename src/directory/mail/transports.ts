/** Hands messages to an SMTP server, or writes them to a folder. */

import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { NodemailerError } from 'nodemailer'

import { leadsToThisMachine } from '../../platform/http/loopback.ts'
import { Undeliverable } from '../../platform/outbox/outbox.ts'

/** A rendered message. */
export interface Letter {
  /** The id of the outbox message, the same at every attempt. */
  readonly id: string
  readonly createdAt: number
  readonly from: { readonly name: string; readonly address: string }
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

export interface MailTransport {
  /** Delivers a message. @throws Undeliverable if no other attempt can succeed, or another error */
  readonly deliver: (letter: Letter, signal: AbortSignal) => Promise<void>
  readonly close: () => void
}

export interface TransportSettings {
  readonly dataDir: string
  /** The URL of the mail server, with its password; undefined for files. */
  readonly smtpUrl: string | undefined
}

/** Opens the configured mail server or, by default, the folder `mail` in the data folder. */
export function openTransport({ dataDir, smtpUrl }: TransportSettings): MailTransport {
  return smtpUrl === undefined ? openMailFolder(mailFolder(dataDir)) : openSmtp(smtpUrl)
}

/** Returns the folder of the messages. */
export const mailFolder = (dataDir: string) => join(dataDir, 'mail')

/** The time limits of a connection. An attempt as a whole is limited by the outbox. */
const CONNECT_WITHIN_MS = 10_000
const ANSWER_WITHIN_MS = 20_000
const CONNECTIONS_MAX = 4

const nodemailer = async () => (await import('nodemailer')).default

/** Opens a pool of connections to an SMTP server with the first message. TLS is required, except on this machine. */
function openSmtp(url: string): MailTransport & { verify(): Promise<void> } {
  let opening: ReturnType<typeof open> | undefined
  const open = async () => (await nodemailer()).createTransport(smtpOptions(url))
  const opened = () => {
    opening ??= open()
    return opening
  }
  return {
    async deliver(letter, signal) {
      const transport = await opened()
      try {
        await transport.sendMail({ ...envelopeOf(letter), signal })
      } catch (error) {
        throw smtpFailure(error as NodemailerError)
      }
    },
    /** Connects and signs in. @throws if that fails */
    async verify() {
      const transport = await opened()
      try {
        await transport.verify()
      } catch (error) {
        throw smtpFailure(error as NodemailerError)
      }
    },
    close: () => void opening?.then((transport) => transport.close()),
  }
}

/** Returns the options of a connection pool. @param url contains the password */
function smtpOptions(url: string) {
  const { protocol, hostname, port, username, password } = new URL(url)
  const isHere = leadsToThisMachine(hostname)
  const secure = protocol === 'smtps:'
  return {
    pool: true as const,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !secure && !isHere,
    // A mail server on this machine usually has a certificate that no authority signed.
    tls: { rejectUnauthorized: !isHere, minVersion: 'TLSv1.2' as const },
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
    maxConnections: CONNECTIONS_MAX,
    // The outbox repeats attempts. The pool would do so without knowing whether the server accepted the message.
    maxRequeues: 0,
    connectionTimeout: CONNECT_WITHIN_MS,
    dnsTimeout: CONNECT_WITHIN_MS,
    greetingTimeout: CONNECT_WITHIN_MS,
    socketTimeout: ANSWER_WITHIN_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/**
 * Describes a failure without the address, which is part of the server's text. A rejected recipient or message is
 * undeliverable. Other failures, such as a rejected sender or password, can be cured.
 */
function smtpFailure({ code, command, responseCode }: NodemailerError): Error {
  const words = [code ?? 'error', command, responseCode].filter(Boolean).join(' ')
  const isFinal = /^(RCPT TO|DATA)$/.test(command ?? '') && (responseCode ?? 0) >= 500
  const why = `the mail server did not accept the message (${words})`
  return isFinal ? new Undeliverable(why) : new Error(why)
}

/** Returns the message for nodemailer. Recipients are only in the envelope and in `To`, as one address, never a list. */
function envelopeOf({ id, createdAt, from, to, subject, text, html }: Letter) {
  return {
    from,
    to: { name: '', address: to },
    envelope: { from: from.address, to: [to] },
    subject,
    text,
    html,
    messageId: `<${id}@${from.address.split('@')[1]}>`,
    date: new Date(createdAt),
    headers: { 'Auto-Submitted': 'auto-generated' },
    textEncoding: 'quoted-printable' as const,
  }
}

/** How many messages the folder keeps. */
const MAIL_FILES_MAX = 200
/** The name of a file in the folder: the time in milliseconds and the id. */
const mailFileName = /^\d{13}-[0-9a-f-]{36}\.eml$/

/** Writes each message to a file, which only the current user can read. Deletes the oldest files. */
function openMailFolder(folder: string): MailTransport {
  return {
    async deliver(letter) {
      const transport = (await nodemailer()).createTransport({
        streamTransport: true,
        buffer: true,
        newline: 'unix',
      })
      const { message } = await transport.sendMail(envelopeOf(letter))
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const name = `${String(letter.createdAt).padStart(13, '0')}-${letter.id}.eml`
      const draft = join(folder, `${name}.draft`)
      await writeFile(draft, readable(String(message)), { mode: 0o600 })
      await rename(draft, join(folder, name))
      for (const old of (await mailFiles(folder)).slice(MAIL_FILES_MAX)) {
        await rm(join(folder, old), { force: true })
      }
    },
    close() {},
  }
}

/** Lists the messages in the folder, the latest first. */
async function mailFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names
    .filter((name) => mailFileName.test(name))
    .toSorted()
    .toReversed()
}

/** Replaces the quoted-printable encoding of the parts of a message by plain UTF-8, for people who open the file. */
function readable(message: string): string {
  const [, boundary = ''] = /boundary="([^"]+)"/.exec(message) ?? []
  return message
    .split(`--${boundary}`)
    .map((part) => {
      const [head = '', ...body] = part.split('\n\n')
      if (!head.includes('quoted-printable')) return part
      return [head.replace('quoted-printable', '8bit'), decoded(body.join('\n\n'))].join('\n\n')
    })
    .join(`--${boundary}`)
}

function decoded(quotedPrintable: string): string {
  const bytes = quotedPrintable
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
