import type { AreaPage } from './area.ts'
import { choice, inputField, postForm, problemAlert, submitButton, textField } from './forms.ts'
import { type Html, html } from './html.ts'
import { text } from './text.ts'

export interface FurtherPage {
  readonly name: string
  readonly cancelHref: string
  /** Which of the optional protocols the form offers. */
  readonly plans: Readonly<
    Record<'privateKeyJwt' | 'pushedAuthorizationRequests' | 'dpop' | 'backChannelLogout', boolean>
  >
  readonly typed: {
    readonly keys: string
    readonly logoutUri: string
    readonly demands: readonly string[]
  }
  readonly problems: { readonly keys?: Html | undefined; readonly logoutUri?: Html | undefined }
}

/** The form for the optional protocols of an application. Offers only protocols that the deployment enables. */
export function furtherPage(page: FurtherPage): AreaPage {
  const { name, plans, problems } = page
  const isWrong = Object.values(problems).some(Boolean)
  const fields = html`${plans.privateKeyJwt && keysField(page)}
${demandsField(page)}
${plans.backChannelLogout && logoutField(page)}
${submitButton('save', text('word.save'), page)}`
  return {
    title: html`<bdi>${text('applications.security.title', { name })}</bdi>`,
    isWrong,
    id: 'further-page',
    body: html`<p>${text('applications.securityIntro')}</p>
${problemAlert('form-problem', isWrong ? text('applications.notSaved') : undefined)}
${postForm({}, fields)}`,
  }
}

function keysField({ typed, problems }: FurtherPage): Html {
  const field = {
    id: 'keys',
    label: text('applications.keys'),
    hint: text('applications.keysHint'),
    problem: problems.keys,
    attributes: html` rows="4" spellcheck="false" autocapitalize="none"`,
  }
  return textField(field, typed.keys)
}

function demandsField({ typed, plans }: FurtherPage): Html | undefined {
  const rows = [
    plans.pushedAuthorizationRequests && demandBox('pushed_requests', typed),
    plans.dpop && demandBox('bound_tokens', typed),
  ]
  if (!rows.some(Boolean)) return undefined
  return html`<fieldset>
<legend>${text('applications.demands')}</legend>
${rows}</fieldset>`
}

function logoutField({ typed, problems }: FurtherPage): Html {
  return html`${inputField({
    id: 'logout-uri',
    name: 'logout_uri',
    label: text('applications.logoutUri'),
    hint: text('applications.logoutHint'),
    problem: problems.logoutUri,
    attributes: html` type="text" inputmode="url" maxlength="600" autocomplete="off" spellcheck="false" value="${typed.logoutUri}"`,
  })}
${demandBox('logout_session', typed)}`
}

function demandBox(
  value: 'pushed_requests' | 'bound_tokens' | 'logout_session',
  { demands }: FurtherPage['typed'],
): Html {
  const checked = demands.includes(value)
  return choice(
    { type: 'checkbox', name: 'demand', value, checked },
    text(`applications.demand.${value}`),
  )
}
