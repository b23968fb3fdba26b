import { hash } from 'node:crypto'

/** SHA-256 in base64url, the form in which every digest of a text is stored. */
export function sha256(text: string): string {
  return hash('sha256', text, 'base64url')
}
