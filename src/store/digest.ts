import { createHash } from 'node:crypto'

/** SHA-256 in base64url: what is stored of something that only its bearer may know. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
