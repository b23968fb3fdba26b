import { type Pager, pager } from './area.ts'
import { type ConnectStepsView, connectSteps, snippet } from './connect-steps.ts'
import { inputField } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { copyScript } from './script.ts'
import type { SiteLook } from './site-look.ts'
import { inLink, listText, text } from './text.ts'

export interface ConnectPage {
  readonly sites: readonly { readonly name: string; readonly slug: string; readonly href: string }[]
  readonly pager: Pager
  /** The URL to which the form submits the slug of a site. */
  readonly action: string
  /** The submitted slug, if no site has it. */
  readonly unknown: string | undefined
  readonly adminHref: string
  readonly appsHref: string
}

/** Explains how to connect an assistant, and lists the sites. */
export function connectPage(page: ConnectPage): Page {
  return {
    title: text('account.connect'),
    id: 'connect-page',
    body: html`<p>${text('connect.intro', { a: inLink(page.appsHref) })}</p>
<h2>${text('siteChoice.heading')}</h2>
<ul class="links" id="sites">
${page.sites.map(({ name, slug, href }) => html`<li><a href="${href}"><bdi>${name}</bdi></a> <span class="muted">${slug}</span></li>\n`)}</ul>
${pager(page.pager)}
<form method="get" action="${page.action}">
${inputField({
  id: 'site',
  label: text('connect.slug'),
  problem: page.unknown && text('connect.unknown', { name: html`<bdi>${page.unknown}</bdi>` }),
  attributes: html` type="text" required maxlength="80" autocomplete="off" autocapitalize="none" spellcheck="false"`,
})}
<div class="actions"><button id="go" type="submit">${text('connect.show')}</button></div>
</form>
<h2>${text('connect.sentHere')}</h2>
<p>${text('connect.sentHereText')}</p>
<h2>${text('connect.operator')}</h2>
<p>${text('connect.operatorText', { a: inLink(page.adminHref) })}</p>`,
  }
}

export interface ConnectSitePage {
  readonly siteName: string
  /** The assistants that members of the site can connect. */
  readonly assistants: readonly ConnectStepsView[]
  /** Names of the other known assistants. */
  readonly others: readonly string[]
  /** The URL where an operator adds an assistant. */
  readonly operatorAddress: string
  /** Whether the service is reachable only from this computer. */
  readonly local: boolean
  readonly appsHref: string
  readonly look: SiteLook | undefined
}

/** Shows the members of a site how to connect an assistant. */
export function connectSitePage(page: ConnectSitePage): Page {
  const { siteName, assistants, look } = page
  return {
    title: text('connect.title', { site: html`<bdi>${siteName}</bdi>` }),
    id: 'connect-site-page',
    scripts: [copyScript],
    look,
    body: assistants.length > 0 ? admitted(page) : nothingYet(page),
  }
}

function admitted(page: ConnectSitePage): Html {
  const { assistants, local } = page
  return html`<p>${text('connect.choose', {
    site: html`<bdi>${page.siteName}</bdi>`,
    q: (question) => html`<q>${question}</q>`,
  })}</p>
<div class="assistants">
${assistants.map((steps) => connectSteps(steps, { local, open: assistants.length === 1 }))}</div>
<h2>${text('connect.may')}</h2>
<p>${text('connect.mayText', { a: inLink(page.appsHref) })}</p>
<h2>${text('connect.missing')}</h2>
${askTheOperator(page)}`
}

function nothingYet(page: ConnectSitePage): Html {
  return html`<p id="no-assistants">${text('connect.none', { site: html`<bdi>${page.siteName}</bdi>` })}</p>
<h2>${text('error.whatToDo')}</h2>
${askTheOperator(page)}`
}

function askTheOperator({ others, operatorAddress }: ConnectSitePage): Html {
  return html`<p>${text('connect.ask')}</p>
${snippet(text('connect.request', { url: operatorAddress }))}
${others.length > 0 && html`<p class="small">${text('connect.others', { others: listText(others.map((name) => html`<bdi>${name}</bdi>`)) })}</p>`}`
}
