import { createHmac } from 'node:crypto'

/**
 * The token that each form of an interaction carries (RFC 6749 §10.12). The interaction's cookie,
 * bound to the path of this one interaction and SameSite=Lax, already keeps foreign forms out; the
 * token holds where a browser does not know SameSite.
 */
export function formToken(uid: string, formKey: Buffer): string {
  return createHmac('sha256', formKey).update(`interaction ${uid}`).digest('base64url')
}
