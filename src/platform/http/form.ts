import { timingSafeEqual } from 'node:crypto'

import type { Context } from 'koa'

import { foreignForm, nulInRequest } from './errors.ts'

/**
 * Refuses a form that did not come from its own page (RFC 6749 §10.12): a browser says where it came
 * from, and the form carries the token that its page was given.
 *
 * @throws foreignForm
 */
export function checkFormToken(ctx: Context, token: string): void {
  checkToken(ctx, token, formField(ctx, 'csrf'))
}

/**
 * The same of what a script of ours sends: a page of another origin cannot set the header without asking
 * first, and no address of our pages answers such a question.
 *
 * @throws foreignForm
 */
export function checkScriptToken(ctx: Context, token: string): void {
  checkToken(ctx, token, ctx.get(SCRIPT_TOKEN_HEADER))
}

const SCRIPT_TOKEN_HEADER = 'X-Form-Token'

function checkToken(ctx: Context, token: string, given: string): void {
  const site = ctx.get('sec-fetch-site')
  if (site !== '' && site !== 'same-origin' && site !== 'none') throw foreignForm()
  const expected = Buffer.from(token)
  const sent = Buffer.from(given)
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) {
    throw foreignForm()
  }
}

/**
 * Refuses a form in which a field holds a NUL: no store keeps one, and PostgreSQL fails at it.
 *
 * @throws nulInRequest
 */
export function refuseNul(ctx: Context): void {
  const { body } = ctx.request as { body?: unknown }
  const values = Object.values(Object(body) as object).flat()
  if (values.some((value) => String(value).includes('\0'))) throw nulInRequest()
}

/** One field of the form that was sent; empty when it is absent or sent twice. */
export function formField(ctx: Context, name: string): string {
  const value = fieldOf(ctx, name)
  return typeof value === 'string' ? value : ''
}

/** Every value of a field that may be sent several times, as checkboxes are. */
export function formFields(ctx: Context, name: string): string[] {
  return [fieldOf(ctx, name) ?? []].flat().filter((value) => typeof value === 'string')
}

function fieldOf(ctx: Context, name: string): unknown {
  const body: unknown = (ctx.request as { body?: unknown }).body
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, name)) return undefined
  return (body as Record<string, unknown>)[name]
}
