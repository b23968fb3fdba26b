import { type AreaView, areaPage } from './area.ts'
import { foreignName } from './client-view.ts'
import { choice, postForm, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './text.ts'

export interface ApprovalsPage {
  readonly area: AreaView
  readonly siteName: string
  readonly changes: readonly PendingChangeView[]
  readonly action: string
  /** The client whose changes are shown; undefined for all clients. */
  readonly client: string | undefined
  /** The form for the policy; undefined for an admin, who may not change it. */
  readonly policyAction: string | undefined
  readonly policy: { readonly covers: string; readonly exemptsIntegrations: boolean }
  readonly done: HtmlValue
}

interface PendingChangeView {
  readonly id: string
  readonly clientName: string
  /** The mutation, such as `publishCourse`. */
  readonly operation: string
  readonly given: readonly {
    readonly name: string
    readonly value: string
    /** The name of the object that the value identifies. */
    readonly named: string | undefined
  }[]
  readonly expiresAt: number
}

/** Lists the changes of a person's assistants that wait for approval, with the form for the policy. */
export function approvalsPage(page: ApprovalsPage): Page {
  return areaPage({
    language: 'en',
    ...page,
    title: 'Approvals',
    id: 'approvals-page',
    body: html`${page.changes.length === 0 ? nothingWaits : waiting(page)}
${page.policyAction !== undefined && policyForm(page, page.policyAction)}`,
  })
}

const nothingWaits = html`<p id="no-changes">No change waits for your approval. It may have expired, after ten minutes, or it was requested
for another account.</p>`

function waiting({ area, siteName, changes, action, client }: ApprovalsPage): Html {
  const hidden = client === undefined ? undefined : { client }
  const fields = html`<ul class="cards">
${changes.map(change)}</ul>
<div class="actions"><button id="approve" type="submit" name="decision" value="approve">Approve the ticked changes</button>
<button id="reject" type="submit" name="decision" value="reject" class="second">Reject them</button></div>`
  return html`<p>These changes of <bdi>${siteName}</bdi> were requested for you. Nothing has happened yet. Approve only what you asked for.
Each approval is for one change, exactly as shown.</p>
${postForm({ action, csrf: area.csrf, hidden }, fields)}`
}

function change({ id, clientName, operation, given, expiresAt }: PendingChangeView): Html {
  const title = html`<strong>${inWords(operation)}</strong> <span class="muted">requested by ${foreignName(clientName)}</span>`
  return html`<li class="card">
${choice({ type: 'checkbox', name: 'change', value: id, checked: true }, title)}<dl class="facts">
${given.map(
  ({ name, value, named }) =>
    html`<div><dt>${inWords(name)}</dt><dd>${named !== undefined && html`<bdi>${named}</bdi> `}<code>${value}</code></dd></div>\n`,
)}<div><dt>Expires</dt><dd>${timeOf(expiresAt)}</dd></div>
</dl>
</li>
`
}

/** Splits a name in camel case into words: `publishCourse` becomes `Publish course`. */
function inWords(name: string): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function policyForm({ area, policy }: ApprovalsPage, action: string): Html {
  const option = (value: string, words: string) =>
    choice(
      { type: 'radio', name: 'covers', value, checked: policy.covers === value },
      html`${words}`,
    )
  const exempt = { type: 'checkbox', name: 'exempt', value: 'yes' } as const
  const fields = html`<fieldset><legend>Which changes of assistants need an approval?</legend>
${option('destructive', 'changes that publish, send mail, remove or end something')}
${option('every', 'every change')}
${option('never', 'none')}</fieldset>
${choice({ ...exempt, checked: policy.exemptsIntegrations }, html`Known platforms that register under their name, such as VS Code, need none`)}
${submitButton('save', 'Save', { kind: 'second' })}`
  return html`<h2>When to ask</h2>
${postForm({ action, csrf: area.csrf }, fields)}`
}
