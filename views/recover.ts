import {
  endAppsField,
  newPasswordFields,
  type PasswordProblems,
  usernameField,
} from './account-security.ts'
import { inputField, loginField, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { showPasswordScript } from './script.ts'
import { inLink, text } from './text.ts'

/** The form in which a person asks for a link by e-mail. */
export interface AddressForm {
  readonly action: string
  readonly csrf: string
  /** The interaction to continue afterwards. */
  readonly from: string | undefined
  readonly login: string
  readonly problem?: HtmlValue
}

/** Asks for the e-mail address of the account to recover. */
export function recoverPage(form: AddressForm): Page {
  const page = { id: 'recover-page', title: text('recover.heading') }
  return addressPage(form, page, text('recover.intro'))
}

/** Asks for the e-mail address with which a person signs up at a site. */
export function signUpPage(form: AddressForm, siteName: HtmlValue): Page {
  const page = { id: 'sign-up-page', title: text('signIn.signUp') }
  return addressPage(form, page, text('signUp.intro', { site: html`<bdi>${siteName}</bdi>` }))
}

function addressPage(
  { action, csrf, from, login, problem }: AddressForm,
  page: Pick<Page, 'id' | 'title'>,
  intro: Html,
): Page {
  const isWrong = problem !== undefined
  const wrong = isWrong && html` aria-invalid="true" aria-describedby="address-problem"`
  const hidden = from === undefined ? undefined : { from }
  return {
    ...{ ...page, isWrong },
    body: html`<p>${intro}</p>
${problemAlert('address-problem', problem)}
${postForm({ action, csrf, hidden }, [
  loginField(login, html` autofocus${wrong}`),
  submitButton('ask', text('recover.ask')),
])}`,
  }
}

export interface LinkSentPage {
  readonly login: string
  /** Whether a message is sent even to an address without an account. */
  readonly isCertain: boolean
  readonly code: string
  readonly minutes: number
  readonly againHref: string
  /** Whether an attempt to send this message or any other queued message has failed. */
  readonly isDelayed: boolean
}

/** Says that a message is on its way, and shows the code for other browsers. Unknown addresses get the same page. */
export function linkSentPage(page: LinkSentPage): Page {
  return {
    title: text('linkSent.title'),
    id: 'link-sent-page',
    body: html`<p>${text(page.isCertain ? 'linkSent.certain' : 'linkSent.perhaps', { login: html`<bdi>${page.login}</bdi>` })} ${text('linkSent.works', { minutes: page.minutes })}</p>
${page.isDelayed && html`<p class="notice" id="delayed">${text('linkSent.delayed')}</p>`}
<p>${text('linkSent.code')}</p>
<p><strong id="code">${page.code}</strong></p>
<p class="small">${text('linkSent.secret', { a: inLink(page.againHref) })}</p>`,
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
}

/** Asks for the new password. */
export function newPasswordPage(page: NewPasswordPage): Page {
  const { problems = {} } = page
  const isWrong = Object.values(problems).some(Boolean)
  const fields = html`${usernameField(page.email)}
${page.needsCode && linkCodeField(problems.code)}
${newPasswordFields(page)}
${endAppsField(page.endApps)}
${submitButton('save', text('newPassword.save'))}`
  return {
    title: text('recover.heading'),
    isWrong,
    id: 'new-password-page',
    scripts: [showPasswordScript],
    body: html`<p>${text('form.for', { email: html`<bdi>${page.email}</bdi>` })}</p>
${problemAlert('form-problem', isWrong ? text('password.notChanged') : undefined)}
${postForm(page, fields)}`,
  }
}

/** Asks for the code that the requesting browser shows. */
export function linkCodeField(problem: HtmlValue): Html {
  return inputField({
    id: 'code',
    label: text('form.code'),
    hint: text('newPassword.codeHint'),
    problem,
    attributes: html` type="text" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="20" required`,
  })
}

/** Asks whether to remove a lost authenticator app. */
export function factorResetPage(page: LinkForm & { readonly problem: HtmlValue }): Page {
  const title = text('secondFactor.remove')
  const button = submitButton('confirm', title, { kind: 'danger' })
  return {
    title,
    id: 'factor-reset-page',
    body: html`<p>${text('form.for', { email: html`<bdi>${page.email}</bdi>` })}</p>
<p>${text('factorReset.text')}</p>
${postForm(page, [page.needsCode && linkCodeField(page.problem), button])}`,
  }
}
