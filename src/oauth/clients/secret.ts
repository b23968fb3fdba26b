import { randomBytes, timingSafeEqual } from 'node:crypto'

import { sha256 } from '../../platform/store/digest.ts'

/**
 * Generates a client secret. It has 256 random bits, so a plain SHA-256 digest protects it as well as a slow hash
 * would. Only digests are stored. During a rotation a client may have two valid secrets.
 */
export function makeSecret() {
  const secret = randomBytes(32).toString('base64url')
  return { secret, digest: sha256(secret), hint: hintOf(secret) }
}

/** Returns the last four characters, by which people can tell two secrets apart. */
export function hintOf(secret: string): string {
  return secret.slice(-4)
}

/** Whether the secret matches one of the digests. Compares in constant time. */
export function matchesSecret(secret: string, digests: readonly string[]): boolean {
  const digest = Buffer.from(sha256(secret))
  let matches = false
  for (const candidate of digests) {
    const expected = Buffer.from(candidate)
    if (expected.length === digest.length && timingSafeEqual(expected, digest)) matches = true
  }
  return matches
}
