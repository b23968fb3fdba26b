import { type ClientView, foreignName } from './client-view.ts'
import { choice, postForm, problemAlert, refusalForm } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { type PersonView, rolesPhrase } from './person-view.ts'

export interface SiteChoicePage {
  readonly action: string
  readonly csrf: string
  readonly client: ClientView
  readonly person: PersonView
  readonly sites: readonly SiteChoice[]
  /** The URL to which the refusal is submitted. */
  readonly deny: string
  /** The id of the site that the person chose before. */
  readonly selected?: string | undefined
  /** Why the last input was rejected, as a sentence. */
  readonly problem?: string | undefined
}

export interface SiteChoice {
  readonly id: string
  readonly name: string
  readonly roles: readonly string[]
}

/** Asks which of the person's sites the application may access. */
export function siteChoicePage(page: SiteChoicePage): Page {
  return {
    title: page.problem ? 'Choose a site: please try again' : 'Choose a site',
    id: 'site-page',
    body: html`<h1>Choose a site</h1>
<p>${foreignName(page.client.name)} will work with one of your sites, and reach none of the others.</p>
${problemAlert('site-problem', page.problem)}
${siteForm(page)}
${refusalForm(page)}
<p class="small">You are signed in as <bdi>${page.person.name}</bdi> (<bdi>${page.person.email}</bdi>).
The next page says what the application will be able to do.</p>`,
  }
}

function siteForm({ sites, selected, problem, ...page }: SiteChoicePage): Html {
  // Preselect no site on the first attempt, so people do not grant access to a site without reading.
  const described = problem !== undefined && html` aria-describedby="site-problem"`
  const fields = html`<fieldset${described}>
<legend>Your sites</legend>
${sites.map(({ id, name, roles }) =>
  choice(
    { type: 'radio', name: 'site', value: id, checked: id === selected },
    html`<strong><bdi>${name}</bdi></strong> <span class="muted">${rolesPhrase(roles)}</span>`,
  ),
)}
</fieldset>
<div class="actions">
<button id="site-submit" type="submit">Continue</button>
<button id="site-cancel" type="submit" form="refusal" class="second">Cancel and go back</button>
</div>`
  return postForm(page, fields)
}
