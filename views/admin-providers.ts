import { type AreaView, areaPage, cards } from './area.ts'
import { buttonForm, choice, inputField, postForm, problemAlert, submitButton } from './forms.ts'
import { type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'

type TextField = 'name' | 'issuer' | 'clientId' | 'emailClaim' | 'verifiedClaim' | 'nameClaim'

export interface ProvidersPage {
  readonly area: AreaView
  readonly siteName: string
  readonly providers: readonly Readonly<
    Record<'name' | 'issuer' | 'redirectUri' | 'domainsAction' | 'removeAction', string> & {
      readonly domains: readonly string[]
      /** The TXT record that proves a domain. */
      readonly proof: Readonly<Record<'name' | 'value', string>>
    }
  >[]
  readonly signOutUri: string
  /** Whether the providers are the only way to sign in to the site. */
  readonly isOnly: boolean
  readonly onlyAction: string
  readonly action: string
  readonly typed: Readonly<Record<TextField, string>>
  /** Links that fill the form in for a common provider. */
  readonly presets: readonly { readonly name: string; readonly href: string }[]
  /** The steps at the chosen provider. */
  readonly steps: string | undefined
  readonly problem: HtmlValue
}

/** Lists the identity providers of a site, with the form that adds one. */
export function providersPage({
  area,
  siteName,
  providers,
  signOutUri,
  isOnly,
  onlyAction,
  action,
  typed,
  problem,
  presets,
  steps,
}: ProvidersPage): Page {
  const { csrf } = area
  const rows = providers.map(
    (
      { name, issuer, redirectUri, domains, proof, ...actions },
      position,
    ) => html`<bdi>${name}</bdi><br>
<code>${issuer}</code><br><span class="muted">Redirect URI</span> <code>${redirectUri}</code><br>
<span class="muted">URI after a sign-out</span> <code>${signOutUri}</code>
${postForm({ action: actions.domainsAction, csrf }, [
  inputField({
    id: `domains-${position}`,
    name: 'domains',
    label: 'E-mail domains',
    hint: html`People with an address there are sent to this provider. Prove each with the TXT record <code>${proof.name}</code>: <code>${proof.value}</code>`,
    attributes: html` type="text" maxlength="5000" autocomplete="off" autocapitalize="none" spellcheck="false" value="${domains.join(' ')}"`,
  }),
  submitButton(`save-${position}`, 'Save domains', { kind: 'second' }),
])}
${buttonForm({ action: actions.removeAction, csrf }, `remove-${position}`, 'Remove', 'danger')}`,
  )
  const only = html`<h2>Other ways to sign in</h2>
<p>${
    isOnly
      ? html`People sign in to applications of <bdi>${siteName}</bdi> only with its identity providers.`
      : html`People also sign in to applications of <bdi>${siteName}</bdi> in the ways of this service, such as a password.`
  } Operators open this administration in every way, so that a provider that is down does not lock you out.</p>
${buttonForm({ action: onlyAction, csrf, hidden: { on: isOnly ? 'no' : 'yes' } }, 'only', isOnly ? 'Allow other ways' : 'Allow only identity providers', 'second')}
`
  const field = (id: TextField, label: string, hint?: string) =>
    inputField({
      id,
      label,
      hint,
      attributes: html` type="text" maxlength="500" autocomplete="off" required value="${typed[id]}"`,
    })
  return areaPage({
    language: 'en',
    title: 'Identity providers',
    id: 'identity-providers-page',
    area,
    body: html`<p>People sign in to apps of <bdi>${siteName}</bdi> with your school’s OpenID Connect provider.</p>
${problemAlert('provider-problem', problem)}
${cards(rows, html`<p class="empty" id="no-providers">There is no identity provider yet.</p>`)}
${providers.length > 0 && only}<h2>Add one</h2>
<p>Fill the form in for ${presets.map(({ name, href }) => html`<a href="${href}">${name}</a>, `)}or enter any other
provider. Then register the redirect URI that this page shows there.</p>
${steps !== undefined && html`<p class="notice" id="steps">${steps}</p>`}
${postForm(
  { action, csrf },
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
