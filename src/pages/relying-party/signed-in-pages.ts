/** Makes our own pages a relying party of this service: sign-in, sessions and forms. */

import type { RequestListener } from 'node:http'

import { bodyParser } from '@koa/bodyparser'
import type { Context, Middleware } from 'koa'

import { notePage } from '../../../views/note-page.ts'
import { inLink } from '../../../views/text.ts'
import type { SiteProviders } from '../../directory/people/site-providers.ts'
import type { ScopeUses } from '../../directory/scopes/scope-uses.ts'
import { isRefusal, signedOut, signInIncomplete } from '../../platform/http/errors.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import {
  checkFormToken,
  checkScriptToken,
  readMultipart,
  refuseNul,
} from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import type { Database } from '../../platform/store/database.ts'
import type { WholeAnswer } from './area-answer.ts'
import type { ListPages } from './list-pages.ts'
import type { PageSession, Sessions } from './page-session.ts'
import {
  type AskedSignIn,
  beginSignIn,
  completeSignIn,
  makeOwnFetch,
  type PendingPorts,
} from './sign-in.ts'

export type SignedInPages = ReturnType<typeof makeSignedInPages>

export type PageContext = Context & { params: Record<string, string> }
export type PageHandler = Handler<WholeAnswer>
type Handler<Result> = (ctx: PageContext, session: PageSession) => Result | Promise<Result>

export interface SignedInPagesPorts extends PendingPorts {
  readonly sessions: Sessions
  /** How long a sign-in counts as recent. */
  readonly freshSeconds: number
  /** Returns the request handler with the current signing keys. Call this lazily: the handler is created later. */
  readonly handler: () => RequestListener
}

/** The dependencies that the routes of our own pages share. */
export interface OwnPages {
  readonly database: Database
  readonly baseUrl: string
  readonly scopeUses: ScopeUses
  readonly signedInPages: SignedInPages
  readonly listPages: ListPages
  readonly siteProviders: SiteProviders
  readonly now: () => number
}

const FORM_BYTES_MAX = '32kb'
/** The maximum form size: enough for a logo of 512 KiB and the other fields. */
const FORM_WITH_FILE_BYTES_MAX = 600 * 1024

const parseFields = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })

async function parseForm(ctx: Context): Promise<void> {
  if (ctx.is('multipart/form-data')) await readMultipart(ctx, FORM_WITH_FILE_BYTES_MAX)
  else await parseFields(ctx, async () => {})
}

/**
 * Creates the routes for sign-in, `followLogout`, and the middleware for pages, forms and script requests that need a
 * signed-in person. This middleware limits how many requests each person can send.
 */
export function makeSignedInPages(
  { requestLimits, now }: { readonly requestLimits: Limits; readonly now: () => number },
  ports: SignedInPagesPorts,
) {
  const { sessions, freshSeconds } = ports
  /** Responds if the person may not use the page, or sends too many requests. Returns whether it has responded. */
  const isAnswered = async (ctx: Context, session: PageSession, shape: 'page' | 'json') => {
    const { id } = session.person
    logFields(ctx).person = id
    const isTooMany = answerTooMany(ctx, requestLimits.take('pagesOfPerson', id), shape)
    return isTooMany || (await isElsewhere(ctx, session, ports))
  }
  return {
    /** Shows a page to a signed-in person. Without a session, the person signs in first and returns to the page. */
    page:
      (show: PageHandler): Middleware =>
      async (ctx) => {
        const session = await sessions.find(ctx)
        if (!session) return seeOther(ctx, await startSignIn(ctx, ports, ctx.url))
        if (await isAnswered(ctx, session, 'page')) return
        sendAnswer(ctx, await show(ctx as PageContext, session))
      },

    /** Handles a submitted form. Rejects a form with a wrong CSRF token or a NUL character. */
    form:
      (answer: PageHandler): Middleware =>
      async (ctx) => {
        const session = await sessions.find(ctx)
        // Discard the input: without a session, its CSRF token cannot be checked.
        if (!session) return seeOther(ctx, areaPath(ctx.path))
        if (await isAnswered(ctx, session, 'page')) return
        await parseForm(ctx)
        refuseNul(ctx)
        checkFormToken(ctx, session.csrf)
        sendAnswer(ctx, await answer(ctx as PageContext, session))
      },

    /**
     * Whether the sign-in of this page session is recent. Requiring a recent sign-in protects pages and forms against
     * people who use an unlocked computer or a stolen cookie.
     */
    isFresh: ({ authenticatedAt }: PageSession) => now() < authenticatedAt + freshSeconds * 1000,

    /**
     * Makes the person sign in again, with the given `acr`, if any, and then opens `returnTo`. Discards the input of a
     * form. @returns the URL to redirect to
     */
    signInAgain: async (ctx: Context, { person }: PageSession, returnTo: string, acr?: string) => {
      const notice = `${returnTo.includes('?') ? '&' : '?'}done=repeat`
      const address = ctx.method === 'POST' ? returnTo + notice : returnTo
      return await startSignIn(ctx, ports, address, { login: person.email, acr })
    },

    /** Handles a request from a script on one of our pages. Requires a session and its CSRF token. */
    script:
      (answer: Handler<void>): Middleware =>
      async (ctx) => {
        const session = await sessions.find(ctx)
        if (!session) throw signedOut()
        if (await isAnswered(ctx, session, 'json')) return
        checkScriptToken(ctx, session.csrf)
        ctx.set('Cache-Control', 'no-store')
        await answer(ctx as PageContext, session)
      },

    /** Creates the routes for the sign-in callback, and for switching the account. */
    routes() {
      const router = makeRouter()
      router.get(pages.signedIn, async (ctx) => await finishSignIn(ctx, ports, now))
      router.get(pages.switchAccount, async (ctx) => {
        const to = String(ctx.query['to'])
        const isOurs = [pages.account, pages.admin].some((area) => to.startsWith(area))
        seeOther(ctx, await startSignIn(ctx, ports, isOurs ? to : pages.account, { login: '' }))
      })
      return router
    },

    /** Ends the session, and starts a sign-in with another account. @returns the URL to redirect to */
    async switchAccount(ctx: Context, login: string): Promise<string> {
      await sessions.end(ctx)
      return await startSignIn(ctx, ports, ctx.url, { login })
    },

    /** Creates middleware that ends the page session when the logout endpoint ends the browser session. */
    followLogout: (): Middleware => async (ctx, next) => {
      await next()
      const { oidc } = ctx as { oidc?: { route?: string; params?: Record<string, unknown> } }
      if (oidc?.route === 'end_session_confirm' && oidc.params?.['logout'] && ctx.status === 303) {
        await sessions.end(ctx)
      }
    },
  }
}

