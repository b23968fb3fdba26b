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
    language: 'en',
    ...page,
    title: 'Beta features',
    id: 'beta-page',
    body: html`<section class="card" aria-labelledby="mcp-connections">
<h2 id="mcp-connections">MCP connections</h2>
<p id="beta-state"><strong>${on ? 'On' : 'Off'}</strong>${page.onSince !== undefined && html` since ${timeOf(page.onSince)}`}</p>
<p>Apps can act for members of <bdi>${page.siteName}</bdi>. Each member decides which to connect, and an app reaches only
the data of that member.</p>
${
  on
    ? html`<p><a href="${page.assistantsHref}">Connect assistants</a>, or add your own <a href="${page.applicationsHref}">OAuth applications</a>.</p>
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
    language: 'en',
    ...page,
    title: 'Switch MCP connections off?',
    id: 'switch-off-page',
    consequences: html`<p>All OAuth applications of <bdi>${page.siteName}</bdi> stop at once, and people cannot connect
them. When you switch it on again, they continue with the access that people did not remove.</p>`,
    confirm: 'Switch off',
  })
}
