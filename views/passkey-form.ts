import { type FormTarget, postForm, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { text } from './text.ts'

export interface PasskeyForm extends FormTarget {
  readonly purpose: 'use' | 'second' | 'create'
  /** `second` if the page has a more prominent button. */
  readonly kind?: 'second' | undefined
  /** The options for the browser (WebAuthn §5.1.8 and §5.1.9). */
  readonly options: object
  readonly fields?: HtmlValue
}

/** The form that sends a passkey's response. `passkeyScript` shows it in browsers that support passkeys. */
export function passkeyForm(form: PasskeyForm): Html {
  const { purpose, options, fields, hidden, kind, ...target } = form
  const attributes = html` id="passkey" hidden data-purpose="${purpose}" data-options="${JSON.stringify(options)}" data-failed="${text(`passkeys.failed.${purpose}`)}" data-held="${text('passkeys.held')}"`
  const shown = html`<p class="notice problem" id="passkey-problem" role="alert" hidden></p>
${fields}
${submitButton('passkey-submit', text(`passkeys.button.${purpose}`), { kind })}`
  return postForm({ ...target, hidden: { ...hidden, credential: '' }, attributes }, shown)
}