/**
 * Rejects a session that was started with a site's identity provider, except for administration and sign-out.
 *
 * @returns whether it has responded
 */
async function isElsewhere(ctx: Context, session: PageSession, ports: PendingPorts) {
  const { browser, person } = session
  if (browser.siteId === undefined || ctx.path.startsWith(`${pages.admin}/`)) return false
  if (ctx.path === pages.signOut) return false
  if (ctx.query['sign-in'] === 'again') {
    seeOther(ctx, await startSignIn(ctx, ports, ctx.path, { login: person.email }))
  } else {
    ctx.status = 403
    sendPage(ctx, notePage('other-way', `${ctx.path}?sign-in=again`))
  }
  return true
}

function sendAnswer(ctx: Context, answer: WholeAnswer): void {
  if (typeof answer === 'string') seeOther(ctx, answer)
  else if (answer) sendPage(ctx, answer)
}

/** The maximum length of the URL to return to. This limit keeps the sealed cookie below 4096 bytes. */
const RETURN_TO_CHARACTERS_MAX = 2000

function areaPath(path: string): string {
  return path.startsWith(pages.admin) ? pages.admin : pages.account
}

/** Starts a sign-in that redirects to `returnTo` at its end. @returns the authorization request to redirect to */
async function startSignIn(
  ctx: Context,
  ports: PendingPorts,
  returnTo: string,
  asked?: AskedSignIn,
) {
  const target = returnTo.length > RETURN_TO_CHARACTERS_MAX ? areaPath(ctx.path) : returnTo
  const { pending, address } = await beginSignIn(target, ports.baseUrl, asked)
  ports.pending.keep(ctx, pending)
  return address
}

async function finishSignIn(ctx: Context, ports: SignedInPagesPorts, now: () => number) {
  const { baseUrl, handler, sessions } = ports
  const answer = new URLSearchParams(ctx.querystring)
  const pending = ports.pending.take(ctx)
  if (!pending) {
    // Another tab may have finished its own sign-in first, and removed the cookie.
    if (await sessions.find(ctx)) return seeOther(ctx, pages.account)
    throw signInIncomplete('the sign-in cookie is missing')
  }
  // Another tab may have overwritten the cookie. Redirect to the page of that tab, to restart its sign-in.
  if (answer.get('state') !== pending.state) return seeOther(ctx, pending.returnTo)
  const error = answer.get('error')
  if (error === 'access_denied') {
    // The person declined to sign in again, and is still signed in.
    if (await sessions.find(ctx)) return seeOther(ctx, areaPath(pending.returnTo))
    return sendPage(ctx, notePage('not-signed-in', pending.returnTo))
  }
  if (error === 'unmet_authentication_requirements') {
    const { returnTo } = pending
    const links = { add: inLink(pages.secondFactor), again: inLink(returnTo) }
    return sendPage(ctx, notePage('two-factors-needed', returnTo, links))
  }
  if (error !== null) throw signInIncomplete(error)
  try {
    const ownFetch = makeOwnFetch(handler(), ctx.ip)
    await sessions.begin(ctx, await completeSignIn(answer, pending, { baseUrl, ownFetch, now }))
  } catch (error) {
    // If the storage was unavailable, restore the cookie, so that reloading the page can succeed.
    if (isRefusal(error) && error.statusCode === 503) ports.pending.keep(ctx, pending)
    throw error
  }
  seeOther(ctx, pending.returnTo)
}
