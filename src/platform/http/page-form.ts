import { timingSafeEqual } from 'node:crypto'

import type { Context } from 'koa'

import { foreignForm, nulInRequest } from './errors.ts'

/** Rejects forged forms: checks Sec-Fetch-Site and the CSRF token (RFC 6749 §10.12). @throws foreignForm */
export function checkFormToken(ctx: Context, token: string): void {
  checkToken(ctx, token, formField(ctx, 'csrf'))
}

/** Rejects forged script requests. Other origins cannot set X-Form-Token without a preflight. @throws foreignForm */
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

/** Rejects a form that contains a NUL character, because PostgreSQL would raise an error. @throws nulInRequest */
export function refuseNul(ctx: Context): void {
  const values = Object.values(fieldsOf(ctx)).flat()
  if (values.some((value) => String(value).includes('\0'))) throw nulInRequest()
}

/** Returns a form field; an empty string if the field is absent or repeated. */
export function formField(ctx: Context, name: string): string {
  const value = sentValue(ctx, name)
  return typeof value === 'string' ? value : ''
}

/** Returns all values of a form field that may be repeated, such as checkboxes. */
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
