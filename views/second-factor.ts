import type { AreaPage, Hrefs } from './area.ts'
import { foreignName, type PromptView } from './client-view.ts'
import { snippet } from './connect-steps.ts'
import {
  askFirst,
  buttonForm,
  type FormTarget,
  inputField,
  postForm,
  problemAlert,
  refusalForm,
  submitButton,
} from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { passkeyForm } from './passkey-form.ts'
import { copyScript, passkeyScript } from './script.ts'
import { text, timeOf } from './text.ts'

export interface SecondStepPage extends PromptView {
  readonly hasApp: boolean
  /** The options for using a passkey; undefined if the person has none. */
  readonly options: object | undefined
  /** How the person can remove a lost app by e-mail; undefined if this is not allowed. */
  readonly reset: { readonly action: string; readonly notBefore: number | false } | undefined
  readonly problem?: HtmlValue
}

/** Asks for a second factor. */
export function secondStepPage(page: SecondStepPage): Page {
  const { action, csrf, hasApp, options, problem } = page
  const form = { action, csrf }
  const kind = hasApp ? 'second' : undefined
  const passkey = options && passkeyForm({ ...form, options, purpose: 'second', kind })
  return {
    title: text('secondStep.heading'),
    isWrong: problem !== undefined,
    id: 'second-step-page',
    scripts: options && [passkeyScript],
    body: html`<p>${text('signIn.to', { app: foreignName(page.client.name) })}</p>
${problemAlert('login-problem', problem)}
${hasApp ? codeForms(form, passkey, page.reset) : passkeyAlone(passkey)}
<div class="actions"><button id="login-cancel" type="submit" form="refusal" class="quiet">${text('signIn.cancel')}</button></div>
${refusalForm(page)}`,
  }
}

function passkeyAlone(form: Html | undefined): Html {
  return html`<p>${text('secondStep.passkey')}</p>
<p id="passkey-unsupported" class="notice">${text('passkeys.unsupported')}</p>
${form}`
}

function codeForms(
  form: FormTarget,
  passkey: Html | undefined,
  reset: SecondStepPage['reset'],
): Html {
  return html`${postForm(form, [
    codeField(html` autofocus`, text('secondStep.codeHint')),
    submitButton('continue', text('word.continue')),
  ])}
<h2>${text('secondStep.withoutApp')}</h2>
${passkey}
${postForm(form, [
  inputField({
    id: 'recovery-code',
    name: 'code',
    label: text('secondStep.recoveryCode'),
    hint: text('secondStep.recoveryHint'),
    attributes: html` type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="40" required`,
  }),
  submitButton('use-recovery-code', text('secondStep.useRecoveryCode'), { kind: 'second' }),
])}
${lostApp(form, reset) ?? html`<p class="small">${text('secondStep.lost', { passkey: passkey ? 'yes' : 'no' })}</p>`}`
}

/** Tells a person who lost the app and the recovery codes what to do; undefined if a reset is not allowed. */
function lostApp({ csrf }: FormTarget, reset: SecondStepPage['reset']): Html | undefined {
  if (!reset) return undefined
  const { action, notBefore } = reset
  if (notBefore !== false)
    return html`<p class="small">${text('secondStep.resetFrom', { time: timeOf(notBefore) })}</p>`
  return html`<p>${text('secondStep.reset')}</p>
${buttonForm({ action, csrf }, 'reset', text('recover.ask'), 'second')}`
}

/** The field for a code of six digits. */
function codeField(more: Html, hint: Html, problem?: HtmlValue): Html {
  return inputField({
    id: 'code',
    label: text('form.code'),
    hint,
    problem,
    attributes: html` type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="20" required${more}`,
  })
}

export interface SecondFactorPage {
  readonly app: { readonly since: number; readonly codesLeft: number } | undefined
  readonly hrefs: Hrefs<
    'addAuthenticator' | 'passkeys' | 'recoveryCodes' | 'removeSecondFactor' | 'sessions'
  >
}

/** The page where a person sets up or removes an authenticator app, and renews recovery codes. */
export function secondFactorPage({ app, hrefs }: SecondFactorPage): AreaPage {
  return {
    title: text('secondFactor.title'),
    id: 'second-factor-page',
    body: app
      ? html`<p>${text('secondFactor.since', { time: timeOf(app.since), a: (browsers) => html`<a href="${hrefs.sessions}">${browsers}</a>` })}</p>
<h2>${text('secondFactor.codes')}</h2>
<p id="codes-left">${text('secondFactor.codesLeft', { left: app.codesLeft })}</p>
${buttonForm({ action: hrefs.recoveryCodes }, 'renew', text('secondFactor.renew'), 'second')}
${askFirst(
  text('secondFactor.remove'),
  html`<p>${text('secondFactor.removing')}</p>
${buttonForm({ action: hrefs.removeSecondFactor }, 'remove', text('word.remove'), 'danger')}`,
)}`
      : html`<p>${text('secondFactor.intro')}</p>
${buttonForm({ action: hrefs.addAuthenticator }, 'add', text('secondFactor.add'))}
<p>${text('secondFactor.orPasskey', { a: (add) => html`<a id="passkeys" href="${hrefs.passkeys}">${add}</a>` })}</p>`,
  }
}

export interface NewAuthenticatorPage {
  readonly hrefs: Hrefs<'confirmAuthenticator' | 'secondFactor'>
  readonly sealed: string
  readonly secret: string
  readonly uri: string
  /** The QR code of `uri`, as a data URL. */
  readonly image: string
  readonly problem?: HtmlValue
}

/** Shows the key of a new authenticator app, and asks for its first code. */
export function newAuthenticatorPage(page: NewAuthenticatorPage): AreaPage {
  const { hrefs, sealed, problem } = page
  return {
    title: text('secondFactor.add'),
    isWrong: problem !== undefined,
    id: 'new-authenticator-page',
    scripts: [copyScript],
    body: html`<ol>
<li>${text('secondFactor.scan', { a: (open) => html`<a id="open-app" href="${page.uri}">${open}</a>` })}<br>
<img src="${page.image}" width="220" height="220" alt="${text('secondFactor.qr')}"></li>
<li>${text('secondFactor.key')}
${snippet(page.secret.replace(/.{4}(?=.)/g, '$& '), 'key')}</li>
</ol>
${postForm({ action: hrefs.confirmAuthenticator, hidden: { sealed } }, [
  codeField(html``, text('secondFactor.enter'), problem),
  submitButton('confirm', text('secondFactor.confirm'), { cancelHref: hrefs.secondFactor }),
])}`,
  }
}

/** Shows new recovery codes. The service shows them only once. */
export function recoveryCodesPage(page: {
  readonly codes: readonly string[]
  readonly nextHref: string
}): AreaPage {
  return {
    title: text('secondFactor.codes'),
    id: 'recovery-codes-page',
    scripts: [copyScript],
    done: text('secondFactor.on'),
    body: html`<p>${text('secondFactor.print')}</p>
${snippet(page.codes.join('\n'))}
<p><a id="next" class="button" href="${page.nextHref}">${text('secondFactor.kept')}</a></p>`,
  }
}
