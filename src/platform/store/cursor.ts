import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

import type { PlaceInList } from './keyset.ts'

/** The name of a list, and the values to which a cursor is bound, such as the person. Each list needs its own scope. */
export type CursorScope = readonly string[]

export type Cursors = ReturnType<typeof makeCursors>

/** Creates the functions that seal and open cursors. A cursor contains a position in a list. */
export const makeCursors = makeSealing<PlaceInList, CursorScope>

const MAC_BYTES = 16
// The maximum length of a sealed string. The longest strings contain the URL of a metadata document.
const SEALED_LENGTH_MAX = 2048

/**
 * Creates `seal` and `open`. `seal` encodes content as a string, with a MAC (truncated HMAC-SHA256) over content and
 * scope. `open` verifies and decodes it. The first key signs. Every key verifies.
 */
export function makeSealing<Content, Scope>(keys: readonly Buffer[]) {
  // Create the keys once, because creating a key takes five times as long as signing.
  const secrets = keys.map((key) => createSecretKey(key))
  const [signingKey] = secrets
  if (!signingKey) throw new Error('sealing needs at least one key')
  return {
    seal(content: Content, scope: Scope): string {
      const bytes = Buffer.from(JSON.stringify(content))
      return Buffer.concat([sealMac(bytes, scope, signingKey), bytes]).toString('base64url')
    },
    /** Returns the content; undefined if the text is not valid for this scope. */
    open(sealed: string, scope: Scope): Content | undefined {
      if (sealed.length > SEALED_LENGTH_MAX) return undefined
      const bytes = Buffer.from(sealed, 'base64url')
      const mac = bytes.subarray(0, MAC_BYTES)
      const content = bytes.subarray(MAC_BYTES)
      // The decoder is lenient, so reject other encodings of the same bytes.
      if (mac.length < MAC_BYTES || bytes.toString('base64url') !== sealed) return undefined
      const genuine = secrets.some((key) => timingSafeEqual(mac, sealMac(content, scope, key)))
      // The MAC proves that `seal` wrote these bytes.
      return genuine ? (JSON.parse(content.toString('utf8')) as Content) : undefined
    },
  }
}

function sealMac(content: Buffer, scope: unknown, key: KeyObject): Buffer {
  // Use JSON, so different scopes never produce the same text.
  const hmac = createHmac('sha256', key).update(JSON.stringify(scope))
  return hmac.update(content).digest().subarray(0, MAC_BYTES)
}
