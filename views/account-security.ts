import { type AreaView, areaPage } from './area.ts'
import { choice, passwordField, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { showPasswordScript } from './script.ts'

/** Problems with the fields of a password form, as sentences. */
export interface PasswordProblems {
  readonly current?: string | undefined
  readonly password?: string | undefined
  readonly repeated?: string | undefined
  /** The problem with the code of a one-time link. */
  readonly code?: string | undefined
}

export interface SecurityPage {
  readonly area: AreaView
  readonly email: string
  readonly action: string
  readonly charactersMin: number
  readonly recoverHref: string
  readonly problems?: PasswordProblems | undefined
  readonly endApps: boolean
  readonly done?: string | undefined
}

/** The page where a person changes the password. */
export function securityPage(page: SecurityPage): Page {
  const { problems = {}, action, email } = page
  const wrong = Object.values(problems).some(Boolean)
  const form = { action, csrf: page.area.csrf }
  const fields = html`${usernameField(email)}
${passwordField({ id: 'current', label: 'Current password', problem: problems.current, attributes: html` autocomplete="current-password" required` })}
<p class="small"><a href="${page.recoverHref}">I do not know my password</a></p>
${newPasswordFields(page)}
${endAppsField(page.endApps)}
${submitButton('save', 'Change password')}`
  return areaPage({
    ...page,
    title: wrong ? 'Password: please correct' : 'Password',
    heading: 'Password',
    id: 'security-page',
    scripts: [showPasswordScript],
    body: html`${problemAlert('form-problem', wrong ? 'Your password was not changed. Please correct what is marked below.' : undefined)}
${postForm(form, fields)}`,
  })
}

/** The hidden field that tells password managers the account. */
export function usernameField(email: string): Html {
  return html`<input type="hidden" name="username" autocomplete="username" value="${email}">`
}

/** The two fields of a new password, with the rule that it must follow. */
export function newPasswordFields({
  charactersMin,
  problems = {},
}: {
  readonly charactersMin: number
  readonly problems?: PasswordProblems | undefined
}): Html {
  return html`${passwordField({
    id: 'password',
    label: 'New password',
    hint: `At least ${charactersMin} characters. Several words are easy to remember. Spaces are allowed.`,
    problem: problems.password,
    attributes: newPassword,
  })}
${passwordField({ id: 'repeated', label: 'New password again', problem: problems.repeated, attributes: newPassword })}`
}

/** Asks whether connected apps lose their access, too. */
export function endAppsField(checked: boolean): Html {
  return choice(
    { type: 'checkbox', name: 'end_apps', value: 'yes', checked },
    html`Disconnect all connected apps, too. Untick this only if you are sure that no one else knew your password.`,
  )
}

const newPassword = html` autocomplete="new-password" required`
