import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

import type { PlaceInList } from './keyset.ts'

/** The name of a list, and the values to which a cursor is bound, such as the person. Each list needs its own scope. */
export type CursorScope = readonly string[]

export type Cursors = ReturnType<typeof makeCursors>

const MAC_BYTES = 16
// The maximum length of a cursor. The longest ones contain the URL of a metadata document.
const CURSOR_LENGTH_MAX = 2048

/**
 * Creates `seal` and `open`. `seal` encodes a position in a list as a cursor, with a MAC (truncated HMAC-SHA256) over
 * position and scope. `open` verifies and decodes it. The first key signs; all of them verify.
 */
export function makeCursors(keys: readonly Buffer[]) {
  // Create the keys once, because creating a key takes five times as long as signing.
  const secrets = keys.map((key) => createSecretKey(key))
  const [signingKey] = secrets
  if (!signingKey) throw new Error('cursors need at least one key')
  return {
    seal(place: PlaceInList, scope: CursorScope): string {
      const bytes = Buffer.from(JSON.stringify(place))
      return Buffer.concat([macOf(bytes, scope, signingKey), bytes]).toString('base64url')
    },
    /** Returns the position; undefined if the cursor is not valid for this scope. */
    open(cursor: string, scope: CursorScope): PlaceInList | undefined {
      if (cursor.length > CURSOR_LENGTH_MAX) return undefined
      const bytes = Buffer.from(cursor, 'base64url')
      const mac = bytes.subarray(0, MAC_BYTES)
      const place = bytes.subarray(MAC_BYTES)
      // The decoder is lenient, so reject other encodings of the same bytes.
      if (mac.length < MAC_BYTES || bytes.toString('base64url') !== cursor) return undefined
      const genuine = secrets.some((key) => timingSafeEqual(mac, macOf(place, scope, key)))
      // The MAC proves that `seal` wrote these bytes.
      return genuine ? (JSON.parse(place.toString('utf8')) as PlaceInList) : undefined
    },
  }
}

function macOf(place: Buffer, scope: CursorScope, key: KeyObject): Buffer {
  // Use JSON, so different scopes never produce the same text.
  const hmac = createHmac('sha256', key).update(JSON.stringify(scope))
  return hmac.update(place).digest().subarray(0, MAC_BYTES)
}
