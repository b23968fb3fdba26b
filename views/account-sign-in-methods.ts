import { type AreaPage, cards, type Hrefs } from './area.ts'
import { inputField, problemAlert, removal } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { passkeyForm } from './passkey-form.ts'
import { passkeyScript } from './script.ts'
import { text, timeOf } from './text.ts'

export const PASSKEY_NAME_CHARACTERS_MAX = 60

interface PasskeyView {
  readonly id: string
  readonly name: string
  readonly addedAt: number
  readonly usedAt: number | null
  /** Null if the passkey is not backed up and so exists only on its device. */
  readonly backedUpAt: number | null
  /** When the use of a copy of this passkey was detected; null if never. */
  readonly clonedAt: number | null
}

export interface PasskeysPage {
  readonly passkeys: readonly PasskeyView[]
  readonly hrefs: Hrefs<'addPasskey' | 'removePasskey'>
  /** Whether browsers support passkeys for the host of the service. */
  readonly areAvailable: boolean
}

/** Lists the passkeys of a person, with forms that remove them. */
export function passkeysPage(page: PasskeysPage): AreaPage {
  const { passkeys, hrefs, areAvailable } = page
  const none = html`<p class="empty" id="no-passkeys">${text('passkeys.none')}</p>`
  return {
    title: text('passkeys.title'),
    id: 'passkeys-page',
    body: html`<p>${text('passkeys.intro')}</p>
${
  areAvailable
    ? html`<p><a id="add" class="button" href="${hrefs.addPasskey}">${text('passkeys.button.create')}</a></p>`
    : html`<p class="notice" id="no-host">${text('passkeys.noHost')}</p>`
}
${cards(
  passkeys.map((passkey) => passkeyCard(passkey, hrefs.removePasskey)),
  none,
)}`,
  }
}

function passkeyCard(passkey: PasskeyView, action: string): Html {
  const { id, name, addedAt, usedAt, backedUpAt, clonedAt } = passkey
  const target = { action, hidden: { passkey: id } }
  return html`<h2><bdi>${name}</bdi></h2>
${clonedAt !== null && html`<p class="notice problem">${text('passkeys.copied', { time: timeOf(clonedAt) })}</p>`}
<dl class="facts">
<div><dt>${text('passkeys.stored')}</dt><dd>${backedUpAt === null ? text('passkeys.oneDevice') : text('passkeys.synced')}</dd></div>
<div><dt>${text('passkeys.added')}</dt><dd>${timeOf(addedAt)}</dd></div>
<div><dt>${text('word.lastUsed')}</dt><dd>${usedAt === null ? text('word.never') : timeOf(usedAt)}</dd></div>
</dl>
${removal(name, target)}`
}

export interface AddPasskeyPage {
  readonly listHref: string
  readonly name: HtmlValue
  readonly options: object
  readonly problem: HtmlValue
}

/** The page on which a script creates a passkey. */
export function addPasskeyPage({ listHref, name, ...page }: AddPasskeyPage): AreaPage {
  const { options, problem } = page
  const form = { options, purpose: 'create' } as const
  const length = String(PASSKEY_NAME_CHARACTERS_MAX)
  const attributes = html` type="text" autocomplete="off" maxlength="${length}" required value="${name}"`
  const fields = inputField({ id: 'name', label: text('word.name'), attributes })
  return {
    title: text('passkeys.button.create'),
    isWrong: problem !== undefined,
    id: 'add-passkey-page',
    scripts: [passkeyScript],
    back: { href: listHref, name: text('passkeys.title') },
    body: html`${problemAlert('form-problem', problem)}
<p id="passkey-unsupported" class="notice">${text('passkeys.unsupported')}</p>
${passkeyForm({ ...form, fields })}`,
  }
}

interface IdentityView {
  readonly providerId: string
  readonly providerName: string
  readonly issuer: string
  readonly subject: string
  /** The only site at which the provider is trusted; null for a provider of the platform. */
  readonly siteName: HtmlValue
  readonly linkedAt: number
  readonly usedAt: number
}

export interface IdentitiesPage {
  readonly identities: readonly IdentityView[]
  readonly hrefs: Hrefs<'passkeys' | 'removeIdentity'>
  readonly problem: HtmlValue
}

/** Lists the linked identities of a person, with forms that remove them. */
export function identitiesPage(page: IdentitiesPage): AreaPage {
  const { identities, hrefs, problem } = page
  return {
    title: text('identities.title'),
    id: 'identities-page',
    body: html`${problemAlert('form-problem', problem)}
<p>${text('identities.intro', { a: (passkeys) => html`<a id="passkeys" href="${hrefs.passkeys}">${passkeys}</a>` })}</p>
${cards(
  identities.map((identity) => identityCard(identity, hrefs.removeIdentity)),
  html`<p class="empty" id="no-identities">${text('identities.none')}</p>`,
)}`,
  }
}

function identityCard(identity: IdentityView, action: string): Html {
  const { providerId: provider, providerName, issuer, subject } = identity
  const { siteName, linkedAt, usedAt } = identity
  const hidden = { provider, issuer, subject }
  return html`<h2><bdi>${providerName}</bdi></h2>
<dl class="facts">
<div><dt>${text('identities.issuer')}</dt><dd><code>${issuer}</code></dd></div>
<div><dt>${text('identities.opens')}</dt><dd>${siteName === null ? text('identities.whole') : text('identities.only', { site: html`<bdi>${siteName}</bdi>` })}</dd></div>
<div><dt>${text('identities.linked')}</dt><dd>${timeOf(linkedAt)}</dd></div>
<div><dt>${text('word.lastUsed')}</dt><dd>${timeOf(usedAt)}</dd></div>
</dl>
${removal(providerName, { action, hidden })}`
}
