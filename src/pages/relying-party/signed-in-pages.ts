/** The service as its own relying party: sign-in and session of its pages. Passwords are not known here. */

import type { RequestListener } from 'node:http'

import { bodyParser } from '@koa/bodyparser'
import type { Context, Middleware } from 'koa'
import type Router from 'koa-router'

import { signInCancelledPage } from '../../../views/account-signed-out.ts'
import type { Page } from '../../../views/layout.ts'
import type { ScopeUses } from '../../directory/scopes/scope-uses.ts'
import { isRefusal, signedOut, signInIncomplete } from '../../platform/http/errors.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { checkFormToken, checkScriptToken, refuseNul } from '../../platform/http/page-form.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import type { Database } from '../../platform/store/database.ts'
import type { ListPages } from './list-pages.ts'
import type { PageSession, Sessions } from './page-session.ts'
import {
  beginSignIn,
  completeSignIn,
  keepPending,
  makeOwnFetch,
  type PendingPorts,
  takePending,
} from './sign-in.ts'

export type SignedInPages = ReturnType<typeof makeSignedInPages>

/** The router's context; its `params` are those of the address. */
export type PageContext = Context & { params: Record<string, string> }
/** A page to send, or the address to go to next; nothing when the handler has answered itself. */
export type Answer = Page | string | undefined
export type PageHandler = (ctx: PageContext, session: PageSession) => Answer | Promise<Answer>
type ScriptHandler = (ctx: PageContext, session: PageSession) => Promise<void>

export interface SignedInPagesPorts extends PendingPorts {
  readonly sessions: Sessions
  readonly requestLimits: Limits
  /** The application with the keys that sign now. */
  readonly handler: () => RequestListener
  readonly now: () => number
}

/** What the routes of our own pages have in common. */
export interface OwnPages {
  readonly database: Database
  readonly baseUrl: string
  readonly scopeUses: ScopeUses
  readonly signedInPages: SignedInPages
  readonly listPages: ListPages
  readonly now: () => number
}

const FORM_BYTES_MAX = '32kb'

/**
 * The pages at /admin and /account, for people who are signed in. Without a session the browser is sent
 * through this service's own authorization endpoint, and returns to the page that was asked for.
 */
export function makeSignedInPages(ports: SignedInPagesPorts) {
  const { sessions, requestLimits } = ports
  const isTooMany = (ctx: Context, { person }: PageSession, shape: 'page' | 'json') => {
    logFields(ctx).person = person.id
    return answerTooMany(ctx, requestLimits.take('pagesOfPerson', person.id), shape)
  }
  const parse = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })
  const signedInPages = {
    /** A page of a signed-in person. */
    page:
      (show: PageHandler): Middleware =>
      async (ctx) => {
        const session = await sessions.find(ctx)
        if (!session) return await sendToSignIn(ctx, placeOf(ctx), ports)
        if (isTooMany(ctx, session, 'page')) return
        send(ctx, await show(ctx as PageContext, session))
      },

    /** A form of one of our pages, sent by a signed-in person. */
    form:
      (answer: PageHandler): Middleware =>
      async (ctx) => {
        const session = await sessions.find(ctx)
        // What was typed is lost, but nothing is done in the name of a session that is over.
        if (!session) return seeOther(ctx, areaOf(ctx.path))
        if (isTooMany(ctx, session, 'page')) return
        await parse(ctx, async () => {})
        refuseNul(ctx)
        checkFormToken(ctx, session.csrf)
        send(ctx, await answer(ctx as PageContext, session))
      },

    /** A request of a script of one of our pages; every answer is JSON, which the handler sends. */
    script:
      (answer: ScriptHandler): Middleware =>
      async (ctx) => {
        const session = await sessions.find(ctx)
        if (!session) throw signedOut()
        if (isTooMany(ctx, session, 'json')) return
        checkScriptToken(ctx, session.csrf)
        ctx.set('Cache-Control', 'no-store')
        await answer(ctx as PageContext, session)
      },

    /** The way back from the sign-in, and the sign-out. */
    routes(): Router {
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

    /** Ends every session of the person, of any browser. */
    signOutEverywhere: async (ctx: Context, { person }: PageSession) =>
      await sessions.endEverywhere(ctx, person),

    /** Ends the person's session here when the browser session ends at the logout endpoint. */
    followLogout: (): Middleware => async (ctx, next) => {
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
  const pending = await takePending(ctx, ports)
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
