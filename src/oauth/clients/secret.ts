import { randomBytes, timingSafeEqual } from 'node:crypto'

import { sha256 } from '../../platform/store/digest.ts'

/**
 * Client secrets. A secret is 256 random bits, so that a plain digest protects it as well as a slow
 * hash would; only digests are stored, and a client may have two live ones while it rotates.
 */
export function makeSecret() {
  const secret = randomBytes(32).toString('base64url')
  return { secret, digest: digestSecret(secret), hint: hintOf(secret) }
}

/** Its last four characters, by which people tell two secrets apart. */
export function hintOf(secret: string): string {
  return secret.slice(-4)
}

/** The stored digest of a secret. */
export function digestSecret(secret: string): string {
  return sha256(secret)
}

/** Whether the secret matches one of the digests, in constant time. */
export function matchesSecret(secret: string, digests: readonly string[]): boolean {
  const digest = Buffer.from(digestSecret(secret))
  let matches = false
  for (const candidate of digests) {
    const expected = Buffer.from(candidate)
    if (expected.length === digest.length && timingSafeEqual(expected, digest)) matches = true
  }
  return matches
}
