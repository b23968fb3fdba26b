import { type AreaView, areaPage } from './area.ts'
import { choice, inputField, postForm, problemAlert, submitButton, textField } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'

export interface FurtherPage {
  readonly area: AreaView
  readonly name: string
  readonly action: string
  readonly cancelHref: string
  /** Which of the optional protocols the deployment enables. */
  readonly on: Readonly<Record<'keys' | 'pushedRequests' | 'boundTokens' | 'logout', boolean>>
  readonly typed: {
    readonly keys: string
    readonly logoutUri: string
    readonly demands: readonly string[]
  }
  readonly problems: { readonly keys?: string; readonly logoutUri?: string }
}

/** The form for the optional protocols of an application. Contains only protocols that the deployment enables. */
export function furtherPage(page: FurtherPage): Page {
  const { area, name, on, problems } = page
  const wrong = Object.keys(problems).length > 0
  const heading = `Security of ${name}`
  const fields = html`${on.keys && keysField(page)}
${demandsField(page)}
${on.logout && logoutField(page)}
${submitButton('save', 'Save', page)}`
  return areaPage({
    language: 'en',
    title: wrong ? `${heading}: please correct` : heading,
    heading: html`<bdi>${heading}</bdi>`,
    id: 'further-page',
    area,
    body: html`<p>Agree on each of these with the maker of the application first: it stops working when its program does
not do the same.</p>
${problemAlert('form-problem', wrong ? 'Please correct what is marked below. Nothing was saved.' : undefined)}
${postForm({ action: page.action, csrf: area.csrf }, fields)}`,
  })
}

function keysField({ typed, problems }: FurtherPage): Html {
  const field = {
    id: 'keys',
    label: 'Public keys',
    hint: html`Instead of a secret, the application may prove with a key of its own who it
is (<code>private_key_jwt</code>). Enter the <code>https://</code> address of its keys, or the keys
themselves as a JWK set. While something stands here, its secrets are not accepted.`,
    problem: problems.keys,
    attributes: html` rows="4" spellcheck="false" autocapitalize="none"`,
  }
  return textField(field, typed.keys)
}

function demandsField({ typed, on }: FurtherPage): Html | undefined {
  const rows = [
    on.pushedRequests && {
      value: 'pushed_requests',
      label: 'Only pushed requests',
      what: 'it hands its request to this service before it sends a person here (PAR)',
    },
    on.boundTokens && {
      value: 'bound_tokens',
      label: 'Only bound tokens',
      what: 'its tokens work together with its key only, so that a stolen one is of no use (DPoP)',
    },
  ].filter((row) => row !== false)
  if (rows.length === 0) return undefined
  return html`<fieldset>
<legend>What must hold</legend>
${rows.map(({ value, label, what }) => box({ value, label, what, typed }))}</fieldset>`
}

function logoutField({ typed, problems }: FurtherPage): Html {
  const label = 'Name the session'
  const what = 'each notice says which sign-in is over (session required)'
  return html`${inputField({
    id: 'logout-uri',
    name: 'logout_uri',
    label: 'Address for sign-outs',
    hint: html`This service tells it when a person signs out, removes the application,
or may not use it any more (back-channel logout). An <code>https://</code> address; nothing is told without
one.`,
    problem: problems.logoutUri,
    attributes: html` type="text" inputmode="url" maxlength="600" autocomplete="off" spellcheck="false" value="${typed.logoutUri}"`,
  })}
${box({ value: 'logout_session', label, what, typed })}`
}

interface Box extends Pick<FurtherPage, 'typed'> {
  readonly value: string
  readonly label: HtmlValue
  readonly what: string
}

function box({ value, label, what, typed }: Box): Html {
  return choice(
    { type: 'checkbox', name: 'demand', value, checked: typed.demands.includes(value) },
    html`<strong>${label}</strong> <span class="muted">${what}</span>`,
  )
}
