import { type AreaView, areaPage, cards } from './area.ts'
import { buttonForm } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './time.ts'

/** What the pages of an application and of a resource server share. */
export interface SharedView {
  readonly area: AreaView
  readonly secrets: readonly {
    readonly hint: string
    readonly createdAt: number
    /** The page that removes the secret; undefined for the only secret, which must stay. */
    readonly removeHref: string | undefined
  }[]
  /** Whether another secret can be created: at most two are valid at a time. */
  readonly mayAddSecret: boolean
  /** A secret that was just created. It is shown only once. */
  readonly newSecret: string | undefined
  /** `remove` and `disable` ask for confirmation; `addSecret` and `enable` are the URLs of forms. */
  readonly hrefs: Readonly<
    Record<'refusals' | 'addSecret' | 'remove' | 'disable' | 'enable', string>
  >
  readonly done: string | undefined
}

/** An application or resource server in a list. */
export interface ListedClient {
  readonly name: string
  readonly clientId: string
  readonly disabled: boolean
  readonly href: string
}

export interface ClientFacts {
  readonly clientId: string
  readonly name: string
  readonly createdAt: number
  readonly createdBy: string | undefined
  readonly disabledAt: number | undefined
}

interface Parts extends Pick<ClientFacts, 'name' | 'disabledAt'> {
  readonly id: string
  readonly settings: Html
  /** Whether secrets can be created and removed. */
  readonly hasSecrets: boolean
  /** Further links under "Use". */
  readonly links?: Html
}

/** Shows an application or resource server: settings, secrets, and links to disable or delete it. */
export function sharedPage(page: SharedView, parts: Parts): Page {
  const { area, newSecret, hrefs } = page
  const { name, disabledAt } = parts
  const enable = { action: hrefs.enable, csrf: area.csrf }
  return areaPage({
    ...page,
    title: name,
    heading: html`<bdi>${name}</bdi>${disabledAt !== undefined && disabledTag}`,
    id: parts.id,
    body: html`${newSecret !== undefined && secretNotice(newSecret)}
${parts.settings}
${parts.hasSecrets && secretSection(page)}
<h2>Use</h2>
<ul class="links">
${parts.links}<li><a id="refusals" href="${hrefs.refusals}">Refusals</a> <span class="muted">what was refused last, and why</span></li>
</ul>
<h2>Stop it</h2>
${
  disabledAt === undefined
    ? html`<p><a id="disable" class="button second" href="${hrefs.disable}">Disable…</a></p>`
    : html`<p>Disabled since ${timeOf(disabledAt)}.</p>
${buttonForm(enable, 'enable', 'Enable again')}`
}
<p><a id="delete" class="button second" href="${hrefs.remove}">Delete…</a></p>`,
  })
}

export const disabledTag = html` <span class="tag">disabled</span>`

function secretNotice(secret: string): Html {
  return html`<div class="notice warning" role="status">
<p><strong>Copy the secret now.</strong> It is shown this once and cannot be read again.</p>
<p><code id="new-secret">${secret}</code></p>
</div>`
}

function secretSection({ secrets, mayAddSecret, area, hrefs }: SharedView): Html {
  const listed = secrets.map(
    ({ hint, createdAt, removeHref }) => html`<span>ends with <code>${hint}</code></span><br>
<span class="muted">made ${timeOf(createdAt)}</span>${
      removeHref !== undefined &&
      html`<br><a class="remove-secret" href="${removeHref}">Remove<span class="hidden"> the secret that ends with ${hint}</span>…</a>`
    }`,
  )
  const add = { action: hrefs.addSecret, csrf: area.csrf }
  return html`<h2>Secrets</h2>
<p>Two may live at once: make a new one, change over to it, then remove the old one.</p>
${cards(listed)}
${mayAddSecret && buttonForm(add, 'add-secret', 'Make a new secret', 'second')}`
}
