import { sessionsPage } from '../../../views/account-sessions.ts'
import { confirmPage } from '../../../views/area.ts'
import { notePage } from '../../../views/note-page.ts'
import { text } from '../../../views/text.ts'
import type { BrowserSessions, ChosenSessions } from '../../directory/people/browser-sessions.ts'
import type { SignOuts } from '../../oauth/authorization/sign-outs.ts'
import { endSessions } from '../../oauth/grants/end-access.ts'
import type { NoteEvent } from '../../platform/audit/record-audit-event.ts'
import { sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { enginePages, pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import type { PageSession, Sessions } from '../relying-party/page-session.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AccountPages } from './account-pages.ts'

interface SessionsPorts {
  readonly sessions: Pick<Sessions, 'end'>
  readonly browserSessions: BrowserSessions
  readonly noteEvent: NoteEvent
  /** Notifies applications of sign-outs; undefined if back-channel logout is off. */
  readonly signOuts: Pick<SignOuts, 'browsersSignedOut'> | undefined
}

/** Creates the pages that list the browsers in which a person is signed in, and the forms that end these sessions. */
export function sessionRoutes(
  { database, now, router, page, form }: AccountPages,
  { sessions, browserSessions, noteEvent, signOuts }: SessionsPorts,
): void {
  page(pages.sessions, async ({ session: { person, browser } }) => {
    const listed = await browserSessions.list(person)
    return sessionsPage({
      sessions: listed.map((each) => ({ ...each, current: each.id === browser.id })),
      hrefs: pages,
    })
  })
  const end = async (ctx: PageContext, { person }: PageSession, chosen: ChosenSessions) => {
    // Notify applications first: if the notification fails, the person can repeat the request.
    await signOuts?.browsersSignedOut(person.id, chosen)
    if ((await browserSessions.end(person.id, chosen)).length === 0) return
    noteEvent({ action: 'sign_out.others', personId: person.id, ...callerOf(ctx) })
  }
  form(pages.endSession, async ({ session, ctx }) => {
    await end(ctx, session, { id: formField(ctx, 'session'), others: false })
    // The response is the same for a session that has already ended or belongs to another person.
    return `${pages.sessions}?done=ended`
  })
  form(pages.endOtherSessions, async ({ session, ctx }) => {
    await end(ctx, session, { id: session.browser.id, others: true })
    return `${pages.sessions}?done=others-ended`
  })
  form(pages.signOut, async ({ session: { person, browser }, ctx }) => {
    const chosen = { id: browser.id, others: false }
    await signOuts?.browsersSignedOut(person.id, chosen)
    await browserSessions.end(person.id, chosen)
    noteEvent({ action: 'sign_out.browser', personId: person.id, ...callerOf(ctx) })
    await sessions.end(ctx)
    return enginePages.signedOut
  })
  page(pages.signOutEverywhere, () =>
    confirmPage({
      id: 'sign-out-everywhere-page',
      title: text('everywhere.title'),
      effect: text('everywhere.text'),
      confirm: text('everywhere.confirm'),
      cancelHref: pages.sessions,
    }),
  )
  form(pages.signOutEverywhere, async ({ session: { person }, ctx }) => {
    await endSessions(database.kysely, [person.id], now())
    noteEvent({ action: 'sign_out.everywhere', personId: person.id, ...callerOf(ctx) })
    await sessions.end(ctx)
    return pages.signedOutEverywhere
  })
  // This page needs no session, because the browser is already signed out.
  router.get(pages.signedOutEverywhere, (ctx) => {
    sendPage(ctx, notePage('signed-out-everywhere', pages.account))
  })
}
