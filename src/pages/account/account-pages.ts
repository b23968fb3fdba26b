import type { Html } from '../../../views/html.ts'
import type { IconName } from '../../../views/icon.ts'
import { text } from '../../../views/text.ts'
import { findLookOfPerson, type Look, siteLook } from '../../directory/sites/site-look.ts'
import type { Actor } from '../../platform/audit/record-audit-event.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { type Answer, answerInArea } from '../relying-party/area-answer.ts'
import { actorOf, type PageSession } from '../relying-party/page-session.ts'
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

/** Creates the account router, and functions to declare its pages. `current` is the navigation link to highlight. */
export function makeAccountPages(ownPages: OwnPages) {
  const { database, signedInPages, now } = ownPages
  const router = makeRouter()
  /** @param shownAt the page to open after signing in again; undefined if an older sign-in suffices */
  const entering =
    (handler: AccountHandler, current: string, shownAt?: string): PageHandler =>
    async (ctx, session) => {
      if (shownAt !== undefined && !signedInPages.isFresh(session)) {
        return await signedInPages.signInAgain(ctx, session, shownAt)
      }
      const look = await findLookOfPerson(database, session.person.id)
      const answer = await handler({ ctx, session, actor: actorOf(ctx, session, now), look })
      const area = { ...areaOf(current), look: siteLook(ctx, look) }
      return answerInArea(ctx, session, area, answer)
    }
  return {
    ...ownPages,
    router,
    page(pattern: string, show: AccountHandler, current = pattern): void {
      router.get(pattern, signedInPages.page(entering(show, current)))
    },
    /** Declares a page that requires a recent sign-in. If the sign-in is older, the person must sign in again. */
    freshPage(pattern: string, current: string, show: AccountHandler): void {
      router.get(pattern, signedInPages.page(entering(show, current, pattern)))
    },
    /** Declares a form. Its CSRF token is checked before `answer` is called. */
    form(pattern: string, answer: AccountHandler): void {
      router.post(pattern, signedInPages.form(entering(answer, pattern)))
    },
    /** Declares a form that requires a recent sign-in. If the sign-in is older, the person must sign in again. */
    freshForm(pattern: string, shownAt: string, answer: AccountHandler): void {
      router.post(pattern, signedInPages.form(entering(answer, shownAt, shownAt)))
    },
  }
}

export type AccountPages = ReturnType<typeof makeAccountPages>

function areaOf(current: string) {
  const link = (href: string, label: Html, icon: IconName) => ({
    ...{ href, label, icon },
    current: href === current,
  })
  return {
    name: text('account.title'),
    groups: [
      {
        links: [
          link(pages.account, text('word.account'), 'circle-user'),
          link(pages.apps, text('account.apps'), 'layout-grid'),
          link(pages.notifications, text('account.notifications'), 'bell'),
          link(pages.data, text('nav.data'), 'download'),
        ],
      },
      {
        name: text('nav.security'),
        links: [
          link(pages.security, text('password.label'), 'key-round'),
          link(pages.passkeys, text('passkeys.title'), 'fingerprint-pattern'),
          link(pages.secondFactor, text('secondFactor.title'), 'smartphone'),
          link(pages.linkedIdentities, text('identities.title'), 'link'),
          link(pages.sessions, text('account.browsers'), 'monitor-smartphone'),
        ],
      },
    ],
  }
}
