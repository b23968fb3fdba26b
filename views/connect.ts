import { type Pager, pager } from './area.ts'
import { type ConnectStepsView, connectSteps, snippet } from './connect-steps.ts'
import { inputField } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import type { SiteLook } from './site-look.ts'

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
    title: 'Connect an assistant',
    id: 'connect-page',
    body: html`<h1>Connect an assistant</h1>
<p>An assistant such as Claude, ChatGPT or an editor can answer questions about your courses, purchases and
notifications, once you let it. You connect it to one site, sign in there with your own account, and read what it
may see before you agree. It never learns your password, and you remove it at any time under
<a href="${page.appsHref}">Connected apps</a>.</p>
<h2>Choose your site</h2>
<form method="get" action="${page.action}">
${inputField({
  id: 'site',
  label: 'Short name of your site, as it stands in its address',
  problem: page.unknown === undefined ? undefined : `No site is called ${page.unknown} here.`,
  attributes: html` type="text" required maxlength="80" autocomplete="off" autocapitalize="none" spellcheck="false"`,
})}
<div class="actions"><button id="go" type="submit">Show how</button></div>
</form>
<ul class="links" id="sites">
${page.sites.map(({ name, slug, href }) => html`<li><a href="${href}"><bdi>${name}</bdi></a> <span class="muted">${slug}</span></li>\n`)}</ul>
${pager(page.pager)}
<h2>Did your assistant send you here?</h2>
<p>Then it asked for something that it can only have as an application of your site: your own data is for applications that
the people who run the site have added. Open the page of your site above. If it lists your assistant, follow the
steps there. If it does not, ask the operator of the site for a <code>client_id</code> for it.</p>
<h2>Do you run a site?</h2>
<p>Under <a href="${page.adminHref}">Administration</a>, <strong>Connect assistants</strong> makes what your members need with one
press, and says how you connect your own assistant to administer the site.</p>`,
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
    title: `Connect an assistant to ${siteName}`,
    id: 'connect-site-page',
    look,
    body: html`<h1>Connect an assistant to <bdi>${siteName}</bdi></h1>
${assistants.length > 0 ? admitted(page) : nothingYet(page)}`,
  }
}

function admitted({ siteName, assistants, local, appsHref, ...page }: ConnectSitePage): Html {
  return html`<p>Choose your assistant, do what stands there, and sign in once with the account that you have at
<bdi>${siteName}</bdi>. Then ask it, for instance: <q>Which of my courses end next month?</q></p>
<div class="assistants">
${assistants.map((steps) => connectSteps(steps, { local, open: assistants.length === 1 }))}</div>
<h2>What it may do</h2>
<p>It sees your courses, other purchases and notifications at this site, and marks notifications as read. It never sees your
password. You see it, and remove it, under <a href="${appsHref}">Connected apps</a>.</p>
<h2>Your assistant is not here?</h2>
${askTheOperator({ siteName, ...page })}`
}

function nothingYet(page: ConnectSitePage): Html {
  return html`<p id="no-assistants">No assistant can be connected to <bdi>${page.siteName}</bdi> yet: the people who run the site
have added none, or have switched it off.</p>
<h2>What you can do</h2>
${askTheOperator(page)}`
}

type Asking = Pick<ConnectSitePage, 'siteName' | 'others' | 'operatorAddress'>

function askTheOperator({ others, operatorAddress }: Asking): Html {
  return html`<p>Ask the operator of the site for it. This says what to do:</p>
${snippet(`Please let members connect their assistant: open ${operatorAddress} and add the one that I use.`)}
${others.length > 0 && html`<p class="small">One press is enough for ${others.join(', ')}. For any other that speaks MCP, the operator makes an OAuth application and tells you its client_id.</p>`}`
}
