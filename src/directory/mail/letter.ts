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
  /** Delivers a message. @throws Undeliverable if another attempt cannot succeed, or another error */
  readonly deliver: (letter: Letter, signal: AbortSignal) => Promise<void>
  readonly close: () => void
}

/** Imports nodemailer with the first message, because most processes send none at the start. */
export const nodemailer = async () => (await import('nodemailer')).default

/** Returns a message for nodemailer. The only recipient is one address, never a list. */
export function composed({ id, createdAt, from, to, subject, text, html }: Letter) {
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
