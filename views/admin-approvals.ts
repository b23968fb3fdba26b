import type { AreaPage } from './area.ts'
import { foreignName } from './client-view.ts'
import { choice, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, html } from './html.ts'
import { inCode, text, textIfAny, timeOf } from './text.ts'

export interface ApprovalsPage {
  readonly changes: readonly PendingChangeView[]
  /** The client whose changes are shown; undefined for all clients. */
  readonly client: string | undefined
  /** The URL of the policy form; undefined for an admin, who may not change the policy. */
  readonly policyAction: string | undefined
  /** Whether the last decision had no effect, because none of the chosen changes was still pending. */
  readonly isUndecided: boolean
  readonly policy: { readonly covers: string; readonly exemptsIntegrations: boolean }
}

interface PendingChangeView {
  readonly id: string
  readonly clientName: string
  /** The name of the mutation, such as `publishCourse`; `uploadFile` for an upload. */
  readonly operation: string
  readonly given: readonly {
    readonly name: string
    readonly value: string
    /** The name of the object that the value identifies. */
    readonly named: string | undefined
  }[]
  readonly isApproved: boolean
  readonly isTicked: boolean
  readonly expiresAt: number
}

/** Lists the pending and approved changes requested by a person's assistants, with the form for the approval policy. */
export function approvalsPage(page: ApprovalsPage): AreaPage {
  return {
    title: text('adminNav.approvals'),
    id: 'approvals-page',
    body: html`${problemAlert('undecided', page.isUndecided ? text('approvals.undecided') : undefined)}
${page.changes.length === 0 ? html`<p class="empty" id="no-changes">${text('approvals.none')}</p>` : waiting(page)}
${page.policyAction !== undefined && policyForm(page, page.policyAction)}`,
  }
}

function waiting({ changes, client }: ApprovalsPage): Html {
  const hidden = client === undefined ? undefined : { client }
  const fields = html`<ul class="cards">
${changes.map(change)}</ul>
<div class="actions"><button id="approve" type="submit" name="decision" value="approve">${text('approvals.approve')}</button>
<button id="reject" type="submit" name="decision" value="reject" class="second">${text('approvals.reject')}</button></div>`
  return html`<p>${text('approvals.intro')}</p>
${postForm({ hidden }, fields)}`
}

function change(view: PendingChangeView): Html {
  const { id, clientName, operation, given, isApproved, isTicked, expiresAt } = view
  const title = html`<strong>${textIfAny(`operation.${operation}`)}</strong> <span class="muted">${text('approvals.requestedBy', { app: foreignName(clientName) })}</span>`
  return html`<li class="card">
${choice({ type: 'checkbox', name: 'change', value: id, checked: isTicked }, title)}${isApproved && html`<p>${text('approvals.approved')}</p>`}<dl class="facts">
${given.map(
  ({ name, value, named }) =>
    html`<div><dt>${inCode(name)}</dt><dd>${named !== undefined && html`<bdi>${named}</bdi> `}<code>${value}</code></dd></div>\n`,
)}<div><dt>${text('approvals.expires')}</dt><dd>${timeOf(expiresAt)}</dd></div>
</dl>
</li>
`
}

function policyForm({ changes, policy }: ApprovalsPage, action: string): Html {
  const option = (value: 'destructive' | 'every' | 'never') =>
    choice(
      { type: 'radio', name: 'covers', value, checked: policy.covers === value },
      text(`approvals.${value}`),
    )
  const exempt = { type: 'checkbox', name: 'exempt', value: 'yes' } as const
  const fields = html`<fieldset><legend>${text('approvals.which')}</legend>
${option('destructive')}
${option('every')}
${option('never')}</fieldset>
${choice({ ...exempt, checked: policy.exemptsIntegrations }, text('approvals.exempt'))}
${submitButton('save', text('word.save'), { kind: changes.length > 0 ? 'second' : undefined })}`
  return postForm({ action }, fields)
}
