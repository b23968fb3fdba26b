/** The service as its own relying party: sign-in and session of its pages. Passwords are not known here. */

import type { RequestListener } from 'node:http'

import { bodyParser } from '@koa/bodyparser'
import type { Context, Middleware } from 'koa'
import type Router from 'koa-router'
import { z } from 'zod'

import { signInCancelledPage } from '../../../views/account-signed-out.ts'
import type { Page } from '../../../views/layout.ts'
import { isRefusal, signedOut, signInIncomplete } from '../../platform/http/errors.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { checkFormToken, checkScriptToken, refuseNul } from '../../platform/http/page-form.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { answerTooMany, type Limits } from '../../platform/limits/limits.ts'
import type { PageSession, Sessions } from './page-session.ts'
import { beginSignIn, completeSignIn, makeOwnFetch, type PendingSignIn } from './sign-in.ts'

/**
 * The pages at /admin and /account, for people who are signed in. Without a session the browser is sent
 * through this service's own authorization endpoint, and returns to the page that was asked for.
 */
export interface SignedInPages {
  /** A page of a signed-in person. */
  page(show: PageHandler): Middleware
  /** A form of one of our pages, sent by a signed-in person. */
  form(answer: PageHandler): Middleware
  /** A request of a script of one of our pages; every answer is JSON, which the handler sends. */
  script(answer: (ctx: PageContext, session: PageSession) => Promise<void>): Middleware
  /** The way back from the sign-in, and the sign-out. */
  routes(): Router
  /** Ends every session of the person, of any browser. */
  signOutEverywhere(ctx: Context, session: PageSession): Promise<void>
  /** Ends the person's session here when the browser session ends at the logout endpoint. */
  followLogout(): Middleware
}

/** The router's context; its `params` are those of the address. */
export type PageContext = Context & { params: Record<string, string> }
/** A page to send, or the address to go to next; nothing when the handler has answered itself. */
export type Answer = Page | string | undefined
export type PageHandler = (ctx: PageContext, session: PageSession) => Answer | Promise<Answer>

/** Encrypts for ourselves; the label binds the result to its use. */
export interface Seals {
  seal(plain: string, label: string): string
  /** @throws when it was not sealed by us for this use */
  open(sealed: string, label: string): string
}

export interface SignedInPagesPorts {
  readonly baseUrl: string
  readonly seals: Seals
  readonly sessions: Sessions
  readonly requestLimits: Limits
  /** The application with the keys that sign now. */
  readonly handler: () => RequestListener
  readonly now: () => number
}

const FORM_BYTES_MAX = '32kb'

export function makeSignedInPages(ports: SignedInPagesPorts): SignedInPages {
  const { sessions, requestLimits } = ports
  const isTooMany = (ctx: Context, { person }: PageSession, shape: 'page' | 'json') => {
    logFields(ctx).person = person.id
    return answerTooMany(ctx, requestLimits.take('pagesOfPerson', person.id), shape)
  }
  const parse = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })
  const signedInPages: SignedInPages = {
    page: (show) => async (ctx) => {
      const session = await sessions.find(ctx)
      if (!session) return await sendToSignIn(ctx, placeOf(ctx), ports)
      if (isTooMany(ctx, session, 'page')) return
      send(ctx, await show(ctx as PageContext, session))
    },

    form: (answer) => async (ctx) => {
      const session = await sessions.find(ctx)
      // What was typed is lost, but nothing is done in the name of a session that is over.
      if (!session) return seeOther(ctx, areaOf(ctx.path))
      if (isTooMany(ctx, session, 'page')) return
      await parse(ctx, async () => {})
      refuseNul(ctx)
      checkFormToken(ctx, session.csrf)
      send(ctx, await answer(ctx as PageContext, session))
    },

    script: (answer) => async (ctx) => {
      const session = await sessions.find(ctx)
      if (!session) throw signedOut()
      if (isTooMany(ctx, session, 'json')) return
      checkScriptToken(ctx, session.csrf)
      ctx.set('Cache-Control', 'no-store')
      await answer(ctx as PageContext, session)
    },

    routes() {
      const router = makeRouter()
      router.get(pages.signedIn, async (ctx) => await comeBack(ctx, ports))
      router.post(
        pages.signOut,
        signedInPages.form(async (ctx) => {
          await sessions.end(ctx)
          // The browser session is ended there too, after asking once (RP-Initiated Logout §2).
          return paths.endSession
        }),
      )
      return router
    },

    signOutEverywhere: (ctx, { person }) => sessions.endEverywhere(ctx, person),

    followLogout: () => async (ctx, next) => {
      await next()
      const { oidc } = ctx as { oidc?: { route?: string; params?: Record<string, unknown> } }
      if (oidc?.route === 'end_session_confirm' && oidc.params?.['logout'] && ctx.status === 303) {
        await sessions.end(ctx)
      }
    },
  }
  return signedInPages
}

