import { csrfField } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import type { PersonView } from './person-view.ts'
import { areaStylesheet } from './stylesheet.ts'

/** What surrounds every page for a signed-in person. */
export interface AreaView {
  /** What the area is, for people who cannot see where they are: "Your account". */
  readonly name: string
  readonly links: readonly AreaLink[]
  /** Where the sign-out is sent. */
  readonly signOutAction: string
  readonly person: PersonView
  /** The token that the form which signs out carries, and every other form of the page. */
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

/** A page of an area, with its navigation and the way out. */
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
  /** What will happen, in paragraphs or a list. */
  readonly consequences: Html
  readonly action: string
  readonly hidden?: readonly { readonly name: string; readonly value: string }[] | undefined
  /** What is asked beside the question. */
  readonly fields?: Html | undefined
  readonly confirm: string
  readonly cancelHref: string
}

/** Asks once before something that cannot be taken back, and says what will happen. */
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

/** A link to the rest of a list, and back to its beginning. */
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

/** Says that something was done, at the top of the page that shows it. */
export function resultNotice(sentence: string | undefined): Html | undefined {
  if (sentence === undefined) return undefined
  return html`<p class="notice done" id="done" role="status">${sentence}</p>`
}
