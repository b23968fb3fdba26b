import { type Html, html } from './html.ts'

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
  readonly title: string
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
${needsPublicAddress && local && html`<p class="notice warning">${name} calls from its maker’s servers, and this service runs on an address of this computer: it cannot be reached from there.</p>`}
${approveHref !== undefined && html`<p class="notice warning">${name} cannot change anything until you approve it. <a href="${approveHref}">Approve ${name}</a> first, then connect it.</p>`}
${instructions.map(instruction)}
${ownCallbacks && callbacks(ownCallbacks)}
<p class="small">By <a href="${documentation.url}" rel="noreferrer">what its maker says</a>, read on ${documentation.read}. Its menus may have changed since.</p>
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
      return html`${shown.file !== undefined && html`<p class="hint">Goes into <code>${shown.file}</code>, beside what is there.</p>`}
${snippet(shown.text)}`
    case 'link':
      return html`<p><a class="button" href="${shown.href}">${shown.label}</a></p>`
  }
}

/** A text to copy. One click selects all of it, and long lines wrap. */
export function snippet(text: string): Html {
  return html`<pre class="snippet" translate="no"><code>${text}</code></pre>`
}

function callbacks({ differs, uris }: NonNullable<ConnectStepsView['ownCallbacks']>): Html {
  return html`<p>${differs}</p>
<ul>
${uris.map((uri) => html`<li><code>${uri}</code></li>\n`)}</ul>`
}
