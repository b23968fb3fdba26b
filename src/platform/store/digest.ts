import { hash } from 'node:crypto'

/** Returns the SHA-256 digest of a string or bytes, in base64url. */
export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'base64url')
}
