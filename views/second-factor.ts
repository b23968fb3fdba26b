import { type AreaView, areaPage, plainList } from './area.ts'
import { type ClientView, foreignName } from './client-view.ts'
import {
  buttonForm,
  type FormTarget,
  inputField,
  postForm,
  problemAlert,
  refusalForm,
  submitButton,
} from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { passkeyForm } from './passkey-form.ts'
import { passkeyScript } from './script.ts'
import { timeOf } from './time.ts'

export interface SecondStepPage {
  readonly action: string
  readonly csrf: string
  readonly deny: string
  readonly client: ClientView
  readonly hasApp: boolean
  /** The options for using a passkey; undefined if the person has none. */
  readonly options: object | undefined
  readonly problem?: string | undefined
}

/** Asks for a second factor. */
export function secondStepPage(page: SecondStepPage): Page {
  const { action, csrf, hasApp, options, problem } = page
  const form = { action, csrf }
  const kind = hasApp ? 'second' : undefined
  const passkey = options && passkeyForm({ ...form, options, purpose: 'second', kind })
  return {
    title: problem ? 'Second step: please try again' : 'Second step',
    id: 'second-step-page',
    scripts: options && [passkeyScript],
    body: html`<h1>Second step</h1>
<p>to continue to ${foreignName(page.client.name)}</p>
${problemAlert('login-problem', problem)}
${hasApp ? codeForms(form, passkey) : passkeyAlone(passkey)}
<div class="actions"><button id="login-cancel" type="submit" form="refusal" class="second">Cancel and go back</button></div>
${refusalForm(page)}`,
  }
}

function passkeyAlone(form: Html | undefined): Html {
  return html`<p>Two factors are needed. Continue with one of your passkeys.</p>
<p id="passkey-unsupported" class="notice">This browser cannot use a passkey. Use a current browser with JavaScript.</p>
${form}`
}

function codeForms(form: FormTarget, passkey: Html | undefined): Html {
  return html`${postForm(form, [
    codeField(html` autofocus`, 'Your authenticator app shows it.'),
    submitButton('continue', 'Continue'),
  ])}
<h2>Without the app</h2>
${passkey}
${postForm(form, [
  inputField({
    id: 'recovery-code',
    name: 'code',
    label: 'Recovery code',
    hint: 'You received ten of them with the authenticator app. Each works once.',
    attributes: html` type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="40" required`,
  }),
  submitButton('use-recovery-code', 'Use the recovery code', { kind: 'second' }),
])}
<p class="small">A new password by mail does not replace the second step. Without a recovery code${passkey && ' or a passkey'}, ask the people
who run this service to remove your authenticator app.</p>`
}

/** The field for a code of six digits. */
function codeField(more: Html, hint: string, problem?: string): Html {
  return inputField({
    id: 'code',
    label: 'Code',
    hint,
    problem,
    attributes: html` type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="20" required${more}`,
  })
}

export interface SecondFactorPage {
  readonly area: AreaView
  readonly app: { readonly since: number; readonly codesLeft: number } | undefined
  readonly actions: Readonly<Record<'add' | 'codes' | 'remove', string>>
  readonly sessionsHref: string
  readonly passkeysHref: string
  readonly done?: string | undefined
}

/** The page where a person sets up or removes a second factor. */
export function secondFactorPage(page: SecondFactorPage): Page {
  const { area, app, actions, sessionsHref, passkeysHref } = page
  const form = (action: string) => ({ action, csrf: area.csrf })
  return areaPage({
    ...page,
    title: 'Second factor',
    id: 'second-factor-page',
    body: app
      ? html`<p>After your password, the sign-in asks for a code of your authenticator app, which you added on
${timeOf(app.since)}. <a href="${sessionsHref}">Browsers that were signed in before</a> stay signed in.</p>
<h2>Recovery codes</h2>
<p id="codes-left">You have ${app.codesLeft} unused recovery codes. Each replaces a code of the app once.</p>
${buttonForm(form(actions.codes), 'renew', 'Create new recovery codes', 'second')}
<h2>Remove</h2>
<p>To use another app, remove this one first. Your password alone is then enough to sign in.</p>
${buttonForm(form(actions.remove), 'remove', 'Remove the authenticator app', 'danger')}`
      : html`<p>An authenticator app on your phone shows a new code every 30 seconds. If you add one, the sign-in asks for your
password and this code. Someone who knows your password cannot sign in without your phone.</p>
${buttonForm(form(actions.add), 'add', 'Add an authenticator app')}
<p>Or <a id="passkeys" href="${passkeysHref}">add a passkey</a>. Where two factors are needed, you can also use it after your password.</p>`,
  })
}

export interface NewAuthenticatorPage {
  readonly area: AreaView
  readonly action: string
  readonly cancelHref: string
  readonly sealed: string
  readonly secret: string
  readonly uri: string
  /** The QR code of `uri`, as a data URL. */
  readonly image: string
  readonly problem?: string | undefined
}

/** Shows the key of a new authenticator app, and asks for its first code. */
export function newAuthenticatorPage(page: NewAuthenticatorPage): Page {
  const { area, action, cancelHref, sealed, problem } = page
  return areaPage({
    area,
    title: problem ? 'Authenticator app: please correct' : 'Authenticator app',
    heading: 'Add an authenticator app',
    id: 'new-authenticator-page',
    body: html`<ol>
<li>Scan this picture with your authenticator app. On this device, <a id="open-app" href="${page.uri}">open the app</a>.<br>
<img src="${page.image}" width="220" height="220" alt="QR code with the key below"></li>
<li>Or type this key into the app: <code id="key">${page.secret.replace(/.{4}(?=.)/g, '$& ')}</code></li>
<li>Enter the code that the app shows.</li>
</ol>
${postForm({ action, csrf: area.csrf, hidden: { sealed } }, [
  codeField(html``, 'Six digits.', problem),
  submitButton('confirm', 'Add the app', { cancelHref }),
])}`,
  })
}

/** Shows new recovery codes, which the service does not show again. */
export function recoveryCodesPage(page: {
  readonly area: AreaView
  readonly codes: readonly string[]
  readonly nextHref: string
}): Page {
  return areaPage({
    area: page.area,
    title: 'Recovery codes',
    id: 'recovery-codes-page',
    done: 'The sign-in now asks for a code of your authenticator app.',
    body: html`<p>Print these codes, or keep them in a password manager. They are not shown again. If you lose your phone, each of them
replaces a code of the app once. Earlier recovery codes no longer work.</p>
${plainList(page.codes.map((code) => html`<code>${code}</code>`))}
<p><a id="next" class="button" href="${page.nextHref}">I have kept the codes</a></p>`,
  })
}
