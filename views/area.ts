import { csrfField } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import type { PersonView } from './person-view.ts'
import { areaStylesheet } from './stylesheet.ts'

/** The area of a page for a signed-in person: the account, or the administration of a site. */
export interface AreaView {
  /** The name of the area for screen readers. */
  readonly name: string
  readonly links: readonly AreaLink[]
  readonly signOutAction: string
  readonly person: PersonView
  /** The CSRF token for all forms of the page. */
  readonly csrf: string
}

export interface AreaLink {
  readonly href: string
  readonly label: string
  readonly current: boolean
}

export interface AreaPage {
  readonly title: string
  readonly id: string
  readonly area: AreaView
  readonly body: Html
}

/** Creates a page with the navigation of its area and a button to sign out. */
export function areaPage({ title, id, area, body }: AreaPage): Page {
  return {
    title,
    id,
    stylesheet: areaStylesheet,
    navigation: html`<nav class="area" aria-label="${area.name}">
<ul>
${area.links.map(areaLink)}</ul>
<form method="post" action="${area.signOutAction}">
${csrfField(area.csrf)}
<span class="muted"><bdi>${area.person.name}</bdi></span>
<button id="sign-out" type="submit" class="second">Sign out</button>
</form>
</nav>`,
    body,
  }
}

function areaLink({ href, label, current }: AreaLink): Html {
  return html`<li><a href="${href}"${current && html` aria-current="page"`}><bdi>${label}</bdi></a></li>
`
}

export interface AreaConfirmPage {
  readonly title: string
  readonly id: string
  readonly area: AreaView
  readonly question: Html
  /** What the action will do, as paragraphs or a list. */
  readonly consequences: Html
  readonly action: string
  readonly hidden?: readonly { readonly name: string; readonly value: string }[] | undefined
  /** Additional fields of the form. */
  readonly fields?: Html | undefined
  readonly confirm: string
  readonly cancelHref: string
}

/** Creates a page that describes the consequences of an action and asks for confirmation. */
export function areaConfirmPage(page: AreaConfirmPage): Page {
  return areaPage({
    ...page,
    body: html`<h1>${page.question}</h1>
${page.consequences}
<form method="post" action="${page.action}">
${csrfField(page.area.csrf)}
${page.hidden?.map(({ name, value }) => html`<input type="hidden" name="${name}" value="${value}">\n`)}
${page.fields}
<div class="actions">
<button id="confirm" type="submit" class="danger">${page.confirm}</button>
<a id="cancel" class="button second" href="${page.cancelHref}">Cancel</a>
</div>
</form>`,
  })
}

/** Links to the next and the first page of a list. */
export interface Pager {
  readonly nextHref: string | undefined
  readonly firstHref: string | undefined
}

export function pager({ nextHref, firstHref }: Pager): Html | undefined {
  if (nextHref === undefined && firstHref === undefined) return undefined
  return html`<nav class="pager" aria-label="Pages">
${firstHref !== undefined && html`<a id="first-page" href="${firstHref}">Back to the beginning</a>`}
${nextHref !== undefined && html`<a id="next-page" href="${nextHref}">Show more</a>`}
</nav>`
}

/** A notice that an action succeeded, for the top of the next page. */
export function resultNotice(sentence: string | undefined): Html | undefined {
  if (sentence === undefined) return undefined
  return html`<p class="notice done" id="done" role="status">${sentence}</p>`
}
