import { type AreaView, areaPage, cards } from './area.ts'
import { buttonForm, choice, inputField, postForm, problemAlert, submitButton } from './forms.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'

export interface ProvidersPage {
  readonly area: AreaView
  readonly siteName: string
  readonly providers: readonly Readonly<
    Record<'name' | 'issuer' | 'redirectUri' | 'removeAction', string>
  >[]
  readonly action: string
  readonly typed: Readonly<Record<'name' | 'issuer' | 'clientId', string>>
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
}: ProvidersPage): Page {
  const rows = providers.map(
    ({ name, issuer, redirectUri, removeAction }, position) => html`<bdi>${name}</bdi><br>
<code>${issuer}</code><br><span class="muted">Redirect URI</span> <code>${redirectUri}</code>
${buttonForm({ action: removeAction, csrf: area.csrf }, `remove-${position}`, 'Remove', 'danger')}`,
  )
  const field = (id: 'name' | 'issuer' | 'clientId', label: string, hint?: string) =>
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
${problemAlert('provider-problem', problem)}
${postForm(
  { action, csrf: area.csrf },
  html`${field('name', 'Name', 'It is on the button of the sign-in page.')}
${field('issuer', 'Issuer', 'An https URL, such as https://accounts.google.com.')}
${field('clientId', 'Client ID')}
${inputField({ id: 'clientSecret', label: 'Client secret', attributes: html` type="password" maxlength="500" autocomplete="off" required` })}
<fieldset><legend>Role at the first sign-in</legend>
${choice({ type: 'radio', name: 'role', value: 'student', checked: true }, html`Student`)}${choice({ type: 'radio', name: 'role', value: 'lecturer' }, html`Lecturer`)}</fieldset>
${submitButton('add', 'Add')}`,
)}`,
  })
}
