import { type AreaView, areaPage, cards } from './area.ts'
import { postForm, problemAlert } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './time.ts'

interface IdentityView {
  readonly providerId: string
  readonly providerName: string
  readonly issuer: string
  readonly subject: string
  /** The only site at which the provider is trusted; null for a provider of the platform. */
  readonly siteName: string | null
  readonly linkedAt: number
  readonly usedAt: number
}

export interface IdentitiesPage {
  readonly area: AreaView
  readonly identities: readonly IdentityView[]
  readonly removeAction: string
  readonly passkeysHref: string
  readonly done: string | undefined
  readonly problem: string | undefined
}

/** Lists the linked identities of a person, with forms that remove them. */
export function identitiesPage(page: IdentitiesPage): Page {
  const { identities, passkeysHref, problem } = page
  return areaPage({
    ...page,
    title: 'Identity providers',
    id: 'identities-page',
    body: html`${problemAlert('form-problem', problem)}
<p>You can sign in with these accounts at other services. To add one, use its button on a sign-in page. Your password and
<a id="passkeys" href="${passkeysHref}">passkeys</a> keep working.</p>
${cards(
  identities.map((identity) => card(identity, page)),
  html`<p id="no-identities">No identity provider is linked to your account.</p>`,
)}`,
  })
}

function card(identity: IdentityView, { area, removeAction }: IdentitiesPage): Html {
  const { providerId: provider, providerName, issuer, subject } = identity
  const { siteName, linkedAt, usedAt } = identity
  const hidden = { provider, issuer, subject }
  return html`<h2><bdi>${providerName}</bdi></h2>
<dl class="facts">
<div><dt>Issuer</dt><dd><code>${issuer}</code></dd></div>
<div><dt>Signs you in to</dt><dd>${siteName === null ? 'Your whole account' : html`<bdi>${siteName}</bdi> only`}</dd></div>
<div><dt>Linked</dt><dd>${timeOf(linkedAt)}</dd></div>
<div><dt>Last used</dt><dd>${timeOf(usedAt)}</dd></div>
</dl>
${postForm(
  { action: removeAction, csrf: area.csrf, hidden },
  html`<div class="actions"><button type="submit" class="danger">Remove <span class="hidden"><bdi>${providerName}</bdi></span></button></div>`,
)}`
}
