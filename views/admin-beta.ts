import { type AreaView, areaConfirmPage, areaPage, type Confirmation } from './area.ts'
import { buttonForm, type FormTarget } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './text.ts'

export interface BetaPage {
  readonly area: AreaView
  readonly siteName: string
  readonly onSince: number | undefined
  readonly switchOnAction: string
  readonly switchOffHref: string
  readonly applicationsHref: string
  readonly assistantsHref: string
  readonly done: HtmlValue
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
