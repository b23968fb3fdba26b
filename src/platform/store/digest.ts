import { hash, timingSafeEqual } from 'node:crypto'

/** Returns the SHA-256 digest of a string or bytes, in base64url. */
export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'base64url')
}

/** Whether two secrets are equal. The time that this takes does not reveal where they differ. */
export function isSame(given: string | Buffer, expected: string | Buffer): boolean {
  const [one, other] = [Buffer.from(given as string), Buffer.from(expected as string)]
  return one.length === other.length && timingSafeEqual(one, other)
}
