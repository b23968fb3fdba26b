import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

import type { PlaceInList } from './keyset.ts'

/**
 * Where a cursor belongs: the name of its list and whatever the surface binds it to. It means nothing
 * anywhere else, so that no two lists may have the same scope.
 */
export type CursorScope = readonly string[]

export type Cursors = ReturnType<typeof makeCursors>

const MAC_BYTES = 16
// The longest place ends with the address of a metadata document, as JSON and then in base64url.
const CURSOR_LENGTH_MAX = 2048

/**
 * Cursors carry the place itself and a signature (HMAC-SHA256) over the place and the scope: nothing
 * is stored for them, and a forged one never reaches a query.
 *
 * @param keys the key that signs first; all are accepted
 */
export function makeCursors(keys: readonly Buffer[]) {
  // Made once, because making one takes five times as long as signing with it.
  const secrets = keys.map((key) => createSecretKey(key))
  const [signingKey] = secrets
  if (!signingKey) throw new Error('cursors need a key')
  return {
    seal(place: PlaceInList, scope: CursorScope): string {
      const bytes = Buffer.from(JSON.stringify(place))
      return Buffer.concat([macOf(bytes, scope, signingKey), bytes]).toString('base64url')
    },
    /** Nothing for a cursor that this service did not make for this very scope. */
    open(cursor: string, scope: CursorScope): PlaceInList | undefined {
      if (cursor.length > CURSOR_LENGTH_MAX) return undefined
      const bytes = Buffer.from(cursor, 'base64url')
      const mac = bytes.subarray(0, MAC_BYTES)
      const place = bytes.subarray(MAC_BYTES)
      // The decoder is lenient, so that several texts would stand for the same bytes.
      if (mac.length < MAC_BYTES || bytes.toString('base64url') !== cursor) return undefined
      const genuine = secrets.some((key) => timingSafeEqual(mac, macOf(place, scope, key)))
      // These bytes are what `seal` wrote.
      return genuine ? (JSON.parse(place.toString('utf8')) as PlaceInList) : undefined
    },
  }
}

function macOf(place: Buffer, scope: CursorScope, key: KeyObject): Buffer {
  // As JSON, so that no two different scopes make the same text.
  const hmac = createHmac('sha256', key).update(JSON.stringify(scope))
  return hmac.update(place).digest().subarray(0, MAC_BYTES)
}
