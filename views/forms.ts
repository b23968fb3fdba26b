import { type Html, html } from './html.ts'

/** The proof that a form was shown by us to this person; every form that changes something has it. */
export function csrfField(csrf: string): Html {
  return html`<input type="hidden" name="csrf" value="${csrf}">`
}

export interface Refusal {
  /** Where the refusal is sent. */
  readonly action: string
  readonly csrf: string
}

/**
 * The form behind a button with `form="refusal"`. It is a form of its own, so that a refusal needs no
 * valid answer and carries none: a password that was typed already does not travel with it.
 */
export function refusalForm({ action, csrf }: Refusal): Html {
  return html`<form id="refusal" method="post" action="${action}">${csrfField(csrf)}</form>`
}

/** What went wrong with the last answer, at the top of the page; fields point to it by `id`. */
export function problemAlert(id: string, problem: string | undefined): Html | undefined {
  if (problem === undefined) return undefined
  return html`<p class="notice problem" id="${id}" role="alert" tabindex="-1">${problem}</p>`
}
