import { type AreaPage, cards, type Hrefs } from './area.ts'
import { buttonForm, postForm } from './forms.ts'
import { type Html, html } from './html.ts'
import { deviceText, inLink, text, timeOf } from './text.ts'

export interface SessionView {
  readonly id: string
  /** The browser and system, such as `Firefox on Windows`. */
  readonly device: string
  /** The network, shortened as configured; null if the service does not store it. */
  readonly network: string | null
  readonly startedAt: number
  readonly seenAt: number
  /** Whether this is the session of the browser that shows the page. */
  readonly current: boolean
}

export interface SessionsPage {
  readonly sessions: readonly SessionView[]
  readonly hrefs: Hrefs<'apps' | 'endOtherSessions' | 'endSession' | 'signOutEverywhere'>
}

/** Lists the browsers in which a person is signed in, with buttons that sign out the other browsers. */
export function sessionsPage(page: SessionsPage): AreaPage {
  const { sessions, hrefs } = page
  const others = { action: hrefs.endOtherSessions }
  return {
    title: text('sessions.title'),
    id: 'sessions-page',
    body: html`<p>${text('sessions.intro', { a: inLink(hrefs.apps) })}</p>
${cards(sessions.map((session) => sessionCard(session, hrefs.endSession)))}
${sessions.length > 1 && buttonForm(others, 'end-others', text('sessions.endOthers'), 'second')}
<p><a href="${hrefs.signOutEverywhere}">${text('sessions.everywhere')}</a></p>`,
  }
}

function sessionCard(session: SessionView, action: string): Html {
  const { id, network, startedAt, seenAt, current } = session
  const device = deviceText(session.device)
  const form = { action, hidden: { session: id } }
  const end = html`<button type="submit" class="second">${text('word.signOut')} <span class="hidden">${device}</span></button>`
  return html`<h2>${device}</h2>
${current && html`<p class="muted">${text('sessions.this')}</p>`}
<dl class="facts">
${network !== null && html`<div><dt>${text('sessions.network')}</dt><dd>${network}</dd></div>`}
<div><dt>${text('sessions.signedIn')}</dt><dd>${timeOf(startedAt)}</dd></div>
<div><dt>${text('word.lastUsed')}</dt><dd>${timeOf(seenAt)}</dd></div>
</dl>
${!current && postForm(form, end)}`
}
