import { foreignName, type PromptView } from './client-view.ts'
import { choice, postForm, problemAlert, refusalForm } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { type PersonView, rolesPhrase } from './person-view.ts'
import { text } from './text.ts'

export interface SiteChoicePage extends PromptView {
  readonly person: PersonView
  readonly sites: readonly SiteChoice[]
  /** Why the last input was rejected, as a sentence. */
  readonly problem?: HtmlValue
}

export interface SiteChoice {
  readonly id: string
  readonly name: HtmlValue
  readonly roles: readonly string[]
}

/** Asks which of the person's sites the application may access. */
export function siteChoicePage(page: SiteChoicePage): Page {
  return {
    title: text('siteChoice.heading'),
    isWrong: page.problem !== undefined,
    id: 'site-page',
    body: html`<p>${text('siteChoice.intro', { app: foreignName(page.client.name) })}</p>
${problemAlert('site-problem', page.problem)}
${siteForm(page)}
${refusalForm(page)}
<p class="small">${text('siteChoice.signedInAs', { name: html`<bdi>${page.person.name}</bdi>`, email: html`<bdi>${page.person.email}</bdi>` })}</p>`,
  }
}

function siteForm({ sites, problem, ...page }: SiteChoicePage): Html {
  // Preselect no site, so people do not grant access to a site without reading.
  const described = problem !== undefined && html` aria-describedby="site-problem"`
  const fields = html`<fieldset${described}>
<legend>${text('account.sites')}</legend>
${sites.map(({ id, name, roles }) =>
  choice(
    { type: 'radio', name: 'site', value: id },
    html`<strong><bdi>${name}</bdi></strong> <span class="muted">${rolesPhrase(roles)}</span>`,
  ),
)}
</fieldset>
<div class="actions">
<button id="site-submit" type="submit">${text('word.continue')}</button>
<button id="site-cancel" type="submit" form="refusal" class="second">${text('signIn.cancel')}</button>
</div>`
  return postForm(page, fields)
}
