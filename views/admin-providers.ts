import { type AreaView, areaPage, cards } from './area.ts'
import { buttonForm, choice, inputField, postForm, problemAlert, submitButton } from './forms.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'

type TextField = 'name' | 'issuer' | 'clientId' | 'emailClaim' | 'verifiedClaim' | 'nameClaim'

export interface ProvidersPage {
  readonly area: AreaView
  readonly siteName: string
  readonly providers: readonly Readonly<
    Record<'name' | 'issuer' | 'redirectUri' | 'removeAction', string>
  >[]
  readonly action: string
  readonly typed: Readonly<Record<TextField, string>>
  /** Links that fill the form in for a common provider. */
  readonly presets: readonly { readonly name: string; readonly href: string }[]
  /** What to do at the chosen provider. */
  readonly steps: string | undefined
  readonly problem: string | undefined
}

/** Lists the identity providers of a site, with the form that adds one. */
export function providersPage({
  area,
  siteName,
  providers,
  action,
  typed,
  problem,
  presets,
  steps,
}: ProvidersPage): Page {
  const rows = providers.map(
    ({ name, issuer, redirectUri, removeAction }, position) => html`<bdi>${name}</bdi><br>
<code>${issuer}</code><br><span class="muted">Redirect URI</span> <code>${redirectUri}</code>
${buttonForm({ action: removeAction, csrf: area.csrf }, `remove-${position}`, 'Remove', 'danger')}`,
  )
  const field = (id: TextField, label: string, hint?: string) =>
    inputField({
      id,
      label,
      hint,
      attributes: html` type="text" maxlength="500" autocomplete="off" required value="${typed[id]}"`,
    })
  return areaPage({
    title: 'Identity providers',
    id: 'identity-providers-page',
    area,
    body: html`<p>People sign in to applications of <bdi>${siteName}</bdi> with the OpenID Connect provider of your school or
company. Such a sign-in counts only at this site.</p>
${cards(rows, html`<p id="no-providers">There is no identity provider yet.</p>`)}
<h2>Add one</h2>
<p>Fill the form in for ${presets.map(({ name, href }) => html`<a href="${href}">${name}</a>, `)}or enter any other OpenID
Connect provider. After you add it, this page shows the redirect URI to register there. Apple is not supported, because its
client secret is a token that expires.</p>
${steps !== undefined && html`<p class="notice" id="steps">${steps}</p>`}
${problemAlert('provider-problem', problem)}
${postForm(
  { action, csrf: area.csrf },
  html`${field('name', 'Name', 'It is on the button of the sign-in page.')}
${field('issuer', 'Issuer', 'An https URL, such as https://accounts.google.com.')}
${field('clientId', 'Client ID')}
${inputField({ id: 'clientSecret', label: 'Client secret', attributes: html` type="password" maxlength="500" autocomplete="off" required` })}
<details><summary>Claims</summary>
${field('emailClaim', 'E-mail address')}
${field('verifiedClaim', 'Whether the address is verified', 'Without this claim, people confirm by signing in as before.')}
${field('nameClaim', 'Name')}
</details>
<fieldset><legend>Role at the first sign-in</legend>
${choice({ type: 'radio', name: 'role', value: 'student', checked: true }, html`Student`)}${choice({ type: 'radio', name: 'role', value: 'lecturer' }, html`Lecturer`)}</fieldset>
${submitButton('add', 'Add')}`,
)}`,
  })
}
