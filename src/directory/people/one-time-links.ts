import { createHmac, randomBytes } from 'node:crypto'

import type { Kysely } from 'kysely'

import { isSame, sha256 } from '../../platform/store/digest.ts'
import { canonicalEmail } from '../../platform/store/mail-address.ts'
import type { OneTimeLinkKind, Schema } from '../../platform/store/schema.ts'

export type OneTimeLinks = ReturnType<typeof makeOneTimeLinks>

/** A single-use link, usually in an e-mail. Links for uploads are in API responses. */
export type OneTimeLink = Awaited<
  ReturnType<ReturnType<typeof unexpired>['executeTakeFirstOrThrow']>
>

type LinkName = Pick<OneTimeLink, 'kind' | 'id'>

export interface NewLink {
  readonly kind: OneTimeLinkKind
  readonly email: string
  /** The person whose account the link is for; undefined if only the address is known. */
  readonly personId?: string | undefined
  readonly siteId?: string | undefined
  /** Values that depend on the kind of link, as JSON. */
  readonly data?: string | undefined
  /** The cookie value of the browser that requests the link, if other browsers need the code of the link. */
  readonly browser?: string | undefined
  readonly livesSeconds: number
}

const ID_BYTES = 16
/** The maximum number of attempts to enter the code of a link. */
const CODES_MAX = 5
const CODE_CHARACTERS = 8
/** The 28 characters of codes: digits and letters, without 0, 1, vowels and Y. */
const CODE_ALPHABET = '23456789BCDFGHJKLMNPQRSTVWXZ'

/**
 * Creates the functions for one-time links. Tokens and codes are derived from the link's kind and id with an HMAC, so
 * neither the database nor the outbox contains a working link.
 *
 * @param linkKeys the current key, followed by older keys, which still verify tokens
 */
export function makeOneTimeLinks(linkKeys: readonly Buffer[]) {
  const make = (purpose: 'token' | 'code', { kind, id }: LinkName, key = linkKeys[0]) => {
    if (!key) throw new Error('one-time links need at least one key')
    const mac = createHmac('sha256', key).update(`${purpose} ${kind} ${id}`).digest()
    return purpose === 'token' ? mac.toString('base64url') : codeFromMac(mac)
  }
  const isGenuine = (purpose: 'token' | 'code', link: LinkName, given: string) =>
    linkKeys.some((key) => isSame(given, make(purpose, link, key)))
  return {
    /** Returns the token that the URL of a link contains. */
    tokenOf: (link: LinkName) => `${link.id}.${make('token', link)}`,

    /** Returns the code (XXXX-XXXX) that the requesting browser shows. Other browsers must enter it to use the link. */
    codeOf: (link: LinkName) => make('code', link).replace(/^.{4}/, '$&-'),

    /** Finds an unexpired link by its token. Does not consume the link, because mail scanners open links. */
    async find(
      kysely: Kysely<Schema>,
      kind: OneTimeLinkKind,
      { token, nowMs }: { readonly token: string; readonly nowMs: number },
    ): Promise<OneTimeLink | undefined> {
      const [id = '', given = '', more] = token.split('.')
      if (more !== undefined || !isGenuine('token', { kind, id }, given)) return undefined
      return await unexpired(kysely, kind, nowMs).where('id', '=', id).executeTakeFirst()
    },

    /**
     * Whether a code opens a link in another browser. Ignores case, spaces and hyphens. Counts each call, and rejects
     * all codes after the fifth call.
     */
    async acceptsCode(kysely: Kysely<Schema>, link: OneTimeLink, code: string): Promise<boolean> {
      const { numUpdatedRows } = await kysely
        .updateTable('one_time_link')
        .set(({ eb }) => ({ code_attempts: eb('code_attempts', '+', 1) }))
        .where('id', '=', link.id)
        .where('code_attempts', '<', CODES_MAX)
        .executeTakeFirstOrThrow()
      const plain = code.toUpperCase().replace(/[\s-]/g, '')
      return numUpdatedRows > 0n && isGenuine('code', link, plain)
    },
  }
}

/** Finds the latest unexpired link of a kind that a browser requested. */
export async function findLastLink(
  kysely: Kysely<Schema>,
  kind: OneTimeLinkKind,
  { browser, nowMs }: { readonly browser: string; readonly nowMs: number },
): Promise<OneTimeLink | undefined> {
  return await unexpired(kysely, kind, nowMs)
    .where('browser_digest', '=', sha256(browser))
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Whether a browser may use a link without its code. */
export const isForBrowser = ({ browserDigest }: OneTimeLink, browser: string): boolean =>
  browserDigest === null || browserDigest === sha256(browser)

/** Deletes a link, in the transaction of the change that it allows. Returns false if it was used or has expired. */
export async function useLink(
  trx: Kysely<Schema>,
  { id }: Pick<OneTimeLink, 'id'>,
  nowMs: number,
): Promise<boolean> {
  const row = await trx
    .deleteFrom('one_time_link')
    .where('id', '=', id)
    .where('expires_at', '>', nowMs)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** Stores a link, and returns its id. */
export async function createLink(
  trx: Kysely<Schema>,
  { kind, email, personId, siteId, data, browser, livesSeconds }: NewLink,
  nowMs: number,
): Promise<string> {
  const id = randomBytes(ID_BYTES).toString('base64url')
  await trx
    .insertInto('one_time_link')
    .values({
      ...{ id, kind, email, email_canonical: canonicalEmail(email) },
      ...{ person_id: personId ?? null, site_id: siteId ?? null, data: data ?? null },
      browser_digest: browser === undefined ? null : sha256(browser),
      created_at: nowMs,
      expires_at: nowMs + livesSeconds * 1000,
    })
    .execute()
  return id
}

/** Selects unexpired links. `personId` and `browserDigest` are null for links without a person or browser. */
function unexpired(kysely: Kysely<Schema>, kind: OneTimeLinkKind, nowMs: number) {
  return kysely
    .selectFrom('one_time_link')
    .select(['id', 'kind', 'email', 'data', 'person_id as personId', 'site_id as siteId'])
    .select(['browser_digest as browserDigest', 'created_at as createdAt'])
    .select('expires_at as expiresAt')
    .where('kind', '=', kind)
    .where('expires_at', '>', nowMs)
}

function codeFromMac(mac: Buffer): string {
  // The bias of a 32-bit number modulo 28 is below one in a hundred million.
  const numbers = Array.from({ length: CODE_CHARACTERS }, (_, place) => mac.readUInt32BE(place * 4))
  return numbers.map((number) => CODE_ALPHABET[number % CODE_ALPHABET.length]).join('')
}
