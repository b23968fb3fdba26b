import { type AreaView, areaPage, cards } from './area.ts'
import { inputField, postForm, problemAlert } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { passkeyForm } from './passkey-form.ts'
import { passkeyScript } from './script.ts'
import { timeOf } from './time.ts'

export const PASSKEY_NAME_CHARACTERS_MAX = 60

interface PasskeyView {
  readonly id: string
  readonly name: string
  readonly addedAt: number
  readonly usedAt: number | null
  /** Null if the passkey is bound to its device. */
  readonly backedUpAt: number | null
  /** When the use of a copy was detected; null if never. */
  readonly clonedAt: number | null
}

export interface PasskeysPage {
  readonly area: AreaView
  readonly passkeys: readonly PasskeyView[]
  readonly removeAction: string
  /** Undefined if the host of the service cannot have passkeys. */
  readonly addHref: string | undefined
  readonly done: string | undefined
}

/** Lists the passkeys of a person, with forms that remove them. */
export function passkeysPage(page: PasskeysPage): Page {
  const { passkeys, addHref } = page
  const none = html`<p id="no-passkeys">You have no passkeys yet.</p>`
  return areaPage({
    ...page,
    title: 'Passkeys',
    id: 'passkeys-page',
    body: html`<p>With a passkey, you sign in by unlocking your phone, your computer or a security key. It cannot be guessed, and
no other site can ask for it. Your password keeps working.</p>
${
  addHref === undefined
    ? html`<p class="notice" id="no-host">Browsers have no passkeys for this service, because its address has no name.</p>`
    : html`<p><a id="add" class="button" href="${addHref}">Add a passkey</a></p>`
}
${cards(
  passkeys.map((passkey) => card(passkey, page)),
  none,
)}`,
  })
}

function card(passkey: PasskeyView, { area, removeAction }: PasskeysPage): Html {
  const { id, name, addedAt, usedAt, backedUpAt, clonedAt } = passkey
  const target = { action: removeAction, csrf: area.csrf, hidden: { passkey: id } }
  return html`<h2><bdi>${name}</bdi></h2>
${clonedAt !== null && html`<p class="notice problem">Someone used a copy of this passkey on ${timeOf(clonedAt)}. It no longer works. Remove it.</p>`}
<dl class="facts">
<div><dt>Stored</dt><dd>${backedUpAt === null ? 'On one device only' : 'Synced between your devices'}</dd></div>
<div><dt>Added</dt><dd>${timeOf(addedAt)}</dd></div>
<div><dt>Last used</dt><dd>${usedAt === null ? 'Never' : timeOf(usedAt)}</dd></div>
</dl>
${postForm(target, html`<div class="actions"><button type="submit" class="danger">Remove <span class="hidden"><bdi>${name}</bdi></span></button></div>`)}`
}

export interface AddPasskeyPage {
  readonly area: AreaView
  readonly action: string
  readonly listHref: string
  readonly name: string
  readonly options: object
  readonly problem: string | undefined
}

/** The page on which a script creates a passkey. */
export function addPasskeyPage({ area, action, listHref, name, ...page }: AddPasskeyPage): Page {
  const { options, problem } = page
  const form = { action, csrf: area.csrf, options, purpose: 'create' } as const
  const length = String(PASSKEY_NAME_CHARACTERS_MAX)
  const attributes = html` type="text" autocomplete="off" maxlength="${length}" required value="${name}"`
  const fields = inputField({ id: 'name', label: 'Name', attributes })
  return areaPage({
    area,
    title: problem === undefined ? 'Add a passkey' : 'Add a passkey: please try again',
    heading: 'Add a passkey',
    id: 'add-passkey-page',
    scripts: [passkeyScript],
    back: { href: listHref, name: 'Passkeys' },
    body: html`${problemAlert('form-problem', problem)}
<p id="passkey-unsupported" class="notice">This browser cannot add a passkey. Use a current browser with JavaScript.</p>
${passkeyForm({ ...form, fields })}`,
  })
}
