import { type Pager, pager } from './area.ts'
import { type ConnectStepsView, connectSteps, snippet } from './connect-steps.ts'
import { inputField } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { copyScript } from './script.ts'
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
    language: 'en',
    id: 'connect-page',
    body: html`<h1>Connect an assistant</h1>
<p>An assistant, such as Claude or ChatGPT, can answer questions about your courses. You decide what it may see, and can
remove it under <a href="${page.appsHref}">Connected apps</a>. It never learns your password.</p>
<h2>Choose your school</h2>
<form method="get" action="${page.action}">
${inputField({
  id: 'site',
  label: 'Short name of your school, as in its address',
  problem: page.unknown === undefined ? undefined : `No site is called ${page.unknown} here.`,
  attributes: html` type="text" required maxlength="80" autocomplete="off" autocapitalize="none" spellcheck="false"`,
})}
<div class="actions"><button id="go" type="submit">Show how</button></div>
</form>
<ul class="links" id="sites">
${page.sites.map(({ name, slug, href }) => html`<li><a href="${href}"><bdi>${name}</bdi></a> <span class="muted">${slug}</span></li>\n`)}</ul>
${pager(page.pager)}
<h2>Did your assistant send you here?</h2>
<p>Only assistants that your school added can see your data. Open your school above, and follow the steps. If your assistant
is missing, ask the school for a <code>client_id</code>.</p>
<h2>Do you run a school?</h2>
<p>Add assistants for your members, or connect your own, in the <a href="${page.adminHref}">administration</a>.</p>`,
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
    language: 'en',
    id: 'connect-site-page',
    scripts: [copyScript],
    look,
    body: html`<h1>Connect an assistant to <bdi>${siteName}</bdi></h1>
${assistants.length > 0 ? admitted(page) : nothingYet(page)}`,
  }
}

function admitted({ siteName, assistants, local, appsHref, ...page }: ConnectSitePage): Html {
  return html`<p>Choose your assistant, follow its steps, and sign in with your account at <bdi>${siteName}</bdi>. Then ask it:
<q>Which of my courses end next month?</q></p>
<div class="assistants">
${assistants.map((steps) => connectSteps(steps, { local, open: assistants.length === 1 }))}</div>
<h2>What it may do</h2>
<p>It sees your courses, other purchases and notifications at this school, and marks notifications as read. You can remove it
under <a href="${appsHref}">Connected apps</a>.</p>
<h2>Your assistant is not here?</h2>
${askTheOperator({ siteName, ...page })}`
}

function nothingYet(page: ConnectSitePage): Html {
  return html`<p id="no-assistants"><bdi>${page.siteName}</bdi> has not added an assistant yet.</p>
<h2>What you can do</h2>
${askTheOperator(page)}`
}

type Asking = Pick<ConnectSitePage, 'siteName' | 'others' | 'operatorAddress'>

function askTheOperator({ others, operatorAddress }: Asking): Html {
  return html`<p>Send this to the people who run the school:</p>
${snippet(`Please let members connect their assistant: open ${operatorAddress} and add the one that I use.`)}
${others.length > 0 && html`<p class="small">They can add ${others.join(', ')} with one press. For others, they create an OAuth application and give you its client_id.</p>`}`
}
