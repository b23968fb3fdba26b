import { createHmac, randomBytes } from 'node:crypto'

import { bodyParser } from '@koa/bodyparser'
import type { Context } from 'koa'

import { checkFormToken, refuseNul } from './page-form.ts'

export type VisitorForms = ReturnType<typeof makeVisitorForms>

/** A browser without a session, marked by a random cookie. */
export interface Visitor {
  /** The cookie's value, which only this browser knows. */
  readonly browser: string
  /** The CSRF token of the browser's forms. */
  readonly csrf: string
}

const ID_BYTES = 24
const FORM_BYTES_MAX = '16kb'

const parse = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })

/** Creates the functions for pages with forms that people use before they sign in. */
export function makeVisitorForms({
  baseUrl,
  formKey,
}: {
  readonly baseUrl: string
  readonly formKey: Buffer
}) {
  const secure = baseUrl.startsWith('https:')
  // With this prefix, no other host can set the cookie (RFC 6265bis §4.1.3.2).
  const cookie = secure ? '__Host-gatehouse_visitor' : 'gatehouse_visitor'
  const options = { httpOnly: true, sameSite: 'lax', signed: false, secure, path: '/' } as const
  const visitorOf = (browser: string): Visitor => ({
    browser,
    csrf: createHmac('sha256', formKey).update(`visitor ${browser}`).digest('base64url'),
  })
  return {
    /** Returns the visitor, and sets the cookie if the browser has none. Also keeps the page's URL from other sites. */
    enter(ctx: Context): Visitor {
      ctx.set('Referrer-Policy', 'no-referrer')
      const known = ctx.cookies.get(cookie)
      if (known) return visitorOf(known)
      const browser = randomBytes(ID_BYTES).toString('base64url')
      ctx.cookies.set(cookie, browser, options)
      return visitorOf(browser)
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
