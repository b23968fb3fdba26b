import { type ClientFrame, clientPage } from './admin-secrets.ts'
import { areaConfirmPage, type Confirmation, type ListView } from './area.ts'
import { foreignName } from './client-view.ts'
import type { GrantView } from './grant-view.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'
import { type Column, table } from './table.ts'
import { errorWords, timeOf } from './text.ts'

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
  const none = html`<p class="empty" id="no-people">No person has connected it.</p>`
  return clientPage(page, 'People', {
    ...page,
    id: 'people-page',
    body: html`${table('People', peopleColumns, people, { none, paging: page.pager })}
${people.length > 0 && html`<p><a id="remove-all" class="button danger" href="${page.removeAllHref}">End all access…</a></p>`}`,
  })
}

const peopleColumns: readonly Column<ConnectedPerson>[] = [
  {
    heading: 'Person',
    cell: ({ name, email }) =>
      html`${foreignName(name)}<br><span class="small"><bdi>${email}</bdi></span>`,
  },
  { heading: 'Access', cell: ({ mayChange }) => (mayChange ? 'see and change' : 'see') },
  { heading: 'Allowed', cell: ({ grantedAt }) => timeOf(grantedAt) },
  { heading: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt ? timeOf(lastUsedAt) : 'not yet') },
  { heading: 'Calls in 30 days', cell: ({ calls }) => calls.toLocaleString('en'), isNumber: true },
  {
    heading: 'Action',
    cell: ({ name, removeHref }) =>
      html`<a href="${removeHref}">End<span class="hidden"> the access to the account of <bdi>${name}</bdi></span>…</a>`,
  },
]

interface RefusalView {
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
  const none = html`<p class="empty" id="no-refusals">Nothing was refused yet.</p>`
  return clientPage(page, 'Refusals', {
    id: 'refusals-page',
    body: html`<p>The last ${page.kept} refused requests. Only you see the reason. The application sees only the error.</p>
${table('Refusals', refusalColumns, page.refusals, { none })}`,
  })
}

const refusalColumns: readonly Column<RefusalView>[] = [
  { heading: 'When', cell: ({ occurredAt }) => timeOf(occurredAt) },
  { heading: 'What happened', cell: ({ error }) => errorWords(error) },
  {
    heading: 'Reason',
    cell: ({ error, route, reason }) =>
      html`${reason}<br><span class="small"><code>${error}</code> at ${route}</span>`,
  },
  {
    heading: 'Error number',
    cell: ({ requestId }) => html`<code class="small">${requestId}</code>`,
  },
]

export interface ApplicationConfirmPage extends Confirmation {
  readonly name: string
  readonly people: number
}

export interface StopPage extends ApplicationConfirmPage {
  readonly kind: keyof typeof consequences
  readonly verb: 'Disable' | 'Delete'
}

/** Asks for confirmation before an application or resource server is disabled or deleted. */
export function stopPage({ name, people, kind, verb, ...page }: StopPage): Page {
  return areaConfirmPage({
    language: 'en',
    ...page,
    title: `${verb} this ${kind === 'site' ? 'application' : 'resource server'}?`,
    id: `${verb.toLowerCase()}-page`,
    heading: html`${verb} <bdi>${name}</bdi>?`,
    consequences: html`<p>${consequences[kind][verb](peopleWithAccess(people))}</p>`,
    confirm: verb === 'Disable' ? verb : 'Delete for good',
  })
}

const consequences = {
  site: {
    Disable: (people: string) => html`It stops at once for ${people}, and people cannot connect it.
When you enable it again, it continues with the access that people did not remove.`,
    Delete: (
      people: string,
    ) => html`It stops at once for ${people}, and all access ends. You cannot undo this. To
stop it for a while, disable it.`,
  },
  resource_server: {
    Disable:
      () => html`It can no longer check tokens, so requests to what it protects fail. When you enable it again, its
secrets work as before.`,
    Delete:
      () => html`It can no longer check tokens, so requests to what it protects fail. You cannot undo this. To stop it
for a while, disable it.`,
  },
}

export function endAllGrantsPage({ name, people, ...page }: ApplicationConfirmPage): Page {
  return areaConfirmPage({
    language: 'en',
    ...page,
    title: 'End all access?',
    id: 'end-all-page',
    heading: html`End all access by <bdi>${name}</bdi>?`,
    consequences: html`<p>Its tokens stop at once for ${peopleWithAccess(people)}. People may connect it
again.</p>`,
    confirm: 'End all access',
  })
}

export function endGrantPage({
  name,
  personName,
  ...page
}: Omit<ApplicationConfirmPage, 'people'> & { readonly personName: string }): Page {
  return areaConfirmPage({
    language: 'en',
    ...page,
    title: 'End this access?',
    id: 'end-access-page',
    heading: html`End the access to the account of <bdi>${personName}</bdi>?`,
    consequences: html`<p>${foreignName(name)} loses its access to the account of <bdi>${personName}</bdi> at
once. The person may connect it again.</p>`,
    confirm: 'End access',
  })
}

export function removeSecretPage({
  name,
  hint,
  ...page
}: Omit<ApplicationConfirmPage, 'people'> & { readonly hint: string }): Page {
  return areaConfirmPage({
    language: 'en',
    ...page,
    title: 'Remove this secret?',
    id: 'remove-secret-page',
    heading: html`Remove the secret that ends with <code>${hint}</code>?`,
    consequences: html`<p>${foreignName(name)} can no longer use it. Its tokens keep working.</p>`,
    confirm: 'Remove secret',
  })
}

function peopleWithAccess(people: number): string {
  if (people === 0) return 'all people (none has connected it yet)'
  return people === 1 ? 'the one person who connected it' : `the ${people} people who connected it`
}
