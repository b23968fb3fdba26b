import { randomBytes } from 'node:crypto'

import { isSame, sha256 } from '../../platform/store/digest.ts'

/** Generates a client secret. It has 256 random bits, so SHA-256 protects it as well as a slow hash would. */
export function makeSecret() {
  const secret = randomBytes(32).toString('base64url')
  return { secret, digest: sha256(secret), hint: secretHint(secret) }
}

/** Returns the last four characters of a secret, so people can tell secrets apart. */
export function secretHint(secret: string): string {
  return secret.slice(-4)
}

/** Whether the secret matches one of the digests. Compares in constant time. */
export function matchesSecret(secret: string, digests: readonly string[]): boolean {
  return digests.some((digest) => isSame(sha256(secret), digest))
}
