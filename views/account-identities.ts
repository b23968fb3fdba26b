import { type AreaView, areaPage, cards } from './area.ts'
import { postForm, problemAlert } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { text, timeOf } from './text.ts'

interface IdentityView {
  readonly providerId: string
  readonly providerName: string
  readonly issuer: string
  readonly subject: string
  /** The only site at which the provider is trusted; null for a provider of the platform. */
  readonly siteName: HtmlValue
  readonly linkedAt: number
  readonly usedAt: number
}

export interface IdentitiesPage {
  readonly area: AreaView
  readonly identities: readonly IdentityView[]
  readonly removeAction: string
  readonly passkeysHref: string
  readonly done: HtmlValue
  readonly problem: HtmlValue
}

/** Lists the linked identities of a person, with forms that remove them. */
export function identitiesPage(page: IdentitiesPage): Page {
  const { identities, passkeysHref, problem } = page
  return areaPage({
    ...page,
    title: text('identities.title'),
    id: 'identities-page',
    body: html`${problemAlert('form-problem', problem)}
<p>${text('identities.intro', { a: (passkeys) => html`<a id="passkeys" href="${passkeysHref}">${passkeys}</a>` })}</p>
${cards(
  identities.map((identity) => card(identity, page)),
  html`<p class="empty" id="no-identities">${text('identities.none')}</p>`,
)}`,
  })
}

function card(identity: IdentityView, { area, removeAction }: IdentitiesPage): Html {
  const { providerId: provider, providerName, issuer, subject } = identity
  const { siteName, linkedAt, usedAt } = identity
  const hidden = { provider, issuer, subject }
  return html`<h2><bdi>${providerName}</bdi></h2>
<dl class="facts">
<div><dt>${text('identities.issuer')}</dt><dd><code>${issuer}</code></dd></div>
<div><dt>${text('identities.opens')}</dt><dd>${siteName === null ? text('identities.whole') : text('identities.only', { site: html`<bdi>${siteName}</bdi>` })}</dd></div>
<div><dt>${text('identities.linked')}</dt><dd>${timeOf(linkedAt)}</dd></div>
<div><dt>${text('word.lastUsed')}</dt><dd>${timeOf(usedAt)}</dd></div>
</dl>
${postForm(
  { action: removeAction, csrf: area.csrf, hidden },
  html`<div class="actions"><button type="submit" class="danger">${text('identities.remove')} <span class="hidden"><bdi>${providerName}</bdi></span></button></div>`,
)}`
}
