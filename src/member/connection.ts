import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

import { type RawBuilder, sql } from 'kysely'

/**
 * Pages of a person's lists. Every list is ordered by a moment and an id, the newest first, so that
 * the order is stable and a page begins exactly where the one before it ended, whatever was added.
 */

/** The person and the site of a token: the two that every statement of this folder is bound to. */
export interface Membership {
  readonly personId: string
  readonly siteId: string
}

/** The place of a row in its list. */
export interface PageKey {
  readonly atMs: number
  readonly id: string
}

export interface PageRequest {
  readonly first: number
  readonly after: PageKey | undefined
}

/** A row and its place. */
export interface Placed<Item> {
  readonly item: Item
  readonly key: PageKey
}

export interface Page<Item> {
  readonly placed: readonly Placed<Item>[]
  readonly hasNextPage: boolean
}

/** A list of which one page is asked for at a time. Each call is one statement. */
export interface PagedList<Item> {
  page(membership: Membership, request: PageRequest): Promise<Page<Item>>
  count(membership: Membership): Promise<number>
}

/**
 * Makes a page out of rows of which one more than asked for was fetched, which is how the end of a
 * list is known without counting it.
 */
export function pageOf<Item extends { readonly id: string }>(
  rows: readonly Item[],
  { first }: PageRequest,
  atMsOf: (item: Item) => number,
): Page<Item> {
  const placed = rows
    .slice(0, first)
    .map((item) => ({ item, key: { atMs: atMsOf(item), id: item.id } }))
  return { placed, hasNextPage: rows.length > first }
}

/**
 * The condition that a row comes after a place in the list; every row does when there is none. The
 * columns are names of our own.
 */
export function comesAfter(
  atColumn: string,
  idColumn: string,
  key: PageKey | undefined,
): RawBuilder<boolean> {
  if (!key) return sql<boolean>`true`
  const columns = sql`(${sql.ref(atColumn)}, ${sql.ref(idColumn)})`
  return sql<boolean>`${columns} < (${key.atMs}, ${key.id})`
}

/** How many rows a statement finds, as its one column. */
export const rowCount = sql<number>`count(*)`.as('total')

export function totalOf([row]: readonly { readonly total: number }[]): number {
  return Number(row?.total ?? 0)
}

/** Where a cursor belongs: it means nothing to another person, at another site or in another list. */
export interface CursorScope extends Membership {
  readonly list: string
}

export interface Cursors {
  seal(key: PageKey, scope: CursorScope): string
  /** Nothing for a cursor that this service did not make for this very list of this person. */
  open(cursor: string, scope: CursorScope): PageKey | undefined
}

const MAC_BYTES = 16
const CURSOR_LENGTH_MAX = 512

/**
 * Cursors carry the place itself and a signature (HMAC-SHA256) over the place, person, site and
 * list: nothing is stored for them, and a forged one never reaches a query.
 *
 * @param keys the key that signs first; all are accepted
 */
export function makeCursors(keys: readonly Buffer[]): Cursors {
  // Made once, because making one takes five times as long as signing with it.
  const secrets = keys.map((key) => createSecretKey(key))
  const [signingKey] = secrets
  if (!signingKey) throw new Error('cursors need a key')
  return {
    seal(key, scope) {
      const place = Buffer.from(JSON.stringify([key.atMs, key.id]))
      return Buffer.concat([macOf(place, scope, signingKey), place]).toString('base64url')
    },
    open(cursor, scope) {
      if (cursor.length > CURSOR_LENGTH_MAX) return undefined
      const bytes = Buffer.from(cursor, 'base64url')
      const mac = bytes.subarray(0, MAC_BYTES)
      const place = bytes.subarray(MAC_BYTES)
      // The decoder is lenient, so that several texts would stand for the same bytes.
      if (mac.length < MAC_BYTES || bytes.toString('base64url') !== cursor) return undefined
      const genuine = secrets.some((key) => timingSafeEqual(mac, macOf(place, scope, key)))
      return genuine ? placeIn(place) : undefined
    },
  }
}

function macOf(place: Buffer, { personId, siteId, list }: CursorScope, key: KeyObject): Buffer {
  // As JSON, so that no two different scopes make the same text.
  const scope = JSON.stringify([personId, siteId, list])
  return createHmac('sha256', key).update(scope).update(place).digest().subarray(0, MAC_BYTES)
}

/** The signature was checked just now, so that these bytes are what `seal` wrote. */
function placeIn(place: Buffer): PageKey {
  const [atMs, id] = JSON.parse(place.toString('utf8')) as [number, string]
  return { atMs, id }
}
