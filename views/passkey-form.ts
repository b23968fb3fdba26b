import { type FormTarget, postForm, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'

export interface PasskeyForm extends FormTarget {
  readonly purpose: keyof typeof texts
  /** `second` next to a more prominent button. */
  readonly kind?: 'second' | undefined
  /** The options for the browser (WebAuthn §5.1.8 and §5.1.9). */
  readonly options: object
  readonly fields?: HtmlValue
}

const texts = {
  use: {
    label: 'Sign in with a passkey',
    failed: 'No passkey was used. Try again, or sign in another way.',
  },
  second: {
    label: 'Use a passkey',
    failed: 'No passkey was used. Try again, or use another way.',
  },
  create: {
    label: 'Add a passkey',
    failed: 'No passkey was created. Try again, or on another device.',
  },
}

/** The form that sends a passkey's response. `passkeyScript` shows it in browsers that support passkeys. */
export function passkeyForm(form: PasskeyForm): Html {
  const { purpose, options, fields, hidden, kind, ...target } = form
  const { label, failed } = texts[purpose]
  const attributes = html` id="passkey" hidden data-purpose="${purpose}" data-options="${JSON.stringify(options)}" data-failed="${failed}"`
  const shown = html`<p class="notice problem" id="passkey-problem" role="alert" hidden></p>
${fields}
${submitButton('passkey-submit', label, { kind })}`
  return postForm({ ...target, hidden: { ...hidden, credential: '' }, attributes }, shown)
}
