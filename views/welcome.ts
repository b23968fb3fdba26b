import { type LinkView, linkList } from './api-pages.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'

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
    title: 'Welcome',
    language: 'en',
    id: 'welcome-page',
    body: html`<h1>Welcome</h1>
<p>This service signs people in, and lets them connect applications to their account without giving
their password away. You usually get here from an application.</p>
<p>Your own applications and sites are under <a id="account" href="${accountHref}">Your account</a>.
Claude, ChatGPT or an editor can answer questions about your courses: <a id="connect" href="${connectHref}">connect an
assistant</a>.</p>
<p>Its address is <code>${baseUrl}</code></p>
${links.length > 0 && html`<h2>For people who build applications</h2>\n${linkList(links)}`}
${demoPeople.length > 0 && demo(demoPeople)}
${mailHref !== undefined && html`<p>This demo sends no mail: <a id="mail" href="${mailHref}">read its messages</a>.</p>`}`,
  }
}

function demo(accounts: readonly DemoPerson[]): Html {
  return html`<h2>Accounts of this demo</h2>
<p class="small">These are sample accounts. Their passwords are public.</p>
<dl class="facts">
${accounts.map(
  ({ login, password, what }) => html`<div><dt>${what}</dt>
<dd><code>${login}</code><br><span class="muted">password</span> <code>${password}</code></dd></div>\n`,
)}</dl>`
}
