import { type FormTarget, postForm, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html, withForms, withoutTags } from './html.ts'
import { type IconName, icon } from './icon.ts'
import type { Page } from './layout.ts'
import type { PersonView } from './person-view.ts'
import type { SiteLook } from './site-look.ts'
import { type TextId, text } from './text.ts'

/** The area of a page for a signed-in person: the account, or the administration of a site. */
export interface AreaView {
  /** The name of the area for screen readers. */
  readonly name: HtmlValue
  readonly look: SiteLook | undefined
  /** The navigation. Its first entry is the link to the home page of the area. */
  readonly entries: readonly AreaEntry[]
  readonly hrefs: Hrefs<'account' | 'signOut'>
  readonly person: PersonView
  /** The path of the page. Forms are submitted to it by default, and the navigation marks the link to it. */
  readonly path: string
  /** The CSRF token for all forms of the page. */
  readonly csrf: string
}

/** The paths of other pages and of forms, by name. */
export type Hrefs<Name extends string> = Readonly<Record<Name, string>>

/** A link in the navigation of an area, or the heading of the links that follow. */
export type AreaEntry = TextId | AreaLink
type AreaLink = readonly [href: string, label: TextId, icon: IconName]

/** A page of an area, before `inArea` adds the navigation. Its forms get the path and CSRF token of `AreaView`. */
export interface AreaPage extends Omit<Page, 'navigation' | 'language' | 'leadsToClient' | 'look'> {
  /** The tabs of related pages, including this page. */
  readonly tabs?: readonly Tab[] | undefined
  /** The name of the tabs for screen readers, if it is not the title. */
  readonly tabsName?: HtmlValue
  /** A notice that an action succeeded. */
  readonly done?: HtmlValue
}

/** Adds the navigation of an area and a button to sign out. @param notice shown unless the page has its own */
export function inArea(page: AreaPage, area: AreaView, notice?: HtmlValue): Page {
  const { title, tabs, tabsName = title, done = notice, body } = page
  const whole = html`${tabs && tabBar(tabsName, tabs)}
${done !== undefined && html`<p class="notice done" id="done" role="status">${done}</p>`}
${body}`
  return {
    ...page,
    look: area.look,
    navigation: withForms(navigation(area), area),
    body: withForms(whole, area),
  }
}

export interface Tab {
  readonly label: HtmlValue
  readonly href: string
  readonly current: boolean
}

/** A row of links to related pages. @param name the name of the row for screen readers */
export function tabBar(name: HtmlValue, tabs: readonly Tab[]): Html {
  return html`<nav class="tabs" aria-label="${withoutTags(name)}">
${tabs.map((tab) => html`<a href="${tab.href}"${tab.current && html` aria-current="page"`}>${tab.label}</a>\n`)}</nav>`
}

/** The links of the area: a sidebar on a wide screen, and a menu on a narrow screen. Neither needs a script. */
function navigation({ name, entries, person, path, ...area }: AreaView): Html {
  const home = entries[0]?.[0]
  const isCurrent = (href: string) =>
    path === href || (href !== home && path.startsWith(`${href}/`))
  const groups: { readonly heading?: TextId; readonly links: AreaLink[] }[] = [{ links: [] }]
  for (const entry of entries) {
    if (typeof entry === 'string') groups.push({ heading: entry, links: [] })
    else groups.at(-1)?.links.push(entry)
  }
  const list = ({ heading, links }: (typeof groups)[number], index: number) =>
    html`${heading && html`<p class="muted" id="menu-${index}">${text(heading)}</p>\n`}<ul${heading && html` aria-labelledby="menu-${index}"`}>
${links.map(([href, label, symbol]) => html`<li><a href="${href}"${isCurrent(href) && html` aria-current="page"`}>${icon(symbol)}<bdi>${text(label)}</bdi></a></li>\n`)}</ul>
`
  const signOut = html`<a href="${area.hrefs.account}"><span class="hidden">${text('account.title')} </span><bdi>${person.name}</bdi></a>
<button id="sign-out" type="submit" class="second">${text('word.signOut')}</button>`
  return html`<nav class="area" aria-label="${name}">
<button type="button" class="menu second" popovertarget="menu">${text('layout.menu')}</button>
<div id="menu" popover>
${groups.map(list)}${postForm({ action: area.hrefs.signOut }, signOut)}
</div>
</nav>`
}

export interface ConfirmPage extends Pick<AreaPage, 'title' | 'id'>, FormTarget {
  /** Markup above the effect, such as a list of facts. */
  readonly details?: Html | undefined
  /** What the action does, as sentences. */
  readonly effect: HtmlValue
  readonly fields?: Html | undefined
  readonly confirm: HtmlValue
  readonly cancelHref: string
  /** Whether the action neither deletes nor ends anything, so its button does not need the danger color. */
  readonly isHarmless?: boolean
}

/** Creates a page that describes the effect of an action and asks for confirmation. */
export function confirmPage(page: ConfirmPage): AreaPage {
  const { title, id, details, effect, fields, confirm, cancelHref, isHarmless } = page
  const kind = isHarmless ? undefined : 'danger'
  const buttons = submitButton('confirm', confirm, { kind, cancelHref })
  return {
    ...{ title, id },
    body: html`${details}<p>${effect}</p>
${postForm(page, html`${fields}\n${buttons}`)}`,
  }
}

/** The data that all pages with paginated lists share. */
export interface ListView {
  readonly pager: Pager
}

/** Links to the next and the first page of a list. */
export interface Pager {
  readonly nextHref: string | undefined
  readonly firstHref: string | undefined
}

export function pager({ nextHref, firstHref }: Pager): Html | undefined {
  if (nextHref === undefined && firstHref === undefined) return undefined
  return html`<nav class="pager" aria-label="${text('layout.pages')}">
${firstHref !== undefined && html`<a id="first-page" href="${firstHref}">${text('layout.first')}</a>`}
${nextHref !== undefined && html`<a id="next-page" href="${nextHref}">${text('layout.next')}</a>`}
</nav>`
}

/** A list of cards, or `none` if it is empty, with links to its first and next page if `paging` is given. */
export function cards(items: readonly Html[], none?: HtmlValue, paging?: Pager): Html {
  const list = html`<ul class="cards">
${items.map((item) => html`<li class="card">${item}</li>\n`)}</ul>`
  return html`${items.length === 0 ? none : list}
${paging && pager(paging)}`
}

/** A list without bullets. */
export function plainList(items: readonly HtmlValue[]): Html {
  return html`<ul class="plain">
${items.map((item) => html`<li>${item}</li>\n`)}</ul>`
}
