import { timingSafeEqual } from 'node:crypto'

import type { Context } from 'koa'

import { foreignForm, nulInRequest } from './errors.ts'

/**
 * Refuses a form that did not come from its own page (RFC 6749 §10.12): the browser says where it came from, and
 * the form has the token of its page.
 *
 * @throws foreignForm
 */
export function checkFormToken(ctx: Context, token: string): void {
  checkToken(ctx, token, formField(ctx, 'csrf'))
}

/**
 * Does the same for a request of our scripts: a page of another origin cannot set the header without a preflight,
 * which none of our pages answers.
 *
 * @throws foreignForm
 */
export function checkScriptToken(ctx: Context, token: string): void {
  checkToken(ctx, token, ctx.get('X-Form-Token'))
}

function checkToken(ctx: Context, token: string, given: string): void {
  const site = ctx.get('sec-fetch-site')
  if (site !== '' && site !== 'same-origin' && site !== 'none') throw foreignForm()
  const expected = Buffer.from(token)
  const sent = Buffer.from(given)
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) throw foreignForm()
}

/**
 * Refuses a form with a NUL in a field: no store keeps one, and PostgreSQL fails on it.
 *
 * @throws nulInRequest
 */
export function refuseNul(ctx: Context): void {
  const values = Object.values(fieldsOf(ctx)).flat()
  if (values.some((value) => String(value).includes('\0'))) throw nulInRequest()
}

/** One field of the form; empty when it is absent or sent twice. */
export function formField(ctx: Context, name: string): string {
  const value = sentValue(ctx, name)
  return typeof value === 'string' ? value : ''
}

/** Every value of a field that may be sent several times, as checkboxes are. */
export function formFields(ctx: Context, name: string): string[] {
  return [sentValue(ctx, name) ?? []].flat().filter((value) => typeof value === 'string')
}

function sentValue(ctx: Context, name: string): unknown {
  const fields = fieldsOf(ctx)
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

function fieldsOf(ctx: Context): Record<string, unknown> {
  return Object((ctx.request as { body?: unknown }).body) as Record<string, unknown>
}
