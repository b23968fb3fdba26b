import { csrfField } from './forms.ts'
import { type Html, html } from './html.ts'
import { timeOf } from './time.ts'

/** A secret of an application or resource server. */
export interface SecretView {
  readonly hint: string
  readonly createdAt: number
  /** The page that removes the secret; undefined for the only secret, which must stay. */
  readonly removeHref: string | undefined
}

/** Renders a new secret, which is shown only once. */
export function secretNotice(secret: string): Html {
  return html`<div class="notice warning" role="status">
<p><strong>Copy the secret now.</strong> It is shown this once and cannot be read again.</p>
<p><code id="new-secret">${secret}</code></p>
</div>`
}

interface SecretSection {
  readonly secrets: readonly SecretView[]
  /** Whether another secret can be created: at most two are valid at a time. */
  readonly mayAddSecret: boolean
  readonly action: string
  readonly csrf: string
}

export function secretSection({ secrets, mayAddSecret, action, csrf }: SecretSection): Html {
  return html`<h2>Secrets</h2>
<p>Two may live at once: make a new one, change over to it, then remove the old one.</p>
<ul class="cards">
${secrets.map(
  ({ hint, createdAt, removeHref }) => html`<li class="card">
<span>ends with <code>${hint}</code></span><br><span class="muted">made ${timeOf(createdAt)}</span>${
    removeHref !== undefined &&
    html`<br><a class="remove-secret" href="${removeHref}">Remove<span class="hidden"> the secret that ends with ${hint}</span>…</a>`
  }</li>
`,
)}</ul>
${
  mayAddSecret &&
  html`<form method="post" action="${action}">
${csrfField(csrf)}
<div class="actions"><button id="add-secret" type="submit" class="second">Make a new secret</button></div>
</form>`
}`
}

interface StopSection {
  readonly disabledAt: number | undefined
  /** The page that asks for confirmation before disabling. Enabling needs no confirmation. */
  readonly disable: string
  readonly enable: string
  readonly remove: string
  readonly csrf: string
}

export function stopSection({ disabledAt, disable, enable, remove, csrf }: StopSection): Html {
  return html`<h2>Stop it</h2>
${
  disabledAt === undefined
    ? html`<p><a id="disable" class="button second" href="${disable}">Disable…</a></p>`
    : html`<p>Disabled since ${timeOf(disabledAt)}.</p>
<form method="post" action="${enable}">
${csrfField(csrf)}
<div class="actions"><button id="enable" type="submit">Enable again</button></div>
</form>`
}
<p><a id="delete" class="button second" href="${remove}">Delete…</a></p>`
}
