import type { NodemailerError } from 'nodemailer'

import { leadsToThisMachine } from '../../platform/http/loopback.ts'
import { Undeliverable } from '../../platform/outbox/outbox.ts'

/** A rendered message. */
export interface Letter {
  /** The id of the outbox message, which is the same for every attempt. */
  readonly id: string
  readonly createdAt: number
  readonly from: { readonly name: string; readonly address: string }
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

export interface MailTransport {
  /** Delivers a message. @throws Undeliverable if a retry cannot succeed, or another error if it can */
  readonly deliver: (letter: Letter, signal: AbortSignal) => Promise<void>
  /** Connects to the mail server, and signs in if `SMTP_URL` has a user name. @throws if one of these fails */
  readonly verify?: () => Promise<void>
  readonly close: () => void
}

/** Imports nodemailer at the first use, so processes that send no mail do not load it. */
export const nodemailer = async () => (await import('nodemailer')).default

/** Returns a message for nodemailer with exactly one recipient. `to` is never parsed as a list. */
export function composeMessage({ id, createdAt, from, to, subject, text, html }: Letter) {
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

// Connection limits. The outbox limits the duration of a whole attempt.
const CONNECT_WITHIN_MS = 10_000
const ANSWER_WITHIN_MS = 20_000
const CONNECTIONS_MAX = 4

/** Creates a transport that sends messages to an SMTP server. The first use opens a pool of connections. */
export function openSmtp(url: string): MailTransport & { verify(): Promise<void> } {
  const open = async () => (await nodemailer()).createTransport(smtpOptions(url))
  let opening: ReturnType<typeof open> | undefined
  const withPool = async (use: (pool: Awaited<ReturnType<typeof open>>) => Promise<unknown>) => {
    opening ??= open()
    const pool = await opening
    await use(pool).catch((error: NodemailerError) => {
      throw smtpFailure(error)
    })
  }
  return {
    deliver: async (letter, signal) =>
      await withPool(async (pool) => await pool.sendMail({ ...composeMessage(letter), signal })),
    verify: async () => void (await withPool(async (pool) => await pool.verify())),
    close: () => void opening?.then((pool) => pool.close({ force: true })),
  }
}

/** Returns the options of the pool. TLS is required, unless the server is local. @param url may contain a password */
export function smtpOptions(url: string) {
  const { protocol, hostname, port, username, password } = new URL(url)
  const isHere = leadsToThisMachine(hostname)
  const secure = protocol === 'smtps:'
  return {
    pool: true as const,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !secure && !isHere,
    // A mail server on this machine usually has a self-signed certificate.
    tls: { rejectUnauthorized: !isHere, minVersion: 'TLSv1.2' as const },
    ...(username !== '' && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
    maxConnections: CONNECTIONS_MAX,
    // The outbox retries failed messages, so the pool must not.
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
 * Describes a failure without the server's text, which may name the recipient. A recipient or message that is rejected
 * permanently (5xx) is undeliverable. The outbox retries after other failures, such as a rejected sender or password.
 */
function smtpFailure({ code, command, responseCode }: NodemailerError): Error {
  const words = [code ?? 'error', command, responseCode].filter(Boolean).join(' ')
  const isFinal = /^(RCPT TO|DATA)$/.test(command ?? '') && (responseCode ?? 0) >= 500
  const why = `the mail server did not accept the message (${words})`
  return isFinal ? new Undeliverable(why) : new Error(why)
}
