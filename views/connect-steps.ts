import { plainList } from './area.ts'
import { avatar } from './avatar.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { logoOf } from './icon.ts'
import { dayText, inCode, inLink, text } from './text.ts'

/** The steps to connect an assistant. Values are escaped for commands and files, but not for HTML. */
export interface ConnectStepsView {
  readonly id: string
  readonly name: string
  readonly where: Html
  readonly instructions: readonly InstructionView[]
  readonly documentation: { readonly url: string; readonly read: string }
  /** Whether the assistant sends its requests from its vendor's servers. */
  readonly needsPublicAddress: boolean
  /** Where an operator approves the assistant, if it must be approved before it can change anything. */
  readonly approveHref?: string | undefined
  /** The registered callbacks, and how to add another; undefined if all connections share one callback. */
  readonly ownCallbacks?: { readonly differs: Html; readonly uris: readonly string[] } | undefined
}

export type InstructionView = {
  readonly title: Html
  readonly afterwards?: Html | undefined
} & (
  | {
      readonly kind: 'steps'
      readonly steps: readonly { readonly text: Html; readonly value?: string | undefined }[]
    }
  | { readonly kind: 'snippet'; readonly text: string; readonly file?: string | undefined }
  | { readonly kind: 'link'; readonly href: string }
)

/** Renders collapsible steps for an assistant. `local` means that only this computer can reach the service. */
export function connectSteps(
  steps: ConnectStepsView,
  { local, open = false }: { readonly local: boolean; readonly open?: boolean },
): Html {
  const { id, where, instructions, documentation, needsPublicAddress, ownCallbacks } = steps
  const name = html`<bdi>${steps.name}</bdi>`
  return html`<details class="card" id="${id}"${open && html` open`}>
<summary>${avatar(steps.name, logoOf(id))}<h2>${name}</h2> <span class="muted">${where}</span></summary>
${needsPublicAddress && local && html`<p class="notice warning">${text('connect.unreachable', { name })}</p>`}
${steps.approveHref !== undefined && html`<p class="notice warning">${text('connect.approve', { name, a: inLink(steps.approveHref) })}</p>`}
${instructions.map((each) => instruction(each, name))}
${ownCallbacks && html`<p>${ownCallbacks.differs}</p>\n${plainList(ownCallbacks.uris.map(inCode))}`}
<p class="small">${text('connect.source', {
    a: (name) => html`<a href="${documentation.url}" rel="noreferrer">${name}</a>`,
    date: dayText(documentation.read),
  })}</p>
</details>
`
}

function instruction(shown: InstructionView, name: Html): Html {
  return html`<h3>${shown.title}</h3>
${body(shown, name)}
${shown.afterwards !== undefined && html`<p>${shown.afterwards}</p>`}
`
}

function body(shown: InstructionView, name: Html): Html {
  switch (shown.kind) {
    case 'steps':
      return html`<ol class="steps">
${shown.steps.map(({ text, value }) => html`<li>${text}${value !== undefined && snippet(value)}</li>\n`)}</ol>`
    case 'snippet':
      return html`${shown.file !== undefined && html`<p class="hint">${text('connect.file', { file: inCode(shown.file) })}</p>`}
${snippet(shown.text)}`
    case 'link':
      return html`<p><a class="button" href="${shown.href}"><span>${text('connect.addTo', { name })}</span></a></p>`
  }
}

/** A text to copy. One click selects all of it, and if `copyScript` runs, a button copies it. Long lines wrap. */
export function snippet(content: HtmlValue, id?: string): Html {
  return html`<div class="copyable"><pre class="snippet" translate="no"><code${id !== undefined && html` id="${id}"`}>${content}</code></pre><button type="button" class="second" data-other="${text('word.copied')}" hidden>${text('word.copy')}</button></div>`
}
