import { hash } from 'node:crypto'

/** Returns the SHA-256 digest in base64url, the stored form of every text digest. */
export function sha256(text: string): string {
  return hash('sha256', text, 'base64url')
}
