import {
  type AreaView,
  areaConfirmPage,
  areaPage,
  type Confirmation,
  cards,
  type ListView,
} from './area.ts'
import { foreignName } from './client-view.ts'
import { type GrantView, grantFacts } from './grant-view.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './time.ts'

export interface ApplicationPeoplePage extends ListView {
  readonly name: string
  readonly people: readonly (GrantView & {
    readonly name: string
    readonly email: string
    readonly removeHref: string
  })[]
  readonly removeAllHref: string
  readonly backHref: string
}

/** Lists the people who connected an application. */
export function applicationPeoplePage(page: ApplicationPeoplePage): Page {
  const { name } = page
  const people = page.people.map(
    (person) => html`<h2>${foreignName(person.name)}</h2>
<p class="muted"><bdi>${person.email}</bdi></p>
<dl class="facts">${grantFacts(person)}</dl>
<p><a class="button second" href="${person.removeHref}">End<span class="hidden"> the access to the account of <bdi>${person.name}</bdi></span>…</a></p>`,
  )
  const removeAll = html`<p><a id="remove-all" class="button second" href="${page.removeAllHref}">End everybody’s access…</a></p>`
  const none = html`<p id="no-people">No person has connected it.</p>`
  return areaPage({
    ...page,
    title: `Who connected ${name}`,
    heading: html`Who connected <bdi>${name}</bdi>`,
    id: 'people-page',
    back: { href: page.backHref, name },
    body: html`${people.length > 0 && removeAll}
${cards(people, none, page.pager)}`,
  })
}

export interface RefusalsPage {
  readonly area: AreaView
  readonly name: string
  readonly backHref: string
  readonly refusals: readonly {
    readonly occurredAt: number
    readonly route: string
    readonly error: string
    readonly reason: string | undefined
    readonly requestId: string
  }[]
  readonly kept: number
}

/** Lists the latest refused requests of an application, with the full reasons. */
export function refusalsPage({ area, name, backHref, refusals, kept }: RefusalsPage): Page {
  const listed = refusals.map(
    ({
      occurredAt,
      route,
      error,
      reason,
      requestId,
    }) => html`<strong><code>${error}</code></strong> <span class="muted">at ${route}</span><br>
${reason !== undefined && html`${reason}<br>`}
<span class="small">${timeOf(occurredAt)}, error number <code>${requestId}</code></span>`,
  )
  return areaPage({
    title: `Refusals of ${name}`,
    heading: 'Refusals',
    id: 'refusals-page',
    area,
    back: { href: backHref, name },
    body: html`<p>What this service refused to <bdi>${name}</bdi>: the last ${kept}, a few seconds after they happen. The
reason is for you; the application is told the error only.</p>
${cards(listed, html`<p id="no-refusals">Nothing was refused yet.</p>`)}`,
  })
}

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
    ...page,
    title: `${verb} this ${kind === 'site' ? 'application' : 'resource server'}?`,
    id: `${verb.toLowerCase()}-page`,
    heading: html`${verb} <bdi>${name}</bdi>?`,
    consequences: html`<p>${consequences[kind][verb](everybody(people))}</p>`,
    confirm: verb === 'Disable' ? verb : 'Delete for good',
  })
}

const consequences = {
  site: {
    Disable: (
      people: string,
    ) => html`It stops at once for ${people}: its tokens are refused, and people cannot
connect it. Its settings are kept, and so is what people allowed. When you enable it again, it may use
what was not removed meanwhile.`,
    Delete: (people: string) => html`It stops at once for ${people}, all access ends, and its
<code>client_id</code> is never used again. This cannot be taken back; to stop it for a while, disable
it.`,
  },
  resource_server: {
    Disable:
      () => html`It is told of no token any more from now on, so that what it protects is closed to everybody.
Tokens are not touched, and its secrets work again when you enable it.`,
    Delete:
      () => html`It is told of no token any more, so that what it protects is closed to everybody, and its
<code>client_id</code> is never used again. This cannot be taken back; to stop it for a while, disable it.`,
  },
}

export function endAllGrantsPage({ name, people, ...page }: ApplicationConfirmPage): Page {
  return areaConfirmPage({
    ...page,
    title: "End everybody's access?",
    id: 'end-all-page',
    heading: html`End everybody’s access by <bdi>${name}</bdi>?`,
    consequences: html`<p>Its tokens stop at once for ${everybody(people)}. Everybody may connect it
again.</p>`,
    confirm: "End everybody's access",
  })
}

export function endGrantPage({
  name,
  personName,
  ...page
}: Omit<ApplicationConfirmPage, 'people'> & { readonly personName: string }): Page {
  return areaConfirmPage({
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
    ...page,
    title: 'Remove this secret?',
    id: 'remove-secret-page',
    heading: html`Remove the secret that ends with <code>${hint}</code>?`,
    consequences: html`<p>${foreignName(name)} cannot use it any more from now on. Tokens that it has are not
touched.</p>`,
    confirm: 'Remove secret',
  })
}

function everybody(people: number): string {
  if (people === 0) return 'everybody (no person has connected it yet)'
  return people === 1 ? 'the one person who connected it' : `the ${people} people who connected it`
}
