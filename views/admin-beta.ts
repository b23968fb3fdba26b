import { type AreaView, areaConfirmPage, areaPage, type Confirmation } from './area.ts'
import { buttonForm, type FormTarget } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { text, timeOf } from './text.ts'

export interface BetaPage {
  readonly area: AreaView
  readonly onSince: number | undefined
  readonly switchOnAction: string
  readonly switchOffHref: string
  readonly done: HtmlValue
}

/** Explains the beta feature MCP connections, with a button to switch it on or off. */
export function betaPage(page: BetaPage): Page {
  const { onSince } = page
  const on = onSince === undefined ? 'no' : 'yes'
  const time = onSince !== undefined && timeOf(onSince)
  return areaPage({
    ...page,
    title: text('adminNav.beta'),
    id: 'beta-page',
    body: html`<section class="card" aria-labelledby="mcp-connections">
<h2 id="mcp-connections">${text('beta.mcp')}</h2>
<p id="beta-state">${text('beta.state', { on, time })}</p>
<p>${text('beta.text')}</p>
${
  on === 'yes'
    ? html`<p><a id="switch-off" class="button second" href="${page.switchOffHref}">${text('beta.off')}</a></p>`
    : switchOnForm({ action: page.switchOnAction, csrf: page.area.csrf })
}
</section>`,
  })
}

/** The button that switches MCP connections on. */
export function switchOnForm(target: FormTarget): Html {
  return buttonForm(target, 'switch-on', text('beta.on'))
}

export function switchOffPage(page: Confirmation & { readonly siteName: string }): Page {
  return areaConfirmPage({
    ...page,
    title: text('beta.offTitle'),
    id: 'switch-off-page',
    consequences: html`<p>${text('beta.offText', { site: html`<bdi>${page.siteName}</bdi>` })}</p>`,
    confirm: text('beta.confirmOff'),
  })
}