function send(ctx: Context, answer: Answer): void {
  if (typeof answer === 'string') seeOther(ctx, answer)
  else if (answer) sendPage(ctx, answer)
}

/** A browser keeps 4096 bytes of a cookie; sealed, an address of this length is below that. */
const RETURN_TO_CHARACTERS_MAX = 2000

/** The page that was asked for, or the first of its area when the address is too long to be kept. */
function placeOf({ url, path }: Context): string {
  return url.length > RETURN_TO_CHARACTERS_MAX ? areaOf(path) : url
}

function areaOf(path: string): string {
  return path.startsWith(pages.admin) ? pages.admin : pages.account
}

async function sendToSignIn(
  ctx: Context,
  returnTo: string,
  ports: SignedInPagesPorts,
): Promise<void> {
  const { pending, address } = await beginSignIn(returnTo, ports.baseUrl)
  keepPending(ctx, pending, ports)
  seeOther(ctx, address)
}

async function comeBack(ctx: Context, ports: SignedInPagesPorts): Promise<void> {
  const { baseUrl, handler, now } = ports
  const answer = new URLSearchParams(ctx.querystring)
  const pending = takePending(ctx, ports)
  // Two tabs share the cookie. The earlier one begins again, and finds the person signed in.
  if (answer.get('state') !== pending.state) return seeOther(ctx, pending.returnTo)
  if (answer.has('error')) return sendCancelled(ctx, answer, pending.returnTo)
  try {
    const ownFetch = makeOwnFetch(handler(), ctx.ip)
    await ports.sessions.begin(
      ctx,
      await completeSignIn(answer, pending, { baseUrl, ownFetch, now }),
    )
  } catch (error) {
    // Storage was out of reach: the page may be loaded again.
    if (isRefusal(error) && error.statusCode === 503) keepPending(ctx, pending, ports)
    throw error
  }
  seeOther(ctx, pending.returnTo)
}

function sendCancelled(ctx: Context, answer: URLSearchParams, returnTo: string): void {
  if (answer.get('error') !== 'access_denied') throw signInIncomplete(String(answer.get('error')))
  sendPage(ctx, signInCancelledPage({ againHref: returnTo }))
}

const COOKIE = 'gatehouse_sign_in'
const LABEL = 'a sign-in to the pages'
const KEPT_SECONDS = 3600

const pendingSignIn: z.ZodType<PendingSignIn> = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
})

/** Keeps the sign-in sealed in a cookie that only the way back reads. */
function keepPending(
  ctx: Context,
  pending: PendingSignIn,
  { baseUrl, seals }: SignedInPagesPorts,
): void {
  ctx.cookies.set(COOKIE, seals.seal(JSON.stringify(pending), LABEL), {
    ...cookieOptions(baseUrl),
    maxAge: KEPT_SECONDS * 1000,
  })
}

/** @throws signInIncomplete when this browser has begun no sign-in */
function takePending(ctx: Context, { baseUrl, seals }: SignedInPagesPorts): PendingSignIn {
  const sealed = ctx.cookies.get(COOKIE)
  if (!sealed) throw signInIncomplete('no cookie')
  const pending = pendingSignIn.parse(JSON.parse(openOrRefuse(sealed, seals)))
  ctx.cookies.set(COOKIE, null, cookieOptions(baseUrl))
  return pending
}

/** It is sealed, so that it needs no signature. */
function cookieOptions(baseUrl: string) {
  const secure = baseUrl.startsWith('https:')
  const path = pages.signedIn
  return { httpOnly: true, sameSite: 'lax', signed: false, secure, path, overwrite: true } as const
}

function openOrRefuse(sealed: string, seals: Seals): string {
  try {
    return seals.open(sealed, LABEL)
  } catch (error) {
    throw Object.assign(signInIncomplete('a cookie that is not ours'), { cause: error })
  }
}
