import {
  endAppsField,
  newPasswordFields,
  type PasswordProblems,
  usernameField,
} from './account-security.ts'
import { inputField, loginField, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { showPasswordScript } from './script.ts'
import type { SiteLook } from './site-look.ts'

/** The form in which a person asks for a link by mail. */
export interface AddressForm {
  readonly action: string
  readonly csrf: string
  /** The interaction to continue afterwards. */
  readonly from: string | undefined
  readonly login: string
  readonly problem?: string | undefined
}

/** Asks for the e-mail address of the account to recover. */
export function recoverPage(form: AddressForm): Page {
  return {
    title: form.problem ? 'New password: please try again' : 'New password',
    id: 'recover-page',
    body: html`<h1>Set a new password</h1>
<p>Enter the e-mail address of your account. We send you a message with a link.</p>
${addressForm(form)}`,
  }
}

/** Asks for the address of a new account, which joins a site. */
export function signUpPage(form: AddressForm, siteName: string): Page {
  return {
    title: form.problem ? 'Create an account: please try again' : 'Create an account',
    id: 'sign-up-page',
    body: html`<h1>Create an account</h1>
<p>to join <bdi>${siteName}</bdi>. We send you a message with a link.</p>
${addressForm(form)}`,
  }
}

function addressForm({ action, csrf, from, login, problem }: AddressForm): Html {
  const wrong =
    problem !== undefined && html` aria-invalid="true" aria-describedby="address-problem"`
  const hidden = from === undefined ? undefined : { from }
  return html`${problemAlert('address-problem', problem)}
${postForm({ action, csrf, hidden }, [
  loginField(login, html` autofocus${wrong}`),
  submitButton('ask', 'Send me the link'),
])}`
}

export interface LinkSentPage {
  readonly login: string
  /** Whether a message is sent even to an address without an account. */
  readonly isCertain: boolean
  readonly code: string
  readonly minutes: number
  readonly againHref: string
  /** Whether an attempt to send a waiting message has failed. */
  readonly isDelayed: boolean
}

/** Says that a message is on its way, and shows the code for other browsers. Unknown addresses get the same page. */
export function linkSentPage(page: LinkSentPage): Page {
  return {
    title: 'Check your e-mail',
    id: 'link-sent-page',
    body: html`<h1>Check your e-mail</h1>
<p>${page.isCertain ? html`A message with a link is on its way to <bdi>${page.login}</bdi>.` : html`If there is an account for <bdi>${page.login}</bdi>, a message with a link is on its way.`} The link works
once, for ${page.minutes} minutes.</p>
${page.isDelayed && html`<p class="notice" id="delayed">Our mail server is not responding at the moment. The message will be sent as soon as it does.</p>`}
<p>Open the link in this browser. If you open it in another one, it asks for this code:</p>
<p><strong id="code">${page.code}</strong></p>
<p class="small">Do not tell the code to anyone. No message? Look into your spam folder, or <a href="${page.againHref}">ask again</a>.</p>`,
  }
}

/** The form of a page that a mailed link opens. */
export interface LinkForm {
  readonly action: string
  readonly csrf: string
  readonly email: string
  /** Whether another browser requested the link, so the code is needed. */
  readonly needsCode: boolean
}

export interface NewPasswordPage extends LinkForm {
  readonly charactersMin: number
  readonly problems?: PasswordProblems | undefined
  readonly endApps: boolean
  readonly look?: SiteLook | undefined
}

/** Asks for the new password. */
export function newPasswordPage(page: NewPasswordPage): Page {
  const { problems = {} } = page
  const isWrong = Object.values(problems).some(Boolean)
  const fields = html`${usernameField(page.email)}
${page.needsCode && codeField(problems.code)}
${newPasswordFields(page)}
${endAppsField(page.endApps)}
${submitButton('save', 'Set password')}`
  return {
    title: isWrong ? 'New password: please correct' : 'New password',
    id: 'new-password-page',
    scripts: [showPasswordScript],
    look: page.look,
    body: html`<h1>Set a new password</h1>
<p>for <bdi>${page.email}</bdi></p>
${problemAlert('form-problem', isWrong ? 'Your password was not changed. Please correct what is marked below.' : undefined)}
${postForm(page, fields)}`,
  }
}

/** Asks for the code that the requesting browser shows. */
export function codeField(problem: string | undefined): Html {
  return inputField({
    id: 'code',
    label: 'Code',
    hint: 'The browser in which you asked for the link shows it.',
    problem,
    attributes: html` type="text" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="20" required`,
  })
}

/** Confirms that the password was set. */
export function passwordSetPage({ continueHref }: { readonly continueHref: string }): Page {
  return {
    title: 'Password set',
    id: 'password-set-page',
    body: html`<h1>Your new password is set</h1>
<p>You are signed out in all browsers. Sign in with your new password.</p>
<p><a id="continue" class="button" href="${continueHref}">Sign in</a></p>`,
  }
}

/** Says that a link was used, has expired or is incomplete. */
export function linkGonePage({ againHref }: { readonly againHref: string | undefined }): Page {
  return {
    title: 'The link no longer works',
    id: 'link-gone-page',
    body: html`<h1>This link no longer works</h1>
<p>It was used before, has expired, or was not copied completely.</p>
${againHref !== undefined && html`<p><a id="again" class="button" href="${againHref}">Ask for a new link</a></p>`}`,
  }
}
