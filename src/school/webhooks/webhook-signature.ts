/** Signs webhooks according to Standard Webhooks, with HMAC-SHA256 (`v1`). */

import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** Generates a secret, in the form that the libraries of receivers expect. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** Returns the headers of a message, with one signature for each secret. Receivers accept any of the signatures. */
export function signedHeaders(
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
  secrets: readonly string[],
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`)
    return `v1,${signature.digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  }
}
