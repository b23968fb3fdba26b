import { type Html, html } from './html.ts'

/** The hidden field with the CSRF token. Every form that changes something needs it. */
export function csrfField(csrf: string): Html {
  return html`<input type="hidden" name="csrf" value="${csrf}">`
}

export interface Refusal {
  /** The URL to which the refusal is submitted. */
  readonly action: string
  readonly csrf: string
}

/** The form of buttons with `form="refusal"`. It is separate, so refusing does not submit an entered password. */
export function refusalForm({ action, csrf }: Refusal): Html {
  return html`<form id="refusal" method="post" action="${action}">${csrfField(csrf)}</form>`
}

/** The problem with the last input, for the top of the page. Fields refer to it by `id`. */
export function problemAlert(id: string, problem: string | undefined): Html | undefined {
  if (problem === undefined) return undefined
  return html`<p class="notice problem" id="${id}" role="alert" tabindex="-1">${problem}</p>`
}
