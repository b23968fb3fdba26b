import { createHash } from 'node:crypto'

/** SHA-256 in base64url, the form in which every digest of a text is stored. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
