import type { AreaPage } from './area.ts'
import { choice, passwordField, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { showPasswordScript } from './script.ts'
import { text } from './text.ts'

/** Problems with the fields of a password form, as sentences. */
export interface PasswordProblems {
  readonly current?: HtmlValue
  readonly password?: HtmlValue
  readonly repeated?: HtmlValue
  /** The problem with the code of a one-time link. */
  readonly code?: HtmlValue
}

export interface SecurityPage {
  readonly email: string
  readonly charactersMin: number
  readonly recoverHref: string
  readonly problems?: PasswordProblems | undefined
  readonly endApps: boolean
}

/** The page where a person changes their password. */
export function securityPage(page: SecurityPage): AreaPage {
  const { problems = {}, email } = page
  const wrong = Object.values(problems).some(Boolean)
  const fields = html`${usernameField(email)}
${passwordField({ id: 'current', label: text('password.current'), problem: problems.current, attributes: html` autocomplete="current-password" required` })}
<p class="small"><a href="${page.recoverHref}">${text('password.unknown')}</a></p>
${newPasswordFields(page)}
${endAppsField(page.endApps)}
${submitButton('save', text('password.change'))}`
  return {
    title: text('password.label'),
    isWrong: wrong,
    id: 'security-page',
    scripts: [showPasswordScript],
    body: html`${problemAlert('form-problem', wrong ? text('password.notChanged') : undefined)}
${postForm({}, fields)}`,
  }
}

/** The hidden field that tells password managers which account the password is for. */
export function usernameField(email: string): Html {
  return html`<input type="hidden" name="username" autocomplete="username" value="${email}">`
}

/** The two fields for a new password, with the rule that the password must follow. */
export function newPasswordFields(page: Pick<SecurityPage, 'charactersMin' | 'problems'>): Html {
  const { charactersMin, problems = {} } = page
  return html`${passwordField({
    id: 'password',
    label: text('password.new'),
    hint: text('password.rule', { min: charactersMin }),
    problem: problems.password,
    attributes: newPassword,
  })}
${passwordField({ id: 'repeated', label: text('password.again'), problem: problems.repeated, attributes: newPassword })}`
}

/** Asks whether connected apps should lose their access, too. */
export function endAppsField(checked: boolean): Html {
  return choice(
    { type: 'checkbox', name: 'end_apps', value: 'yes', checked },
    text('password.endApps'),
  )
}

const newPassword = html` autocomplete="new-password" required`
