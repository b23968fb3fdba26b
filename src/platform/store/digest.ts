import { hash } from 'node:crypto'

/** Returns the SHA-256 digest of a text, in base64url. */
export function sha256(text: string): string {
  return hash('sha256', text, 'base64url')
}
