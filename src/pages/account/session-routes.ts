import type Router from 'koa-router'

import { sessionsPage } from '../../../views/account-sessions.ts'
import type { BrowserSessions, ChosenSessions } from '../../directory/people/browser-sessions.ts'
import { findLookOfPerson, siteLook } from '../../directory/sites/site-look.ts'
import type { SignOuts } from '../../oauth/authorization/sign-outs.ts'
import { endSessions } from '../../oauth/grants/end-access.ts'
import type { NoteEvent } from '../../platform/audit/record-audit-event.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { PageSession, Sessions } from '../relying-party/page-session.ts'
import type { OwnPages, PageContext } from '../relying-party/signed-in-pages.ts'
import { areaOf } from './query-routes.ts'

interface SessionsPorts {
  readonly sessions: Pick<Sessions, 'end'>
  readonly browserSessions: BrowserSessions
  readonly noteEvent: NoteEvent
  /** Notifies applications of sign-outs; undefined if back-channel logout is off. */
  readonly signOuts: Pick<SignOuts, 'browsersSignedOut'> | undefined
}

/** Creates the page that lists the browsers in which a person is signed in, and the forms that end these sessions. */
export function sessionRoutes(
  { database, signedInPages, now }: OwnPages,
  { sessions, browserSessions, noteEvent, signOuts }: SessionsPorts,
): Router {
  const router = makeRouter()
  router.get(
    pages.sessions,
    signedInPages.page(async (ctx, session) => {
      const { person, browser } = session
      const listed = await browserSessions.list(person)
      const page = sessionsPage({
        area: areaOf(session, pages.sessions),
        sessions: listed.map((each) => ({ ...each, current: each.id === browser.id })),
        endAction: pages.endSession,
        endOthersAction: pages.endOtherSessions,
        everywhereHref: pages.signOutEverywhere,
        appsHref: pages.apps,
        done: noticeOf(ctx, {
          ended: 'That browser is signed out.',
          'others-ended': 'All other browsers are signed out.',
        }),
      })
      return { ...page, look: siteLook(await findLookOfPerson(database, person.id)) }
    }),
  )
  const end = async (ctx: PageContext, { person }: PageSession, chosen: ChosenSessions) => {
    // Notify applications first: if that fails, the person can repeat the request.
    await signOuts?.browsersSignedOut(person.id, chosen)
    if ((await browserSessions.end(person.id, chosen)) === 0) return
    noteEvent({ action: 'sign_out.others', personId: person.id, ...callerOf(ctx) })
  }
  router.post(
    pages.endSession,
    signedInPages.form(async (ctx, session) => {
      await end(ctx, session, { id: formField(ctx, 'session'), others: false })
      // The response is the same for a session that has already ended or belongs to another person.
      return `${pages.sessions}?done=ended`
    }),
  )
  router.post(
    pages.endOtherSessions,
    signedInPages.form(async (ctx, session) => {
      await end(ctx, session, { id: session.browser.id, others: true })
      return `${pages.sessions}?done=others-ended`
    }),
  )
  router.post(
    pages.signOutEverywhere,
    signedInPages.form(async (ctx, { person: { id: personId } }) => {
      await endSessions(database.kysely, [personId], now())
      noteEvent({ action: 'sign_out.everywhere', personId, ...callerOf(ctx) })
      await sessions.end(ctx)
      return pages.signedOutEverywhere
    }),
  )
  return router
}
