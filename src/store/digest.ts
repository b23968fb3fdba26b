import { createHash } from 'node:crypto'

/** SHA-256 in base64url: how a value that must not be readable is stored or named. */
export function digestOf(value: string | Buffer): string {
  return createHash('sha256').update(value).digest('base64url')
}
