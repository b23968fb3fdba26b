import { type Html, type HtmlValue, html } from './html.ts'
import { text } from './text.ts'

/** The steps to connect an assistant. Values are escaped for commands and files, but not for HTML. */
export interface ConnectStepsView {
  readonly id: string
  readonly name: string
  readonly where: string
  readonly instructions: readonly InstructionView[]
  readonly documentation: { readonly url: string; readonly read: string }
  /** Whether the assistant sends its requests from its vendor's servers. */
  readonly needsPublicAddress: boolean
  /** Where an operator approves the assistant, if it must be approved before it can change anything. */
  readonly approveHref?: string | undefined
  /** For an assistant with a callback per connection: the registered callbacks, and how to add another. */
  readonly ownCallbacks?: { readonly differs: string; readonly uris: readonly string[] } | undefined
}

export type InstructionView = {
  readonly title: HtmlValue
  readonly afterwards?: string | undefined
} & (
  | {
      readonly kind: 'steps'
      readonly steps: readonly { readonly text: string; readonly value?: string | undefined }[]
    }
  | { readonly kind: 'snippet'; readonly text: string; readonly file?: string | undefined }
  | { readonly kind: 'link'; readonly label: string; readonly href: string }
)

/** Renders the steps for an assistant, collapsible. `local` means that only this computer can reach the service. */
export function connectSteps(
  steps: ConnectStepsView,
  { local, open = false }: { readonly local: boolean; readonly open?: boolean },
): Html {
  const {
    id,
    name,
    where,
    instructions,
    documentation,
    needsPublicAddress,
    ownCallbacks,
    approveHref,
  } = steps
  return html`<details class="card" id="${id}"${open && html` open`}>
<summary><h2>${name}</h2> <span class="muted">${where}</span></summary>
${needsPublicAddress && local && html`<p class="notice warning">${name} runs on servers of its maker, which cannot reach a service on this computer.</p>`}
${approveHref !== undefined && html`<p class="notice warning">${name} cannot change anything until you approve it. <a href="${approveHref}">Approve ${name}</a> first, then connect it.</p>`}
${instructions.map(instruction)}
${ownCallbacks && callbacks(ownCallbacks)}
<p class="small">From the <a href="${documentation.url}" rel="noreferrer">maker’s documentation</a> of ${documentation.read}. Menus may have changed.</p>
</details>
`
}

function instruction(shown: InstructionView): Html {
  return html`<h3>${shown.title}</h3>
${body(shown)}
${shown.afterwards !== undefined && html`<p>${shown.afterwards}</p>`}
`
}

function body(shown: InstructionView): Html {
  switch (shown.kind) {
    case 'steps':
      return html`<ol class="steps">
${shown.steps.map(({ text, value }) => html`<li>${text}${value !== undefined && snippet(value)}</li>\n`)}</ol>`
    case 'snippet':
      return html`${shown.file !== undefined && html`<p class="hint">Add it to <code>${shown.file}</code>.</p>`}
${snippet(shown.text)}`
    case 'link':
      return html`<p><a class="button" href="${shown.href}">${shown.label}</a></p>`
  }
}

/** A text to copy. One click selects all of it, and if `copyScript` runs, a button copies it. Long lines wrap. */
export function snippet(content: string, id?: string): Html {
  return html`<div class="copyable"><pre class="snippet" translate="no"><code${id !== undefined && html` id="${id}"`}>${content}</code></pre><button type="button" class="second" data-other="${text('word.copied')}" hidden>${text('word.copy')}</button></div>`
}

function callbacks({ differs, uris }: NonNullable<ConnectStepsView['ownCallbacks']>): Html {
  return html`<p>${differs}</p>
<ul>
${uris.map((uri) => html`<li><code>${uri}</code></li>\n`)}</ul>`
}
