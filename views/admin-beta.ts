import type { AreaPage } from './area.ts'
import { buttonForm } from './forms.ts'
import { type Html, html } from './html.ts'
import { text, timeOf } from './text.ts'

export interface BetaPage {
  readonly onSince: number | undefined
  readonly switchOnAction: string
  readonly switchOffHref: string
}

/** Explains the beta feature MCP connections, with a button or link to switch it on or off. */
export function betaPage(page: BetaPage): AreaPage {
  const { onSince } = page
  const on = onSince === undefined ? 'no' : 'yes'
  const time = onSince !== undefined && timeOf(onSince)
  return {
    title: text('adminNav.beta'),
    id: 'beta-page',
    body: html`<section class="card" aria-labelledby="mcp-connections">
<h2 id="mcp-connections">${text('beta.mcp')}</h2>
<p id="beta-state">${text('beta.state', { on, time })}</p>
<p>${text('beta.text')}</p>
${
  on === 'yes'
    ? html`<p><a id="switch-off" class="button second" href="${page.switchOffHref}">${text('beta.off')}</a></p>`
    : switchOnForm(page.switchOnAction)
}
</section>`,
  }
}

/** The button that switches MCP connections on. */
export function switchOnForm(action: string): Html {
  return buttonForm({ action }, 'switch-on', text('beta.on'))
}
