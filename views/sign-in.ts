import { type ClientView, foreignName } from './client-view.ts'
import { loginField, postForm, problemAlert, refusalForm, submitButton } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { type PasskeyForm, passkeyForm } from './passkey-script.ts'
import { type SiteWords, siteWords } from './site-look.ts'

export interface SignInPage {
  readonly action: string
  readonly csrf: string
  /** The login entered before, or the `login_hint` of the client. */
  readonly login?: string | undefined
  /** Why the last input was rejected, as a sentence. */
  readonly problem?: string | undefined
  readonly client: ClientView
  /** The page for people who do not know their password. */
  readonly recoverHref: string
  /** The page for people without an account; undefined if the site of the application does not allow sign-up. */
  readonly signUpHref?: string | undefined
  /** The URL to which the refusal is submitted. */
  readonly deny: string
  /** The text that the site adds to this page. */
  readonly words?: SiteWords | undefined
  /** Values that the form sends in addition. */
  readonly hidden?: Readonly<Record<string, string>> | undefined
  /** Whether the identity providers are the only way. */
  readonly isOnly?: boolean
  /** Whether an e-mail address can lead to an identity provider, without a password. */
  readonly routes?: boolean
  /** The form for passkeys; undefined if browsers have none for this host. */
  readonly passkey?: Pick<PasskeyForm, 'action' | 'options'> | undefined
  /** What the next sign-in does in addition, as a sentence. */
  readonly note?: string | undefined
  /** The identity providers with which people can sign in. */
  readonly providers?: readonly Readonly<Record<'id' | 'name' | 'href', string>>[] | undefined
  /** The page on which a person adds a second factor; undefined if the request needs no second one. */
  readonly factorsHref?: string | undefined
  /** Whether the person is signed in, and must sign in again for a page of this service. */
  readonly confirms?: boolean | undefined
}

/** Asks for an e-mail address and a password, or for a passkey. */
export function signInPage(page: SignInPage): Page {
  return {
    title: page.problem ? 'Sign in: please try again' : 'Sign in',
    id: 'login-page',
    body: html`<h1>Sign in</h1>
${
  page.confirms
    ? html`<p id="confirms">Confirm that it is you before you continue. The next page shows or changes sensitive data, so sign in
again.</p>`
    : html`<p>to continue to ${foreignName(page.client.name)}<br>
<span class="muted"><bdi>${page.client.host}</bdi></span></p>`
}
${page.factorsHref !== undefined && twoFactorsNote(page.factorsHref)}
${siteWords(page.words)}
${problemAlert('login-problem', page.problem)}
${page.note !== undefined && html`<p class="notice" id="login-note">${page.note}</p>`}
${!page.isOnly && signInForm(page)}
${page.passkey && passkeyForm({ ...page.passkey, csrf: page.csrf, purpose: 'use', kind: 'second' })}
${page.providers?.map(
  ({
    id,
    name,
    href,
  }) => html`<div class="actions"><a id="provider-${id}" class="button second" href="${href}">Sign in with ${name}</a></div>
`,
)}
<div class="actions"><button id="login-cancel" type="submit" form="refusal" class="second">Cancel and go back</button></div>
${refusalForm(page)}
${
  !page.isOnly &&
  html`<p><a id="recover" href="${page.recoverHref}">Forgot your password?</a>${page.signUpHref !== undefined && html` · <a id="sign-up" href="${page.signUpHref}">Create an account</a>`}</p>
<p class="small">Only this page sees your password. The application never does.</p>`
}`,
  }
}

function signInForm({ login, problem, ...page }: SignInPage): Html {
  const described = problem !== undefined && html` aria-describedby="login-problem"`
  const focused = html` autofocus`
  const fields = html`${loginField(login, html`${described}${!login && focused}`, page.passkey && 'username webauthn')}
<label for="password">Password</label>
${page.routes && html`<p class="hint">Leave it empty if your school or company signs you in.</p>`}
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024"${!page.routes && html` required`}${described}${login && focused}>
${submitButton('login-submit', 'Sign in')}`
  return postForm(page, fields)
}

function twoFactorsNote(href: string): Html {
  return html`<p class="notice" id="needs-two-factors">Two factors are needed: a passkey that asks for your PIN, fingerprint or face, or your password and a second
factor. If you have neither, first <a href="${href}" target="_blank">add one in your account (new tab)</a>. Then come back here.</p>`
}
