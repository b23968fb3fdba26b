/**
 * The service as its own relying party: sign-in and session of its pages. Passwords are not known
 * here.
 */

import { bodyParser } from '@koa/bodyparser'
import type { Context, Middleware } from 'koa'
import type Router from 'koa-router'

import { signInCancelledPage } from '../../../views/account-signed-out.ts'
import { isRefusal, signedOut, signInIncomplete } from '../../platform/http/errors.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { checkFormToken, checkScriptToken, refuseNul } from '../../platform/http/page-form.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { answerTooMany, type Limits } from '../../platform/limits/limits.ts'
import type { OwnFetch } from './own-request.ts'
import type { PageSession, Sessions } from './page-session.ts'
import { keepPending, type PendingSignInPorts, takePending } from './pending-sign-in.ts'
import { beginSignIn, completeSignIn, type SignInDependencies } from './sign-in.ts'

/**
 * The pages at /admin and /account, for people who are signed in: whoever is not is sent through this
 * service's own authorization endpoint and comes back to the page that was asked for.
 */
export interface SignedInPages {
  /** A page for somebody who is signed in. */
  page(show: PageHandler): Middleware
  /** A form that somebody who is signed in sent from one of our pages. */
  form(answer: PageHandler): Middleware
  /** What a script of one of our pages asks for somebody who is signed in; every answer is JSON. */
  script(answer: PageHandler): Middleware
  /** The way back from the sign-in, and the way out. */
  routes(): Router
  /** Ends every session of the person, of any browser. */
  signOutEverywhere(ctx: Context, session: PageSession): Promise<void>
  /** Ends the person's session here when the browser session ends at the logout endpoint. */
  followLogout(): Middleware
}

/** The router's context; its `params` are those of the address. */
export type PageContext = Context & { params: Record<string, string> }
export type PageHandler = (ctx: PageContext, session: PageSession) => Promise<void>

export interface SignedInPagesParts extends PendingSignInPorts, SignInDependencies {
  readonly sessions: Sessions
  readonly requestLimits: Limits
}

const FORM_BYTES_MAX = '32kb'

export function makeSignedInPages(parts: SignedInPagesParts): SignedInPages {
  const { sessions, requestLimits } = parts
  const isTooMany = (ctx: Context, { person }: PageSession, shape: 'page' | 'json') => {
    logFields(ctx).person = person.id
    return answerTooMany(ctx, requestLimits.take('pagesOfPerson', person.id), shape)
  }
  const parse = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })
  const signedInPages: SignedInPages = {
    page: (show) => async (ctx) => {
      const session = await sessions.find(ctx)
      if (!session) return await sendToSignIn(ctx, placeOf(ctx), parts)
      logFields(ctx).person = session.person.id
      if (isTooMany(ctx, session, 'page')) return
      await show(ctx as PageContext, session)
    },

    form: (answer) => async (ctx) => {
      const session = await sessions.find(ctx)
      // What was typed is lost, but nothing is done in the name of a session that is over.
      if (!session) return seeOther(ctx, areaOf(ctx.path))
      if (isTooMany(ctx, session, 'page')) return
      await parse(ctx, async () => {})
      refuseNul(ctx)
      checkFormToken(ctx, session.csrf)
      await answer(ctx as PageContext, session)
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
      router.get(pages.signedIn, async (ctx) => await comeBack(ctx, parts))
      router.post(
        pages.signOut,
        signedInPages.form(async (ctx) => {
          await sessions.end(ctx)
          // The browser session is ended there too, after asking once (RP-Initiated Logout §2).
          seeOther(ctx, paths.endSession)
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
  parts: SignedInPagesParts,
): Promise<void> {
  const { pending, address } = await beginSignIn(returnTo, parts.baseUrl)
  keepPending(ctx, pending, parts)
  seeOther(ctx, address)
}

async function comeBack(ctx: Context, parts: SignedInPagesParts): Promise<void> {
  const answer = new URLSearchParams(ctx.querystring)
  const pending = takePending(ctx, parts)
  // Two tabs share the cookie. The earlier one begins again, and finds the person signed in.
  if (answer.get('state') !== pending.state) return seeOther(ctx, pending.returnTo)
  if (answer.has('error')) return sendCancelled(ctx, answer, pending.returnTo)
  try {
    const ownFetch: OwnFetch = async (address, request) =>
      await parts.ownFetch(address, { ...request, from: ctx.ip })
    await parts.sessions.begin(ctx, await completeSignIn(answer, pending, { ...parts, ownFetch }))
  } catch (error) {
    // Storage was out of reach: the page may be loaded again.
    if (isRefusal(error) && error.statusCode === 503) keepPending(ctx, pending, parts)
    throw error
  }
  seeOther(ctx, pending.returnTo)
}

function sendCancelled(ctx: Context, answer: URLSearchParams, returnTo: string): void {
  if (answer.get('error') !== 'access_denied') throw signInIncomplete(String(answer.get('error')))
  sendPage(ctx, signInCancelledPage({ againHref: returnTo }))
}
