import { createHmac } from 'node:crypto'

import type { Context } from 'koa'

import { checkFormToken } from '../http/form.ts'

/**
 * The token that each form of an interaction carries (RFC 6749 §10.12). The interaction's cookie,
 * bound to the path of this one interaction and SameSite=Lax, already keeps foreign forms out; the
 * token holds where a browser does not know SameSite.
 */
export function formToken(uid: string, formKey: Buffer): string {
  return createHmac('sha256', formKey).update(`interaction ${uid}`).digest('base64url')
}

/** @throws foreignForm when the form does not carry the token, or a browser says whose form it was */
export function checkForm(ctx: Context, uid: string, formKey: Buffer): void {
  checkFormToken(ctx, formToken(uid, formKey))
}
