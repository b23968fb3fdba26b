import { type AreaView, areaPage } from './area.ts'
import { csrfField, problemAlert } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'

export interface FurtherPage {
  readonly area: AreaView
  readonly name: string
  readonly action: string
  readonly cancelHref: string
  /** Which of the optional protocols the deployment enables. */
  readonly on: {
    readonly keys: boolean
    readonly pushedRequests: boolean
    readonly boundTokens: boolean
    readonly logout: boolean
  }
  readonly typed: {
    readonly keys: string
    readonly logoutUri: string
    readonly demands: readonly string[]
  }
  readonly problems: { readonly keys?: string; readonly logoutUri?: string }
}

/** The form for the optional protocols of an application. Contains only those that the deployment enables. */
export function furtherPage(page: FurtherPage): Page {
  const { area, name, on, problems } = page
  const wrong = Object.keys(problems).length > 0
  const heading = `Security of ${name}`
  return areaPage({
    title: wrong ? `${heading}: please correct` : heading,
    id: 'further-page',
    area,
    body: html`<h1><bdi>${heading}</bdi></h1>
<p>Agree on each of these with the maker of the application first: it stops working when its program does
not do the same.</p>
${problemAlert('form-problem', wrong ? 'Please correct what is marked below. Nothing was saved.' : undefined)}
<form method="post" action="${page.action}">
${csrfField(area.csrf)}
${on.keys && keysField(page)}
${demandsField(page)}
${on.logout && logoutField(page)}
<div class="actions">
<button id="save" type="submit">Save</button>
<a id="cancel" class="button second" href="${page.cancelHref}">Cancel</a>
</div>
</form>`,
  })
}

function keysField({ typed, problems }: FurtherPage): Html {
  return html`<label for="keys">Public keys</label>
<p class="hint" id="keys-hint">Instead of a secret, the application may prove with a key of its own who it
is (<code>private_key_jwt</code>). Enter the <code>https://</code> address of its keys, or the keys
themselves as a JWK set. While something stands here, its secrets are not accepted.</p>
${fieldProblem('keys-problem', problems.keys)}
<textarea id="keys" name="keys" rows="4" spellcheck="false" autocapitalize="none"${described('keys', problems.keys)}>
${typed.keys}</textarea>`
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
  return html`<label for="logout-uri">Address for sign-outs</label>
<p class="hint" id="logout-uri-hint">This service tells it when a person signs out, removes the application,
or may not use it any more (back-channel logout). An <code>https://</code> address; nothing is told without
one.</p>
${fieldProblem('logout-uri-problem', problems.logoutUri)}
<input id="logout-uri" name="logout_uri" type="text" inputmode="url" maxlength="600" autocomplete="off" spellcheck="false" value="${typed.logoutUri}"${described('logout-uri', problems.logoutUri)}>
${box({ value: 'logout_session', label, what, typed })}`
}

interface Box extends Pick<FurtherPage, 'typed'> {
  readonly value: string
  readonly label: string
  readonly what: string
}

function box({ value, label, what, typed }: Box): Html {
  return html`<label class="choice">
<input type="checkbox" name="demand" value="${value}"${typed.demands.includes(value) && html` checked`}>
<span><strong>${label}</strong> <span class="muted">${what}</span></span>
</label>
`
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
