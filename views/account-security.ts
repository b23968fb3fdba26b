import { type AreaView, areaPage, resultNotice } from './area.ts'
import { csrfField, problemAlert } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'

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
  const { problems = {} } = page
  const wrong = Object.values(problems).some(Boolean)
  return areaPage({
    title: wrong ? 'Password: please correct' : 'Password',
    id: 'security-page',
    area: page.area,
    body: html`<h1>Password</h1>
${resultNotice(page.done)}
${problemAlert('form-problem', wrong ? 'Your password was not changed. Please correct what is marked below.' : undefined)}
<form method="post" action="${page.action}">
${csrfField(page.area.csrf)}
<input type="hidden" name="username" autocomplete="username" value="${page.email}">
${passwordField({ id: 'current', label: 'Current password', autocomplete: 'current-password', problem: problems.current })}
<p class="small"><a href="${page.recoverHref}">I do not know my password</a></p>
${newPasswordFields(page)}
${endAppsField(page.endApps)}
<div class="actions">
<button id="save" type="submit">Change password</button>
</div>
</form>`,
  })
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
    autocomplete: 'new-password',
    hint: `At least ${charactersMin} characters. Several words are easy to remember. Spaces are allowed.`,
    problem: problems.password,
  })}
${passwordField({ id: 'repeated', label: 'New password again', autocomplete: 'new-password', problem: problems.repeated })}`
}

/** Asks whether connected apps lose their access, too. */
export function endAppsField(checked: boolean): Html {
  return html`<label class="choice">
<input type="checkbox" name="end_apps" value="yes"${checked && html` checked`}>
<span>Disconnect all connected apps, too. Untick this only if you are sure that no one else knew your password.</span>
</label>`
}

interface PasswordField {
  readonly id: string
  readonly label: string
  readonly autocomplete: 'current-password' | 'new-password'
  readonly hint?: string | undefined
  readonly problem?: string | undefined
}

function passwordField({ id, label, autocomplete, hint, problem }: PasswordField): Html {
  const describedBy = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ')
  return html`<label for="${id}">${label}</label>
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
${problem && html`<p class="field-problem" id="${id}-problem">${problem}</p>`}
<input id="${id}" name="${id}" type="password" autocomplete="${autocomplete}" maxlength="1024" required${describedBy && html` aria-describedby="${describedBy}"`}${problem && html` aria-invalid="true"`}>`
}
