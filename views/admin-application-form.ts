import { type AreaView, areaPage } from './area.ts'
import { csrfField, problemAlert } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'

export interface ApplicationFormPage {
  readonly area: AreaView
  /** The name of the application being edited; undefined for a new one. */
  readonly editing: string | undefined
  readonly action: string
  readonly cancelHref: string
  readonly typed: {
    readonly name: string
    readonly redirectUris: string
    readonly postLogoutRedirectUris: string
    readonly authMethod: string
    readonly scopes: readonly string[]
  }
  /** Schemes of known assistants, which redirect URIs may use. */
  readonly appSchemes: readonly string[]
  readonly choices: readonly { readonly name: string; readonly words: string }[]
  readonly problems: {
    readonly name?: string | undefined
    readonly redirectUris?: readonly string[] | undefined
    readonly postLogoutRedirectUris?: readonly string[] | undefined
    readonly authMethod?: string | undefined
    readonly scopes?: string | undefined
  }
  /** A problem that does not belong to a single field. */
  readonly problem?: string | undefined
}

/** The form that creates or edits an application. */
export function applicationFormPage(page: ApplicationFormPage): Page {
  const { area, editing, problems } = page
  const heading = editing === undefined ? 'New application' : `Edit ${editing}`
  const wrong = page.problem !== undefined || Object.keys(problems).length > 0
  return areaPage({
    title: wrong ? `${heading}: please correct` : heading,
    id: 'application-form-page',
    area,
    body: html`<h1><bdi>${heading}</bdi></h1>
${problemAlert('form-problem', page.problem ?? (wrong ? 'Please correct what is marked below. Nothing was saved.' : undefined))}
<form method="post" action="${page.action}">
${csrfField(area.csrf)}
${nameField(page)}
${redirectField(page)}
${afterSignOutField(page)}
${editing === undefined && kindField(page)}
${scopeField(page)}
<div class="actions">
<button id="save" type="submit">${editing === undefined ? 'Create application' : 'Save'}</button>
<a id="cancel" class="button second" href="${page.cancelHref}">Cancel</a>
</div>
</form>`,
  })
}

function nameField({ typed, problems }: ApplicationFormPage): Html {
  return html`<label for="name">Name</label>
<p class="hint" id="name-hint">Members read it when they are asked for access.</p>
${fieldProblem('name-problem', problems.name)}
<input id="name" name="name" type="text" maxlength="200" autocomplete="off" required value="${typed.name}"${described('name', problems.name)}>`
}

function redirectField(page: ApplicationFormPage): Html {
  const { typed, problems } = page
  const wrong = problems.redirectUris
  return html`<label for="redirect-uris">Redirect addresses</label>
<p class="hint" id="redirect-uris-hint">One a line, exactly as the application sends them. <code>https://</code>
addresses, <code>http://127.0.0.1/…</code> for a program on a computer, or a scheme like
<code>com.example.app:/</code> for an app on a device${page.appSchemes.length > 0 && html` (or that of a known assistant: ${page.appSchemes.map((scheme, index) => html`${index > 0 && ', '}<code>${scheme}</code>`)})`}.<br>
<strong>A word of warning:</strong> any app on a device may claim such a scheme for itself, and then receives what was
meant for yours. Prefer <code>https://</code> where the app has it; members are asked at every sign-in that ends at a scheme.</p>
${addressProblems('redirect-uris-problem', wrong)}
<textarea id="redirect-uris" name="redirect_uris" rows="4" required spellcheck="false" autocapitalize="none"${described('redirect-uris', wrong)}>
${typed.redirectUris}</textarea>`
}

/** The field for `post_logout_redirect_uris`. */
function afterSignOutField({ typed, problems }: ApplicationFormPage): Html {
  const wrong = problems.postLogoutRedirectUris
  return html`<label for="post-logout-uris">Addresses after sign-out <span class="muted">(optional)</span></label>
<p class="hint" id="post-logout-uris-hint">Where the browser goes when a member signs out through the application: its
<code>post_logout_redirect_uri</code>, one a line, exactly as it is sent.</p>
${addressProblems('post-logout-uris-problem', wrong)}
<textarea id="post-logout-uris" name="post_logout_redirect_uris" rows="2" spellcheck="false" autocapitalize="none"${described('post-logout-uris', wrong)}>
${typed.postLogoutRedirectUris}</textarea>`
}

function addressProblems(id: string, wrong: readonly string[] | undefined): Html | undefined {
  return (
    wrong &&
    html`<ul class="field-problem" id="${id}">
${wrong.map((problem) => html`<li>${problem}</li>\n`)}</ul>`
  )
}

const kinds = [
  {
    value: 'none',
    label: 'Public',
    what: 'runs on the devices of its users (an app, a browser page, a command-line tool, an MCP client) and cannot keep a secret',
  },
  {
    value: 'client_secret_post',
    label: 'Confidential',
    what: 'runs on a server of its own and keeps a secret there',
  },
]

function kindField({ typed, problems }: ApplicationFormPage): Html {
  return html`<fieldset${problems.authMethod !== undefined && html` aria-describedby="kind-problem"`}>
<legend>Kind</legend>
<p class="hint">It cannot be changed later.</p>
${fieldProblem('kind-problem', problems.authMethod)}
${kinds.map(
  ({ value, label, what }) => html`<label class="choice">
<input type="radio" name="auth_method" value="${value}" required${typed.authMethod === value && html` checked`}>
<span><strong>${label}</strong> <span class="muted">${what}</span></span>
</label>
`,
)}</fieldset>`
}

function scopeField({ typed, choices, problems, editing }: ApplicationFormPage): Html {
  return html`<fieldset${problems.scopes !== undefined && html` aria-describedby="scopes-problem"`}>
<legend>What it may request</legend>
<p class="hint">Every application may also ask who the member is (<code>openid</code>,
<code>profile</code>, <code>email</code>). Each member is asked before anything is shared.${
    editing !== undefined &&
    ' When you take one away, all access that has it ends at once and members connect again.'
  }</p>
${fieldProblem('scopes-problem', problems.scopes)}
${choices.map(
  ({ name, words }) => html`<label class="choice">
<input type="checkbox" name="scope" value="${name}"${typed.scopes.includes(name) && html` checked`}>
<span><strong>${words}</strong> <span class="muted"><code>${name}</code></span></span>
</label>
`,
)}</fieldset>`
}

function fieldProblem(id: string, problem: string | undefined): Html | undefined {
  return problem === undefined
    ? undefined
    : html`<p class="field-problem" id="${id}">${problem}</p>`
}

function described(field: string, problem: unknown): Html {
  return problem === undefined
    ? html` aria-describedby="${field}-hint"`
    : html` aria-invalid="true" aria-describedby="${field}-hint ${field}-problem"`
}
