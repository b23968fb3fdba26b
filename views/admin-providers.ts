import { type AreaPage, cards } from './area.ts'
import {
  buttonForm,
  choice,
  inputField,
  postForm,
  problemAlert,
  removal,
  submitButton,
} from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { listText, text } from './text.ts'

type TextField = 'name' | 'issuer' | 'clientId' | 'emailClaim' | 'verifiedClaim' | 'nameClaim'

export interface ProvidersPage {
  readonly siteName: string
  readonly providers: readonly Readonly<
    Record<'name' | 'issuer' | 'redirectUri' | 'domainsAction' | 'removeAction', string> & {
      readonly domains: readonly string[]
      /** The TXT record that proves ownership of a domain. */
      readonly proof: Readonly<Record<'name' | 'value', string>>
    }
  >[]
  readonly signOutUri: string
  /** Whether the providers are the only way to sign in to the site. */
  readonly isOnly: boolean
  readonly onlyAction: string
  readonly action: string
  readonly typed: Readonly<Record<TextField, string>>
  /** Links that fill in the form for common providers. */
  readonly presets: readonly { readonly name: string; readonly href: string }[]
  /** The steps to follow at the chosen provider. */
  readonly steps: Html | undefined
  readonly problem: HtmlValue
}

/** Lists the identity providers of a site, with the form that adds one. */
export function providersPage(page: ProvidersPage): AreaPage {
  const { siteName, providers, signOutUri, isOnly, onlyAction } = page
  const { action, typed, problem, presets, steps } = page
  const rows = providers.map(
    ({ domains, proof, ...provider }, position) => html`<bdi>${provider.name}</bdi><br>
<code>${provider.issuer}</code><br><span class="muted">${text('providers.redirectUri')}</span> <code>${provider.redirectUri}</code><br>
<span class="muted">${text('providers.signOutUri')}</span> <code>${signOutUri}</code>
${postForm({ action: provider.domainsAction }, [
  inputField({
    id: `domains-${position}`,
    name: 'domains',
    label: text('providers.domains'),
    hint: text('providers.domainsHint', {
      record: html`<code>${proof.name}</code>`,
      value: html`<code>${proof.value}</code>`,
    }),
    attributes: html` type="text" maxlength="5000" autocomplete="off" autocapitalize="none" spellcheck="false" value="${domains.join(' ')}"`,
  }),
  submitButton(`save-${position}`, text('providers.saveDomains'), { kind: 'second' }),
])}
${removal(provider.name, { action: provider.removeAction })}`,
  )
  const [isOnlyWay, site] = [isOnly ? 'yes' : 'no', html`<bdi>${siteName}</bdi>`]
  const links = presets.map(({ name, href }) => html`<a href="${href}"><bdi>${name}</bdi></a>`)
  const only = html`<h2>${text('providers.others')}</h2>
<p>${text('providers.onlyState', { only: isOnlyWay, site })}</p>
${buttonForm({ action: onlyAction, hidden: { on: isOnly ? 'no' : 'yes' } }, 'only', text('providers.onlyButton', { only: isOnlyWay }), 'second')}
`
  const field = (id: TextField, label: HtmlValue, hint?: HtmlValue) =>
    inputField({
      id,
      label,
      hint,
      attributes: html` type="text" maxlength="500" autocomplete="off" required value="${typed[id]}"`,
    })
  return {
    title: text('adminNav.identityProviders'),
    id: 'identity-providers-page',
    body: html`<p>${text('providers.intro')}</p>
${problemAlert('provider-problem', problem)}
${cards(rows, html`<p class="empty" id="no-providers">${text('providers.none')}</p>`)}
${providers.length > 0 && only}<h2>${text('providers.add')}</h2>
<p>${text('providers.fill', { presets: listText(links) })}</p>
${steps !== undefined && html`<p class="notice" id="steps">${steps}</p>`}
${postForm(
  { action },
  html`${field('name', text('word.name'), text('providers.nameHint'))}
${field('issuer', text('identities.issuer'))}
${field('clientId', text('providers.clientId'))}
${inputField({ id: 'clientSecret', label: text('providers.clientSecret'), attributes: html` type="password" maxlength="500" autocomplete="off" required` })}
<details><summary>${text('providers.claims')}</summary>
${field('emailClaim', text('form.email'))}
${field('verifiedClaim', text('providers.verifiedClaim'), text('providers.verifiedHint'))}
${field('nameClaim', text('word.name'))}
</details>
<fieldset><legend>${text('providers.role')}</legend>
${choice({ type: 'radio', name: 'role', value: 'student', checked: true }, text('adminPeople.roleOf.STUDENT'))}${choice({ type: 'radio', name: 'role', value: 'lecturer' }, text('adminPeople.roleOf.LECTURER'))}</fieldset>
${submitButton('add', text('word.add'))}`,
)}`,
  }
}
