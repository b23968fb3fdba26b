import { type ClientFrame, clientPage } from './admin-secrets.ts'
import { areaConfirmPage, type Confirmation, type ListView } from './area.ts'
import { foreignName } from './client-view.ts'
import type { GrantView } from './grant-view.ts'
import { type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
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
  readonly removeAllHref: string
}

/** Lists the people who connected an application. */
export function applicationPeoplePage(page: ApplicationPeoplePage): Page {
  const { people } = page
  const title = text('analytics.measures.people')
  const none = html`<p class="empty" id="no-people">${text('applications.noPeople')}</p>`
  return clientPage(page, title, {
    ...page,
    id: 'people-page',
    body: html`${table(title, peopleColumns, people, { none, paging: page.pager })}
${people.length > 0 && html`<p><a id="remove-all" class="button danger" href="${page.removeAllHref}">${text('applications.endAllLink')}</a></p>`}`,
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

/** Lists the latest refused requests of an application, with the full reasons. */
export function refusalsPage(page: RefusalsPage): Page {
  const title = text('analytics.measures.refusals')
  const none = html`<p class="empty" id="no-refusals">${text('applications.noRefusals')}</p>`
  return clientPage(page, title, {
    id: 'refusals-page',
    body: html`${page.refusals.length > 0 && html`<p>${text('applications.refusalsIntro', { kept: page.kept })}</p>`}
${table(title, refusalColumns, page.refusals, { none })}`,
  })
}

/** The columns of refusals, the time first. */
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

export interface ApplicationConfirmPage extends Confirmation {
  readonly name: string
  readonly people: number
}

export interface StopPage extends ApplicationConfirmPage {
  readonly kind: 'site' | 'resource_server'
  readonly verb: 'disable' | 'delete'
}

/** Asks for confirmation before an application or resource server is disabled or deleted. */
export function stopPage({ name, people, kind, verb, ...page }: StopPage): Page {
  const title = (app: HtmlValue) => text(`applications.${verb}.title`, { app })
  return areaConfirmPage({
    ...page,
    title: title(name),
    heading: title(html`<bdi>${name}</bdi>`),
    id: `${verb}-page`,
    consequences: html`<p>${text(`applications.${verb}.${kind}`, { people })}</p>`,
    confirm: text(`applications.${verb}`),
  })
}

export function endAllGrantsPage({ name, people, ...page }: ApplicationConfirmPage): Page {
  const title = (app: HtmlValue) => text('applications.endAll.title', { app })
  return areaConfirmPage({
    ...page,
    title: title(name),
    heading: title(html`<bdi>${name}</bdi>`),
    id: 'end-all-page',
    consequences: html`<p>${text('applications.endAll.effect', { people })}</p>`,
    confirm: text('applications.endAll'),
  })
}

export function endGrantPage({
  name,
  personName,
  ...page
}: Omit<ApplicationConfirmPage, 'people'> & { readonly personName: string }): Page {
  const title = (name: HtmlValue) => text('applications.end.title', { name })
  return areaConfirmPage({
    ...page,
    title: title(personName),
    heading: title(html`<bdi>${personName}</bdi>`),
    id: 'end-access-page',
    consequences: html`<p>${text('applications.end.effect', { app: foreignName(name) })}</p>`,
    confirm: text('applications.end'),
  })
}

export function removeSecretPage({
  name,
  hint,
  ...page
}: Omit<ApplicationConfirmPage, 'people'> & { readonly hint: string }): Page {
  return areaConfirmPage({
    ...page,
    title: text('secrets.remove.title', { hint }),
    heading: text('secrets.remove.title', { hint: inCode(hint) }),
    id: 'remove-secret-page',
    consequences: html`<p>${text('secrets.remove.effect', { app: foreignName(name) })}</p>`,
    confirm: text('secrets.remove'),
  })
}
