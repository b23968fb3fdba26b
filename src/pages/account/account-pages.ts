import { text } from '../../../views/text.ts'
import { findLookOfPerson, type Look, siteLook } from '../../directory/sites/site-look.ts'
import type { Actor } from '../../platform/audit/record-audit-event.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { type Answer, answerInArea } from '../relying-party/area-answer.ts'
import { type PageSession, pageActor } from '../relying-party/page-session.ts'
import type { OwnPages, PageContext, PageHandler } from '../relying-party/signed-in-pages.ts'

/** A signed-in person's request to open an account page or to submit a form on it. */
export interface Asked {
  readonly ctx: PageContext
  readonly session: PageSession
  readonly actor: Actor
  /** The appearance of the person's site; undefined unless the person belongs to exactly one site. */
  readonly look: Look | undefined
}

type AccountHandler = (asked: Asked) => Answer | Promise<Answer>

/** Creates the account router, and functions to declare its pages. */
export function makeAccountPages(ownPages: OwnPages) {
  const { database, signedInPages, now } = ownPages
  const router = makeRouter()
  /** @param shownAt the page to open after signing in again; undefined if an older sign-in suffices */
  const entering =
    (handler: AccountHandler, shownAt?: string): PageHandler =>
    async (ctx, session) => {
      if (shownAt !== undefined && !signedInPages.isFresh(session)) {
        return await signedInPages.signInAgain(ctx, session, shownAt)
      }
      const look = await findLookOfPerson(database, session.person.id)
      const answer = await handler({ ctx, session, actor: pageActor(ctx, session, now), look })
      const area = { name: text('account.title'), entries, look: siteLook(ctx, look) }
      return answerInArea(ctx, session, area, answer)
    }
  return {
    ...ownPages,
    router,
    page(pattern: string, show: AccountHandler): void {
      router.get(pattern, signedInPages.page(entering(show)))
    },
    /** Declares a page that requires a recent sign-in. If the sign-in is older, the person must sign in again. */
    freshPage(pattern: string, show: AccountHandler): void {
      router.get(pattern, signedInPages.page(entering(show, pattern)))
    },
    /** Declares a form. Its CSRF token is checked before `answer` is called. */
    form(pattern: string, answer: AccountHandler): void {
      router.post(pattern, signedInPages.form(entering(answer)))
    },
    /** Declares a form that requires a recent sign-in. If the sign-in is older, the person must sign in again. */
    freshForm(pattern: string, shownAt: string, answer: AccountHandler): void {
      router.post(pattern, signedInPages.form(entering(answer, shownAt)))
    },
  }
}

export type AccountPages = ReturnType<typeof makeAccountPages>

const entries = [
  [pages.account, 'word.account', 'circle-user'],
  [pages.apps, 'account.apps', 'layout-grid'],
  [pages.notifications, 'account.notifications', 'bell'],
  [pages.data, 'nav.data', 'download'],
  'nav.security',
  [pages.security, 'password.label', 'key-round'],
  [pages.passkeys, 'passkeys.title', 'fingerprint-pattern'],
  [pages.secondFactor, 'secondFactor.title', 'smartphone'],
  [pages.linkedIdentities, 'identities.title', 'link'],
  [pages.sessions, 'account.browsers', 'monitor-smartphone'],
] as const
