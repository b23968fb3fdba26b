import { type Html, html } from './html.ts'

/** How one assistant is connected. Its texts are escaped for where they are pasted into, not for a page. */
export interface ConnectStepsView {
  readonly id: string
  readonly name: string
  readonly where: string
  readonly instructions: readonly InstructionView[]
  readonly documentation: { readonly url: string; readonly read: string }
  /** It calls from its maker's servers. */
  readonly needsPublicAddress: boolean
  /** Only for an assistant whose callback differs: those that are registered, and what to do about another. */
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

/** An assistant that opens and closes without a script. `local`: only this computer reaches the service. */
export function connectSteps(
  steps: ConnectStepsView,
  { local, open = false }: { readonly local: boolean; readonly open?: boolean },
): Html {
  const { id, name, where, instructions, documentation, needsPublicAddress, ownCallbacks } = steps
  return html`<details class="card" id="${id}"${open && html` open`}>
<summary><h2>${name}</h2> <span class="muted">${where}</span></summary>
${needsPublicAddress && local && html`<p class="notice warning">${name} calls from its maker’s servers, and this service runs on an address of this computer: it cannot be reached from there.</p>`}
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

/** One press selects the whole of it, and it wraps instead of making the page wide. */
export function snippet(text: string): Html {
  return html`<pre class="snippet" translate="no"><code>${text}</code></pre>`
}

function callbacks({ differs, uris }: NonNullable<ConnectStepsView['ownCallbacks']>): Html {
  return html`<p>${differs}</p>
<ul>
${uris.map((uri) => html`<li><code>${uri}</code></li>\n`)}</ul>`
}
