import { createHmac, randomBytes } from 'node:crypto'
import { PassThrough, Readable } from 'node:stream'

import { bodyParser } from '@koa/bodyparser'
import type { Context } from 'koa'

import { isSame } from '../store/digest.ts'
import { badUpload, foreignForm, nulInRequest } from './errors.ts'
import { readRequestBody } from './request-body.ts'

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
  if (!isSame(given, token)) throw foreignForm()
}

/** Rejects a form that contains a NUL character, because PostgreSQL would raise an error. @throws nulInRequest */
export function refuseNul(ctx: Context): void {
  const values = Object.values(bodyFields(ctx)).flat()
  if (values.some((value) => String(value).includes('\0'))) throw nulInRequest()
}

/** Reads a form with files (multipart/form-data) up to a limit. @throws bodyTooLarge; badUpload if it is malformed */
export async function readMultipart(ctx: Context, bytesMax: number): Promise<void> {
  const bytes = await readRequestBody(ctx, bytesMax)
  const headers = { 'Content-Type': ctx.get('content-type') }
  const form = await new Response(bytes, { headers }).formData().catch(() => undefined)
  if (!form) throw badUpload('the form is malformed; reload the page and try again')
  Object.assign(ctx.request, { body: Object.fromEntries(form) })
}

/** The maximum length of the headers before the file. */
const PART_HEAD_BYTES_MAX = 4096

/**
 * Opens a form that consists of one file (RFC 7578), without reading the whole file into memory. The stream holds back
 * the last bytes, because they may belong to the closing boundary.
 *
 * @throws badUpload, also while the stream is read, if the form is malformed
 */
export async function openFormFile(ctx: Context) {
  const malformed = () => badUpload('the form is malformed; reload the page and try again')
  const [, boundary] = /\bboundary="?([^";\s]{1,70})/.exec(ctx.get('content-type')) ?? []
  // Pipe the body, so the caller can read the rest of a rejected form. A pipe does not forward errors.
  const body = ctx.req.pipe(new PassThrough())
  ctx.req.once('error', (error) => body.destroy(error))
  const chunks: AsyncIterableIterator<Buffer> = body.iterator()
  let held: Buffer = Buffer.alloc(0)
  while (!held.includes('\r\n\r\n')) {
    const { done, value } = await chunks.next()
    if (done || held.length > PART_HEAD_BYTES_MAX) throw malformed()
    held = Buffer.concat([held, value])
  }
  const end = held.indexOf('\r\n\r\n')
  const head = held.toString('utf8', 0, end)
  const [, sentName] = /;\s*filename="([^"\r\n]*)"/i.exec(head) ?? []
  if (!head.startsWith(`--${boundary}\r\n`) || sentName === undefined) throw malformed()
  const [, declaredType = ''] = /^content-type:\s*([^\s;]+)/im.exec(head) ?? []
  const closing = Buffer.from(`\r\n--${boundary}--`)
  async function* content() {
    let rest: Buffer = held.subarray(end + 4)
    for await (const chunk of chunks) {
      rest = Buffer.concat([rest, chunk])
      const free = Math.max(0, rest.length - closing.length - 2)
      if (free > 0) yield rest.subarray(0, free)
      rest = rest.subarray(free)
    }
    const length = rest.lastIndexOf(closing)
    if (length < 0) throw malformed()
    if (length > 0) yield rest.subarray(0, length)
  }
  // Browsers escape only these characters (WHATWG HTML, multipart form data).
  const name = sentName.replace(/%22/g, '"').replace(/%0[AD]/gi, ' ')
  return { name, declaredType, stream: Readable.from(content()) }
}

/** Returns the file in a field of a form that `readMultipart` read; undefined if there is none, or it is empty. */
export function formFile(ctx: Context, name: string): File | undefined {
  const value = sentValue(ctx, name)
  return value instanceof File && value.size > 0 ? value : undefined
}

/** Returns a form field; an empty string if the field is absent or repeated. */
export function formField(ctx: Context, name: string): string {
  const value = sentValue(ctx, name)
  return typeof value === 'string' ? value : ''
}

/** Returns all values of a repeatable form field, such as checkboxes. More than 20 values arrive as an object. */
export function formFields(ctx: Context, name: string): string[] {
  const value = sentValue(ctx, name) ?? []
  const values: unknown[] = typeof value === 'object' ? Object.values(value) : [value]
  return values.filter((each) => typeof each === 'string')
}

function sentValue(ctx: Context, name: string): unknown {
  const fields = bodyFields(ctx)
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

function bodyFields(ctx: Context): Record<string, unknown> {
  return Object((ctx.request as { body?: unknown }).body) as Record<string, unknown>
}

export type VisitorForms = ReturnType<typeof makeVisitorForms>

/** A browser, recognized by a random cookie, whether or not a person is signed in. */
export interface Visitor {
  /** The cookie's value, which no other browser knows. */
  readonly browser: string
  readonly csrf: string
}

const ID_BYTES = 24
/** How long a browser keeps the cookie. Every page that uses the cookie renews it. */
const KEPT_SECONDS = 86_400
const FORM_BYTES_MAX = '16kb'

const parse = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })

/** Creates the functions for pages with forms that people use before they sign in. */
export function makeVisitorForms(keys: { readonly baseUrl: string; readonly formKey: Buffer }) {
  const { baseUrl, formKey } = keys
  const secure = baseUrl.startsWith('https:')
  // With this prefix, no other host can set the cookie (RFC 6265bis §4.1.3.2).
  const cookie = secure ? '__Host-gatehouse_visitor' : 'gatehouse_visitor'
  const lasting = { path: '/', maxAge: KEPT_SECONDS * 1000, overwrite: true }
  const options = { httpOnly: true, sameSite: 'lax', signed: false, secure, ...lasting } as const
  const recognize = (ctx: Context): string => {
    const browser = ctx.cookies.get(cookie) || randomBytes(ID_BYTES).toString('base64url')
    ctx.cookies.set(cookie, browser, options)
    return browser
  }
  const keyed = (text: string) => createHmac('sha256', formKey).update(text).digest('base64url')
  const visitorOf = (browser: string): Visitor => ({ browser, csrf: keyed(`visitor ${browser}`) })
  return {
    /** Returns a digest of the browser's cookie, to bind an interaction to this browser. Sets or renews the cookie. */
    digestOf: (ctx: Context): string => keyed(`browser ${recognize(ctx)}`),

    /** Returns the visitor. Sets or renews the cookie, and hides the page's URL from other sites. */
    enter(ctx: Context): Visitor {
      ctx.set('Referrer-Policy', 'no-referrer')
      return visitorOf(recognize(ctx))
    },

    /** Reads a submitted form, and returns the visitor. @throws foreignForm, nulInRequest */
    async submitted(ctx: Context): Promise<Visitor> {
      ctx.set('Referrer-Policy', 'no-referrer')
      await parse(ctx, async () => {})
      const visitor = visitorOf(ctx.cookies.get(cookie) ?? '')
      checkFormToken(ctx, visitor.csrf)
      refuseNul(ctx)
      return visitor
    },
  }
}
