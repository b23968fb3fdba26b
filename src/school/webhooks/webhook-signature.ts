/** Signs webhooks according to Standard Webhooks, with HMAC-SHA256 (`v1`) and Ed25519 (`v1a`). */

import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'

/** Generates a secret: 32 bytes for HMAC, and 32 for Ed25519. A leaked HMAC key does not reveal the Ed25519 key. */
export function newWebhookSecret(): string {
  return randomBytes(64).toString('base64url')
}

/** Returns the secret and the public key in the form that receivers' libraries expect. */
export function shownKeys(secret: string): { readonly secret: string; readonly publicKey: string } {
  const { hmac, privateKey } = keysOf(secret)
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const publicKey = `whpk_${spki.subarray(-KEY_BYTES).toString('base64')}`
  return { secret: `whsec_${hmac.toString('base64')}`, publicKey }
}

/** Returns the headers of a message, with two signatures per secret. During a rotation, both secrets sign it. */
export function signedHeaders(
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
  keys: readonly SigningKeys[],
): Record<string, string> {
  const content = Buffer.from(`${id}.${seconds}.${body}`)
  const signatures = keys.flatMap(({ hmac, privateKey }) => [
    `v1,${createHmac('sha256', hmac).update(content).digest('base64')}`,
    `v1a,${sign(null, content, privateKey).toString('base64')}`,
  ])
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  }
}

const KEY_BYTES = 32
/** The DER-encoded start of a PKCS #8 key, which the 32 bytes of an Ed25519 key follow (RFC 8410 §7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

export interface SigningKeys {
  readonly hmac: Buffer
  readonly privateKey: KeyObject
}

export function keysOf(secret: string): SigningKeys {
  const bytes = Buffer.from(secret, 'base64url')
  const key = Buffer.concat([PKCS8_PREFIX, bytes.subarray(KEY_BYTES)])
  return {
    hmac: bytes.subarray(0, KEY_BYTES),
    privateKey: createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
  }
}
