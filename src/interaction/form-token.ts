import { createHmac, timingSafeEqual } from 'node:crypto'

import type { Context } from 'koa'

import { foreignForm } from '../errors.ts'

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
  const site = ctx.get('sec-fetch-site')
  if (site !== '' && site !== 'same-origin' && site !== 'none') throw foreignForm()
  const expected = Buffer.from(formToken(uid, formKey))
  const presented = Buffer.from(formField(ctx, 'csrf'))
  if (presented.length !== expected.length || !timingSafeEqual(presented, expected)) {
    throw foreignForm()
  }
}

/** One field of the form that was sent; empty when it is absent or sent twice. */
export function formField(ctx: Context, name: string): string {
  const body: unknown = (ctx.request as { body?: unknown }).body
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, name)) return ''
  const value: unknown = (body as Record<string, unknown>)[name]
  return typeof value === 'string' ? value : ''
}
