import { foreignName, type PromptView } from './client-view.ts'
import {
  loginField,
  passwordField,
  postForm,
  problemAlert,
  refusalForm,
  submitButton,
} from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { type PasskeyForm, passkeyForm } from './passkey-form.ts'
import { passkeyScript, showPasswordScript } from './script.ts'
import { type SiteWords, siteWords } from './site-look.ts'
import { text } from './text.ts'

export interface SignInPage extends PromptView {
  /** The login entered before, or the `login_hint` of the client. */
  readonly login?: string | undefined
  /** Why the last input was rejected, as a sentence. */
  readonly problem?: HtmlValue
  /** The page for people who do not know their password. */
  readonly recoverHref: string
  /** The page for people without an account; undefined unless the application's site allows sign-up. */
  readonly signUpHref?: string | undefined
  readonly words?: SiteWords | undefined
  readonly hidden?: Readonly<Record<string, string>> | undefined
  /** Whether the identity providers are the only way to sign in. */
  readonly isOnly?: boolean
  /** Whether people with certain e-mail addresses sign in with an identity provider, without a password. */
  readonly routes?: boolean
  /** The form for passkeys; undefined if `isOnly` is set, or if browsers do not support passkeys for this host. */
  readonly passkey?: Pick<PasskeyForm, 'action' | 'options'> | undefined
  /** An additional effect of the next sign-in, as a sentence. */
  readonly note?: HtmlValue
  readonly providers?: readonly Readonly<Record<'id' | 'name' | 'href', string>>[] | undefined
  /** The page on which a person adds a second factor; undefined if the request needs no second factor. */
  readonly factorsHref?: string | undefined
  /** Whether the person is signed in, and must sign in again for a page of this service. */
  readonly confirms?: boolean | undefined
}

/** Lets a person sign in with a password, a passkey or an identity provider. */
export function signInPage(page: SignInPage): Page {
  const isForOthers = page.client.kind !== 'own'
  return {
    title: text('word.signIn'),
    isWrong: page.problem !== undefined,
    id: 'login-page',
    scripts: [
      ...(page.isOnly ? [] : [showPasswordScript]),
      ...(page.passkey ? [passkeyScript] : []),
    ],
    body: html`${
      page.confirms
        ? html`<p id="confirms">${text('signIn.confirms')}</p>`
        : html`<p>${text('signIn.to', { app: foreignName(page.client.name) })}${
            isForOthers &&
            html`<br>
<span class="muted"><bdi>${page.client.host}</bdi></span>`
          }</p>`
    }
${page.factorsHref !== undefined && html`<p class="notice" id="needs-two-factors">${text('signIn.twoFactors', { add: html`<a href="${page.factorsHref}" target="_blank">${text('signIn.addFactor')}</a>` })}</p>`}
${siteWords(page.words)}
${problemAlert('login-problem', page.problem)}
${page.note !== undefined && html`<p class="notice" id="login-note">${page.note}</p>`}
${!page.isOnly && signInForm(page)}
${!page.isOnly && helpLinks(page)}
${page.passkey && passkeyForm({ ...page.passkey, csrf: page.csrf, purpose: 'use', kind: 'second' })}
${page.providers?.map(({ id, href, ...named }) => html`<div class="actions"><a id="provider-${id}" class="button second" href="${href}">${text('signIn.with', named)}</a></div>\n`)}
<div class="actions"><button id="login-cancel" type="submit" form="refusal" class="quiet">${text('signIn.cancel')}</button></div>
${refusalForm(page)}
${isForOthers && !page.isOnly && html`<p class="small">${text('signIn.neverSeen', { app: html`<bdi>${page.client.name}</bdi>` })}</p>`}`,
  }
}

function helpLinks({ recoverHref, signUpHref }: SignInPage): Html {
  return html`<p><a id="recover" href="${recoverHref}">${text('signIn.forgot')}</a>${signUpHref !== undefined && html` · <a id="sign-up" href="${signUpHref}">${text('signIn.signUp')}</a>`}</p>`
}

function signInForm({ login, problem, ...page }: SignInPage): Html {
  const described = problem !== undefined && html` aria-describedby="login-problem"`
  const focused = html` autofocus`
  const fields = html`${loginField(login, html`${described}${!login && focused}`, page.passkey && 'username webauthn')}
${passwordField({
  id: 'password',
  label: text('password.label'),
  hint: page.routes && text('signIn.routes'),
  attributes: html` autocomplete="current-password"${!page.routes && html` required`}${login && focused}`,
  describedBy: problem ? 'login-problem' : undefined,
})}
${submitButton('login-submit', text('word.signIn'))}`
  return postForm(page, fields)
}
