import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

import { makeRandomIds } from '../../platform/http/request-log.ts'
import { sha256 } from '../../platform/store/digest.ts'
import type { Family } from '../grants/family-store.ts'

/**
 * Writes and parses tokens. A refresh token is `<family>.<generation>.<MAC>`. An access token is
 * `<family>.<generation>.<issued at>.<scopes>.<MAC>`. The MAC covers the preceding text and the seed in the row of the
 * family. The MAC key is derived from the root secret. So forging a token takes the secret and a copy of the database.
 */
export type TokenValues = ReturnType<typeof makeTokenValues>

/** The unverified content of a token. */
export interface TokenClaim {
  readonly familyId: string
  /** Generation of the refresh token; for an access token, the generation of the refresh token issued with it. */
  readonly generation: number
  /** Whether the MAC is valid for the family's seed. If so, this service issued the token. */
  isGenuine(family: Pick<Family, 'seed'>): boolean
}

// Token formats: SHA-256 family ids and HMAC-SHA-256 MACs in base64url, and base-36 numbers without leading zeros.
const refreshTokenFormat = /^([\w-]{43}\.(?:0|[1-9a-z][\da-z]{0,5}))\.([\w-]{43})$/
const accessTokenFormat =
  /^([\w-]{43}\.(?:0|[1-9a-z][\da-z]{0,5})\.([1-9a-z][\da-z]{0,9})\.(|[1-9a-z][\da-z]{0,19}))\.([\w-]{43})$/
const BASE = 36

/** Creates the functions that write and parse tokens. @param secrets the current secret, then older ones to verify */
export function makeTokenValues(secrets: readonly Buffer[]) {
  // Create the keys once, because creating a key takes several times as long as computing a MAC.
  const keys = secrets.map((secret) => createSecretKey(secret))
  const [current] = keys
  if (!current) throw new Error('tokens need at least one key')
  const claimOf = (text: string, mac: string): TokenClaim => {
    const [familyId = '', generation = ''] = text.split('.')
    const said = Buffer.from(mac)
    return {
      familyId,
      generation: Number.parseInt(generation, BASE),
      isGenuine: ({ seed }) =>
        keys.some((key) => timingSafeEqual(said, Buffer.from(tokenMac(key, text, seed)))),
    }
  }
  return {
    /** Parses a refresh token without verifying it. Returns undefined for any other format. */
    readRefreshToken(value: string): TokenClaim | undefined {
      const [, text, mac = ''] = refreshTokenFormat.exec(value) ?? []
      return text === undefined ? undefined : claimOf(text, mac)
    },

    /** Derives the refresh token of a generation. The result is the same in every process with the same secret. */
    writeRefreshToken({ id, seed }: Pick<Family, 'id' | 'seed'>, generation: number): string {
      const text = `${id}.${generation.toString(BASE)}`
      return `${text}.${tokenMac(current, text, seed)}`
    },

    /** Parses an access token without verifying it. Returns undefined for any other format. */
    readAccessToken(value: string) {
      const [, text, issuedAt = '', some = '', mac = ''] = accessTokenFormat.exec(value) ?? []
      if (text === undefined) return undefined
      return {
        ...claimOf(text, mac),
        issuedAtSeconds: Number.parseInt(issuedAt, BASE),
        /** Selects the scopes of the token from the scopes of its family. */
        scopesOf: (scopes: readonly string[]) =>
          some === '' ? scopes : decodeScopes(scopes, some),
      }
    },

    /** Derives the access token of a generation, for all or some scopes of its family. */
    writeAccessToken(
      { id, seed, scopes }: Pick<Family, 'id' | 'seed'> & { readonly scopes: readonly string[] },
      { generation, issuedAtSeconds, has }: IssuedAccessToken,
    ): string {
      const issuedAt = issuedAtSeconds.toString(BASE)
      const text = `${id}.${generation.toString(BASE)}.${issuedAt}.${encodeScopes(scopes, has)}`
      return `${text}.${tokenMac(current, text, seed)}`
    },
  }
}

interface IssuedAccessToken {
  readonly generation: number
  readonly issuedAtSeconds: number
  /** The scopes of the token. */
  readonly has: readonly string[]
}

/** Generates the seed of a new family: 128 random bits. */
export const newSeed = makeRandomIds(16)

/** Returns the id of the family that the exchange of this code starts. */
export function familyOfCode(code: string): string {
  return sha256(code)
}

function tokenMac(key: KeyObject, text: string, seed: string): string {
  return createHmac('sha256', key).update(`${seed} ${text}`).digest('base64url')
}

/** Encodes the scopes of a token in base 36, one bit per scope of the family. Returns '' for all scopes. */
function encodeScopes(scopes: readonly string[], has: readonly string[]): string {
  if (scopes.every((scope) => has.includes(scope))) return ''
  // The extra high bit keeps the number above zero, because the token format allows no leading zero.
  let bits = 1n << BigInt(scopes.length)
  for (const [position, scope] of scopes.entries()) {
    if (has.includes(scope)) bits |= 1n << BigInt(position)
  }
  return bits.toString(BASE)
}

function decodeScopes(scopes: readonly string[], some: string): string[] {
  let bits = 0n
  for (const digit of some) bits = bits * BigInt(BASE) + BigInt(Number.parseInt(digit, BASE))
  return scopes.filter((_, position) => bits & (1n << BigInt(position)))
}
