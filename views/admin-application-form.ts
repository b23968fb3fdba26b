import { powerNotice } from './admin-applications.ts'
import { type AreaView, areaPage } from './area.ts'
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
import type { Page } from './layout.ts'
import { text } from './text.ts'

export interface ApplicationFormPage {
  readonly area: AreaView
  /** The name of the application being edited; undefined for a new application. */
  readonly editing: string | undefined
  readonly action: string
  readonly cancelHref: string
  readonly typed: { readonly scopes: readonly string[]; readonly isEndless?: boolean } & Readonly<
    Record<'name' | 'redirectUris' | 'postLogoutRedirectUris' | 'authMethod', string>
  >
  /** Schemes of known assistants, which redirect URIs may use. */
  readonly appSchemes: readonly string[]
  readonly choices: readonly { readonly name: string; readonly words: HtmlValue }[]
  readonly problems: {
    readonly name?: string | undefined
    readonly redirectUris?: readonly string[] | undefined
    readonly postLogoutRedirectUris?: readonly string[] | undefined
    readonly authMethod?: string | undefined
    readonly scopes?: string | undefined
  }
  /** A problem that does not belong to a single field. */
  readonly problem?: HtmlValue
}

/** The form that creates or edits an application. */
export function applicationFormPage(page: ApplicationFormPage): Page {
  const { area, editing, problems } = page
  const isOperator = ofOperator(page.typed) !== undefined
  const newHeading = isOperator ? 'New operator application' : 'New application'
  const heading = editing === undefined ? newHeading : `Edit ${editing}`
  const wrong = page.problem !== undefined || Object.keys(problems).length > 0
  const save = editing === undefined ? 'Create application' : 'Save'
  const fields = html`${nameField(page)}
${redirectField(page)}
${afterSignOutField(page)}
${editing === undefined && !isOperator && kindField(page)}
${scopeField(page)}
${isOperator && endlessField(page)}
${submitButton('save', save, page)}`
  return areaPage({
    language: 'en',
    title: wrong ? `${heading}: please correct` : heading,
    heading: html`<bdi>${heading}</bdi>`,
    id: 'application-form-page',
    area,
    body: html`${problemAlert('form-problem', page.problem ?? (wrong ? 'Please correct what is marked below. Nothing was saved.' : undefined))}
${isOperator && powerNotice()}${postForm({ action: page.action, csrf: area.csrf }, fields)}`,
  })
}

/** The hints for an application that acts for an owner. */
function ofOperator({ authMethod }: ApplicationFormPage['typed']) {
  if (authMethod !== 'operator') return undefined
  return {
    name: text('applications.operator.name'),
    redirects: text('applications.operator.redirects'),
    scopes: text('applications.operator.scopes'),
  }
}

function nameField({ typed, problems }: ApplicationFormPage): Html {
  return inputField({
    id: 'name',
    label: 'Name',
    hint: ofOperator(typed)?.name ?? 'Members read it when they are asked for access.',
    problem: problems.name,
    attributes: html` type="text" maxlength="200" autocomplete="off" required value="${typed.name}"`,
  })
}

function redirectField({ typed, problems, appSchemes }: ApplicationFormPage): Html {
  const schemes = appSchemes.map((each, index) => html`${index > 0 && ', '}<code>${each}</code>`)
  const field = {
    id: 'redirect-uris',
    name: 'redirect_uris',
    label: 'Redirect addresses',
    hint:
      ofOperator(typed)?.redirects ??
      html`One per line, exactly as the application sends them: <code>https://</code>,
<code>http://127.0.0.1/…</code> for a program on a computer, or <code>com.example.app:/</code> for an app on a device${schemes.length > 0 && html`, also ${schemes}`}.
Prefer <code>https://</code>, because another app can claim a scheme.`,
    problem: problems.redirectUris,
    attributes: html` rows="4" required spellcheck="false" autocapitalize="none"`,
  }
  return textField(field, typed.redirectUris)
}

function afterSignOutField({ typed, problems }: ApplicationFormPage): Html {
  const field = {
    id: 'post-logout-uris',
    name: 'post_logout_redirect_uris',
    label: html`Addresses after sign-out <span class="muted">(optional)</span>`,
    hint: 'One per line, exactly as the application sends them.',
    problem: problems.postLogoutRedirectUris,
    attributes: html` rows="2" spellcheck="false" autocapitalize="none"`,
  }
  return textField(field, typed.postLogoutRedirectUris)
}

const kinds = [
  {
    value: 'none',
    label: 'Public',
    what: 'runs on the devices of its users, and cannot keep a secret',
  },
  {
    value: 'client_secret_post',
    label: 'Confidential',
    what: 'runs on its own server, and keeps a secret there',
  },
]

function kindField({ typed, problems }: ApplicationFormPage): Html {
  return html`<fieldset${problems.authMethod !== undefined && html` aria-describedby="kind-problem"`}>
<legend>Kind</legend>
<p class="hint">It cannot be changed later.</p>
${fieldProblem('kind', problems.authMethod)}
${kinds.map(({ value, label, what }) =>
  choice(
    { type: 'radio', name: 'auth_method', value, checked: typed.authMethod === value },
    html`<strong>${label}</strong> <span class="muted">${what}</span>`,
  ),
)}</fieldset>`
}

function scopeField({ typed, choices, problems, editing }: ApplicationFormPage): Html {
  return html`<fieldset${problems.scopes !== undefined && html` aria-describedby="scopes-problem"`}>
<legend>What it may request</legend>
<p class="hint">${
    ofOperator(typed)?.scopes ??
    'Every application may also ask who the member is. Each member decides first.'
  }${editing !== undefined && ' If you remove one, access that has it ends at once.'}</p>
${fieldProblem('scopes', problems.scopes)}
${choices.map(({ name, words }) =>
  choice(
    { type: 'checkbox', name: 'scope', value: name, checked: typed.scopes.includes(name) },
    html`<strong>${words}</strong> <span class="muted"><code>${name}</code></span>`,
  ),
)}</fieldset>`
}

/** The choice that only an application that acts for an owner has. The hidden field names its kind. */
function endlessField({ typed }: ApplicationFormPage): Html {
  return html`<input type="hidden" name="auth_method" value="operator">
${choice(
  { type: 'checkbox', name: 'endless', value: 'yes', checked: typed.isEndless === true },
  html`<strong>${text('applications.endless')}</strong> <span class="muted">${text('applications.endlessHint')}</span>`,
)}`
}
