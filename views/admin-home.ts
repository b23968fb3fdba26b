import { type AreaView, areaConfirmPage, areaPage, type Confirmation, cards } from './area.ts'
import { buttonForm, type FormTarget } from './forms.ts'
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
    heading: 'Which site?',
    body: cards(sites.map(({ name, href }) => html`<a href="${href}"><bdi>${name}</bdi></a>`)),
  })
}

export interface AdminHomePage {
  readonly area: AreaView
  readonly siteName: string
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
  const { siteName } = page
  return areaPage({
    ...page,
    title: `Administer ${siteName}`,
    heading: html`<bdi>${siteName}</bdi>`,
    id: 'admin-page',
    body: html`${selfSignUpSection(page)}`,
  })
}

function selfSignUpSection({ area, selfSignUp }: AdminHomePage): Html {
  const { isOn, signUpHref, action } = selfSignUp
  const hidden = { on: isOn ? 'no' : 'yes' }
  const label = `Switch self sign-up ${isOn ? 'off' : 'on'}`
  return html`<h2>Self sign-up</h2>
<p id="sign-up-state"><strong>${isOn ? 'On' : 'Off'}</strong>. ${
    isOn
      ? html`Anyone can <a href="${signUpHref}">create an account</a> and join as a student.`
      : 'Only people whom an operator invites can join.'
  }</p>
${action !== undefined && buttonForm({ action, csrf: area.csrf, hidden }, 'switch-sign-up', label, 'second')}`
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
    ...page,
    title: 'Beta features',
    id: 'beta-page',
    body: html`<section class="card" aria-labelledby="mcp-connections">
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
    : switchOnForm({ action: page.switchOnAction, csrf: page.area.csrf })
}
</section>`,
  })
}

/** The button that switches MCP connections on. */
export function switchOnForm(target: FormTarget): Html {
  return buttonForm(target, 'switch-on', 'Switch MCP connections on')
}

export function switchOffPage(page: Confirmation & { readonly siteName: string }): Page {
  return areaConfirmPage({
    ...page,
    title: 'Switch MCP connections off?',
    id: 'switch-off-page',
    consequences: html`<p>Every OAuth application of <bdi>${page.siteName}</bdi> stops at once: its tokens
are refused, and people cannot connect it. Applications are kept, and so is what people allowed. When you switch
it on again, applications may use what was not removed meanwhile.</p>`,
    confirm: 'Switch off',
  })
}
