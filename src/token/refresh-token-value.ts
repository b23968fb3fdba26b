import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

import type { Family } from '../grants/family-store.ts'
import { sha256 } from '../store/digest.ts'

/**
 * A refresh token as text: `<family>.<generation>.<MAC>`. The MAC is over both and over the seed in the
 * row of the family, under a key that derives from the root secret: who has a copy of the store, or the
 * secret, or an older token, makes none of it. So every token that was ever given out is recognised,
 * and the store keeps nothing of any.
 */
export type RefreshTokenValues = ReturnType<typeof makeRefreshTokenValues>

/** What a value claims to be. */
export interface ReadValue {
  readonly familyId: string
  readonly generation: number
  /** Whether it was made here, which the row of the family decides. */
  isGenuine(family: Pick<Family, 'seed'>): boolean
}

/** A SHA-256 in base64url, a number without leading zeros, and another SHA-256. */
const form = /^([\w-]{43})\.(0|[1-9]\d{0,8})\.([\w-]{43})$/

/** @param keys the current one first; a token of any of them is taken */
export function makeRefreshTokenValues(keys: readonly Buffer[]) {
  const [current] = keys
  if (!current) throw new Error('refresh tokens need a key')
  return {
    /** Reads a value, whoever made it; nothing for what has another form. */
    read(value: string): ReadValue | undefined {
      const [, familyId, generation, mac = ''] = form.exec(value) ?? []
      if (familyId === undefined) return undefined
      const said = Buffer.from(mac)
      return {
        familyId,
        generation: Number(generation),
        isGenuine: ({ seed }) =>
          keys.some((key) =>
            timingSafeEqual(said, Buffer.from(macOf(key, `${familyId}.${generation}`, seed))),
          ),
      }
    },

    /** The refresh token of a generation: the same text whenever and wherever it is asked for. */
    write({ id, seed }: Pick<Family, 'id' | 'seed'>, generation: number): string {
      const named = `${id}.${generation}`
      return `${named}.${macOf(current, named, seed)}`
    },

    /** The access token that comes with a generation, for these scopes. */
    accessToken(
      { id, seed }: Pick<Family, 'id' | 'seed'>,
      generation: number,
      scopes: readonly string[],
    ): string {
      return macOf(current, `access ${id}.${generation} ${scopes.join(' ')}`, seed)
    },
  }
}

/** The seed of a new family: 128 random bits in base64url. */
export function newSeed(): string {
  return randomBytes(16).toString('base64url')
}

/** The id of the family that begins with the exchange of this code. */
export function familyOfCode(code: string): string {
  return sha256(code)
}

function macOf(key: Buffer, text: string, seed: string): string {
  return createHmac('sha256', key).update(`${seed} ${text}`).digest('base64url')
}
