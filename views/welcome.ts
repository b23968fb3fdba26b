import { type LinkView, linkList } from './api-pages.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { inCode, inEnglish, text } from './text.ts'

export interface WelcomePage {
  readonly baseUrl: string
  readonly accountHref: string
  readonly connectHref: string
  readonly links: readonly LinkView[]
  /** The page with the messages of the demo. */
  readonly mailHref?: string | undefined
  /** Sample accounts, which only the demo has. */
  readonly demoPeople?: readonly DemoPerson[] | undefined
}

export type DemoPerson = Readonly<Record<'login' | 'password' | 'what', string>>

/** The page shown when the base URL of the service is opened in a browser. */
export function welcomePage(page: WelcomePage): Page {
  const { baseUrl, accountHref, connectHref, links, mailHref, demoPeople = [] } = page
  return {
    title: text('welcome.title'),
    id: 'welcome-page',
    body: html`<p>${text('welcome.intro')}</p>
<p>${text('welcome.where', {
      a: (name) => html`<a id="account" href="${accountHref}">${name}</a>`,
      c: (name) => html`<a id="connect" href="${connectHref}">${name}</a>`,
    })}</p>
<p>${text('welcome.address', { url: inCode(baseUrl) })}</p>
${links.length > 0 && html`<h2>${text('welcome.developers')}</h2>\n${linkList(links)}`}
${demoPeople.length > 0 && demo(demoPeople)}
${mailHref !== undefined && html`<p>${text('welcome.mail', { a: (name) => html`<a id="mail" href="${mailHref}">${name}</a>` })}</p>`}`,
  }
}

function demo(accounts: readonly DemoPerson[]): Html {
  return html`<h2>${text('welcome.accounts')}</h2>
<p class="small">${text('welcome.public')}</p>
<dl class="facts">
${accounts.map(
  ({ login, password, what }) => html`<div><dt>${inEnglish(what)}</dt>
<dd><code>${login}</code><br><span class="muted">${text('password.label')}</span> <code>${password}</code></dd></div>\n`,
)}</dl>`
}
