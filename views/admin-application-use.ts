import { type ClientFrame, clientPage } from './admin-secrets.ts'
import type { AreaPage, ListView } from './area.ts'
import { foreignName } from './client-view.ts'
import type { GrantView } from './grant-view.ts'
import { html } from './html.ts'
import { type Column, table } from './table.ts'
import { errorWords, inCode, inEnglish, numberText, text, timeOf } from './text.ts'

interface ConnectedPerson extends Pick<GrantView, 'grantedAt' | 'lastUsedAt' | 'calls'> {
  readonly name: string
  readonly mayChange: boolean
  readonly email: string
  readonly removeHref: string
}

export interface ApplicationPeoplePage extends ClientFrame, ListView {
  readonly people: readonly ConnectedPerson[]
}

/** Lists the people who connected an application. */
export function applicationPeoplePage(page: ApplicationPeoplePage): AreaPage {
  const { people } = page
  const title = text('analytics.measures.people')
  const none = html`<p class="empty" id="no-people">${text('applications.noPeople')}</p>`
  return clientPage(page, title, {
    id: 'people-page',
    body: html`${table(title, peopleColumns, people, { none, paging: page.pager })}
${people.length > 0 && html`<p><a id="remove-all" class="button danger" href="${page.href}/people/end-all">${text('applications.endAllLink')}</a></p>`}`,
  })
}

const peopleColumns: readonly Column<ConnectedPerson>[] = [
  {
    heading: text('word.person'),
    cell: ({ name, email }) =>
      html`${foreignName(name)}<br><span class="small"><bdi>${email}</bdi></span>`,
  },
  {
    heading: text('applications.access'),
    cell: ({ mayChange }) => text(mayChange ? 'applications.changes' : 'applications.sees'),
  },
  { heading: text('grant.since'), cell: ({ grantedAt }) => timeOf(grantedAt) },
  {
    heading: text('word.lastUsed'),
    cell: ({ lastUsedAt }) => (lastUsedAt ? timeOf(lastUsedAt) : text('grant.notYet')),
  },
  {
    heading: text('applications.calls'),
    cell: ({ calls }) => numberText(calls),
    isNumber: true,
  },
  {
    heading: text('word.action'),
    cell: ({ name, removeHref }) =>
      html`<a href="${removeHref}">${text('applications.endLink', { name: html`<bdi>${name}</bdi>` })}</a>`,
  },
]

export interface RefusalView {
  readonly occurredAt: number
  readonly route: string
  readonly error: string
  readonly reason: string | undefined
  readonly requestId: string
}

export interface RefusalsPage extends ClientFrame {
  readonly refusals: readonly RefusalView[]
  readonly kept: number
}

/** Lists the latest refused requests from an application, with the full reasons. */
export function refusalsPage(page: RefusalsPage): AreaPage {
  const title = text('analytics.measures.refusals')
  const none = html`<p class="empty" id="no-refusals">${text('applications.noRefusals')}</p>`
  return clientPage(page, title, {
    id: 'refusals-page',
    body: html`${page.refusals.length > 0 && html`<p>${text('applications.refusalsIntro', { kept: page.kept })}</p>`}
${table(title, refusalColumns, page.refusals, { none })}`,
  })
}

/** The columns of a table of refusals, with the time first. */
export const refusalColumns: readonly [Column<RefusalView>, ...Column<RefusalView>[]] = [
  { heading: text('applications.when'), cell: ({ occurredAt }) => timeOf(occurredAt) },
  { heading: text('applications.happened'), cell: ({ error }) => errorWords(error) },
  {
    heading: text('analytics.reason'),
    cell: ({ error, route, reason }) =>
      html`${reason && inEnglish(reason)}<br><span class="small">${text('applications.at', { error: inCode(error), route: inCode(route) })}</span>`,
  },
  {
    heading: text('error.number'),
    cell: ({ requestId }) => html`<code class="small">${requestId}</code>`,
  },
]
