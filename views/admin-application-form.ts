import { powerNotice } from './admin-applications.ts'
import type { AreaPage } from './area.ts'
import {
  choice,
  fieldProblem,
  inputField,
  postForm,
  problemAlert,
  submitButton,
  textField,
} from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { inCode, listText, text } from './text.ts'

export interface ApplicationFormPage {
  /** The name of the application being edited; undefined for a new application. */
  readonly editing: string | undefined
  readonly action: string
  readonly cancelHref: string
  readonly typed: { readonly scopes: readonly string[]; readonly isEndless?: boolean } & Readonly<
    Record<'name' | 'redirectUris' | 'postLogoutRedirectUris' | 'authMethod', string>
  >
  /** The URI schemes of known assistants. Redirect URIs may use them. */
  readonly appSchemes: readonly string[]
  readonly choices: readonly { readonly name: string; readonly words: HtmlValue }[]
  readonly problems: {
    readonly name?: Html | undefined
    readonly redirectUris?: readonly Html[] | undefined
    readonly postLogoutRedirectUris?: readonly Html[] | undefined
    readonly authMethod?: Html | undefined
    readonly scopes?: Html | undefined
  }
  /** A problem that does not belong to a single field. */
  readonly problem?: HtmlValue
}

/** The form that creates or edits an application. */
export function applicationFormPage(page: ApplicationFormPage): AreaPage {
  const { editing, problems } = page
  const isOperator = actsForOwner(page.typed)
  const newTitle = isOperator ? 'applications.operator.title' : 'applications.new.title'
  const title = editing === undefined ? newTitle : 'applications.edit.title'
  const isWrong = page.problem !== undefined || Object.values(problems).some(Boolean)
  const save = text(editing === undefined ? 'applications.create' : 'word.save')
  const fields = html`${nameField(page)}
${redirectField(page)}
${afterSignOutField(page)}
${editing === undefined && !isOperator && kindField(page)}
${scopeField(page)}
${isOperator && endlessField(page)}
${submitButton('save', save, page)}`
  return {
    title: html`<bdi>${text(title, { name: editing })}</bdi>`,
    isWrong,
    id: 'application-form-page',
    body: html`${problemAlert('form-problem', page.problem ?? (isWrong ? text('applications.notSaved') : undefined))}
${isOperator && powerNotice()}${postForm(page, fields)}`,
  }
}

/** Whether the application acts for an owner. */
const actsForOwner = ({ authMethod }: ApplicationFormPage['typed']) => authMethod === 'operator'

function nameField({ typed, problems }: ApplicationFormPage): Html {
  return inputField({
    id: 'name',
    label: text('word.name'),
    hint: text(actsForOwner(typed) ? 'applications.operator.name' : 'applications.nameHint'),
    problem: problems.name,
    attributes: html` type="text" maxlength="200" autocomplete="off" required value="${typed.name}"`,
  })
}

function redirectField({ typed, problems, appSchemes }: ApplicationFormPage): Html {
  const schemes = ['com.example.app:/', ...appSchemes].map(inCode)
  const field = {
    id: 'redirect-uris',
    name: 'redirect_uris',
    label: text('applications.redirectUris'),
    hint: actsForOwner(typed)
      ? text('applications.operator.redirects')
      : text('applications.redirectHint', { schemes: listText(schemes) }),
    problem: problems.redirectUris,
    attributes: html` rows="4" required spellcheck="false" autocapitalize="none"`,
  }
  return textField(field, typed.redirectUris)
}

function afterSignOutField({ typed, problems }: ApplicationFormPage): Html {
  const field = {
    id: 'post-logout-uris',
    name: 'post_logout_redirect_uris',
    label: text('applications.postLogoutUris'),
    problem: problems.postLogoutRedirectUris,
    attributes: html` rows="2" spellcheck="false" autocapitalize="none"`,
  }
  return textField(field, typed.postLogoutRedirectUris)
}

const kinds = ['none', 'client_secret_post'] as const

function kindField({ typed, problems }: ApplicationFormPage): Html {
  return html`<fieldset${problems.authMethod !== undefined && html` aria-describedby="kind-problem"`}>
<legend>${text('applications.kind')}</legend>
<p class="hint">${text('applications.kindHint')}</p>
${fieldProblem('kind', problems.authMethod)}
${kinds.map((value) =>
  choice(
    { type: 'radio', name: 'auth_method', value, checked: typed.authMethod === value },
    text(`applications.kindOf.${value}`),
  ),
)}</fieldset>`
}

function scopeField({ typed, choices, problems, editing }: ApplicationFormPage): Html {
  const hints = [
    actsForOwner(typed) && text('applications.operator.scopes'),
    editing && text('applications.scopesRemoved'),
  ]
  return html`<fieldset${problems.scopes !== undefined && html` aria-describedby="scopes-problem"`}>
<legend>${text('applications.scopes')}</legend>
${hints.map((hint) => hint && html`<p class="hint">${hint}</p>\n`)}${fieldProblem('scopes', problems.scopes)}
${choices.map(({ name, words }) =>
  choice(
    { type: 'checkbox', name: 'scope', value: name, checked: typed.scopes.includes(name) },
    html`${words} <span class="muted"><code>${name}</code></span>`,
  ),
)}</fieldset>`
}

/** Renders the checkbox for grants that last while in use, and the hidden field that marks an operator application. */
function endlessField({ typed }: ApplicationFormPage): Html {
  return html`<input type="hidden" name="auth_method" value="operator">
${choice(
  { type: 'checkbox', name: 'endless', value: 'yes', checked: typed.isEndless === true },
  html`<strong>${text('applications.endless')}</strong> <span class="muted">${text('applications.endlessHint')}</span>`,
)}`
}
