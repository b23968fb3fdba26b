import { type AreaView, areaConfirmPage, areaPage, resultNotice } from './area.ts'
import { csrfField } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './time.ts'

/** Lists the sites that a person operates. */
export function adminSitesPage({
  area,
  sites,
}: {
  readonly area: AreaView
  readonly sites: readonly { readonly name: string; readonly href: string }[]
}): Page {
  return areaPage({
    title: 'Your sites',
    id: 'admin-sites-page',
    area,
    body: html`<h1>Which site?</h1>
<ul class="cards">
${sites.map(({ name, href }) => html`<li class="card"><a href="${href}"><bdi>${name}</bdi></a></li>\n`)}</ul>`,
  })
}

export interface AdminHomePage {
  readonly area: AreaView
  readonly siteName: string
  readonly betaHref: string
  readonly assistantsHref: string
  /** The page that lists applications; undefined if MCP connections are off. */
  readonly applicationsHref: string | undefined
  /** The page for reviewing clients; undefined if the service accepts no metadata documents. */
  readonly documentClientsHref: string | undefined
  readonly overviewHref: string
  readonly auditHref: string
  readonly queriesHref: string
  readonly resourceServersHref: string
  readonly selfSignUp: {
    readonly isOn: boolean
    readonly signUpHref: string
    /** The URL of the form that turns self sign-up on or off; undefined for people who must not do so. */
    readonly action: string | undefined
  }
  readonly done: string | undefined
}

/** The start page for operators of a site. */
export function adminHomePage(page: AdminHomePage): Page {
  const { area, siteName, applicationsHref, documentClientsHref } = page
  return areaPage({
    title: `Administer ${siteName}`,
    id: 'admin-page',
    area,
    body: html`<h1><bdi>${siteName}</bdi></h1>
${resultNotice(page.done)}
<h2>Developers</h2>
<ul class="links">
${link({
  href: page.assistantsHref,
  label: 'Connect assistants',
  what: 'Claude, ChatGPT, editors: for your members with one press each, and for yourself',
})}${
  applicationsHref !== undefined &&
  link({
    href: applicationsHref,
    label: 'OAuth applications',
    what: 'applications with which your members may use their own data',
  })
}${
  documentClientsHref !== undefined &&
  link({
    href: documentClientsHref,
    label: 'Self-declared clients',
    what: 'applications that describe themselves, and what you decided about them',
  })
}${link({
  href: page.queriesHref,
  label: 'Try the Admin API',
  what: 'queries about this site, in your browser',
})}${link({
  href: page.resourceServersHref,
  label: 'Resource servers',
  what: 'APIs and proxies of your own that take your members’ tokens',
})}${link({
  href: page.betaHref,
  label: 'Beta features',
  what: `MCP connections: ${applicationsHref === undefined ? 'off' : 'on'}`,
})}</ul>
<h2>Security</h2>
<ul class="links">
${link({
  href: page.overviewHref,
  label: 'The last 30 days',
  what: 'connected apps, people, calls, sign-ins and refusals, as pictures and numbers',
})}${link({ href: page.auditHref, label: 'Audit trail', what: 'who did what, when, and why' })}</ul>
${selfSignUpSection(page)}`,
  })
}

function selfSignUpSection({ area, selfSignUp }: AdminHomePage): Html {
  const { isOn, signUpHref, action } = selfSignUp
  return html`<h2>Self sign-up</h2>
<p id="sign-up-state"><strong>${isOn ? 'On' : 'Off'}</strong>. ${
    isOn
      ? html`Anyone can <a href="${signUpHref}">create an account</a> and join as a student.`
      : 'Only people whom an operator invites can join.'
  }</p>
${
  action !== undefined &&
  html`<form method="post" action="${action}">
${csrfField(area.csrf)}
<input type="hidden" name="on" value="${isOn ? 'no' : 'yes'}">
<div class="actions"><button id="switch-sign-up" type="submit" class="second">Switch self sign-up ${isOn ? 'off' : 'on'}</button></div>
</form>`
}`
}

function link({ href, label, what }: { href: string; label: string; what: string }): Html {
  return html`<li><a href="${href}">${label}</a> <span class="muted">${what}</span></li>
`
}

export interface BetaPage {
  readonly area: AreaView
  readonly siteName: string
  readonly onSince: number | undefined
  readonly switchOnAction: string
  readonly switchOffHref: string
  readonly applicationsHref: string
  readonly assistantsHref: string
  readonly done: string | undefined
}

/** Explains the beta feature MCP connections, with a button to switch it on or off. */
export function betaPage(page: BetaPage): Page {
  const on = page.onSince !== undefined
  return areaPage({
    title: 'Beta features',
    id: 'beta-page',
    area: page.area,
    body: html`<h1>Beta features</h1>
${resultNotice(page.done)}
<section class="card" aria-labelledby="mcp-connections">
<h2 id="mcp-connections">MCP connections</h2>
<p id="beta-state"><strong>${on ? 'On' : 'Off'}</strong>${page.onSince !== undefined && html` since ${timeOf(page.onSince)}`}</p>
<p>Lets applications act for your members. You create an application under <strong>OAuth
applications</strong>, choose what it may do, and give its maker the <code>client_id</code>. Each
member of <bdi>${page.siteName}</bdi>, students included, then decides alone whether to connect it, and
it reaches only the data of that person at your site.</p>
${
  on
    ? html`<p><a href="${page.assistantsHref}">Connect assistants</a> with one press each, or make
<a href="${page.applicationsHref}">OAuth applications</a> of your own.</p>
<p><a id="switch-off" class="button second" href="${page.switchOffHref}">Switch off…</a></p>`
    : html`<form method="post" action="${page.switchOnAction}">
${csrfField(page.area.csrf)}
<div class="actions"><button id="switch-on" type="submit">Switch MCP connections on</button></div>
</form>`
}
</section>`,
  })
}

export function switchOffPage(page: {
  readonly area: AreaView
  readonly siteName: string
  readonly action: string
  readonly cancelHref: string
}): Page {
  return areaConfirmPage({
    ...page,
    title: 'Switch MCP connections off?',
    id: 'switch-off-page',
    question: html`Switch MCP connections off?`,
    consequences: html`<p>Every OAuth application of <bdi>${page.siteName}</bdi> stops at once: its tokens
are refused, and people cannot connect it. Applications are kept, and so is what people allowed. When you switch
it on again, applications may use what was not removed meanwhile.</p>`,
    confirm: 'Switch off',
  })
}
