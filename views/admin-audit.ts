import type { AreaPage, ListView } from './area.ts'
import { filterForm } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { type Column, table } from './table.ts'
import { actionText, listText, text, timeOf } from './text.ts'

export interface AuditPage extends ListView {
  /** The filters of the form; an empty filter matches everything. */
  readonly question: AuditQuestion
  readonly actions: readonly string[]
  readonly entries: readonly AuditEntryView[]
  readonly downloads: readonly { readonly href: string; readonly label: string }[]
  readonly downloadMax: number
}

export type AuditQuestion = Readonly<Record<'action' | 'client' | 'person' | 'from' | 'to', string>>

export interface AuditEntryView {
  readonly occurredAt: number
  readonly actorName: string | undefined
  /** Whether a person with an account acted. The account may have been deleted since. */
  readonly hasActor: boolean
  readonly aboutName: string | undefined
  readonly action: string
  /** The name of the changed object, or its id if no name is known. */
  readonly subject: string
  readonly reason: string | undefined
  readonly address: string | undefined
  readonly requestId: string | undefined
  /** The number of identical events that the entry represents. */
  readonly times: number
  readonly differences: readonly AuditDifference[]
}

/** A changed value, before and after the change. An empty string means no value. */
export interface AuditDifference {
  readonly name: string
  readonly before: string
  readonly after: string
}

/** Lists audit events, newest first, with a form to filter them and links to download them. */
export function auditPage(page: AuditPage): AreaPage {
  const { question, entries, downloads, downloadMax: max } = page
  const isNarrowed = Object.values(question).some(Boolean)
  const none = text(isNarrowed ? 'audit.noMatch' : 'audit.none')
  const formats = listText(downloads.map(({ href, label }) => html`<a href="${href}">${label}</a>`))
  return {
    title: text('adminNav.audit'),
    id: 'audit-page',
    body: html`${filterForm(filterFields(page), { button: text('audit.filter'), isNarrowed })}
${table(text('adminWebhooks.events'), columns, entries, { none: html`<p id="no-events" class="empty">${none}</p>`, paging: page.pager })}
${entries.length > 0 && html`<p class="small">${text('audit.download', { formats, max })}</p>`}`,
  }
}

function filterFields({ question, actions }: AuditPage): Html {
  const option = (name: string) =>
    html`<option value="${name}"${name === question.action && html` selected`}>${actionText(name)}</option>\n`
  const field = (
    id: keyof AuditQuestion,
    label: HtmlValue,
    type: 'date' | 'text',
    hint?: HtmlValue,
  ) =>
    html`<div><label for="${id}">${label}</label>
<input id="${id}" name="${id}" type="${type}" value="${question[id]}" autocomplete="off"${hint !== undefined && html` placeholder="${hint}"`}></div>`
  return html`<div><label for="action">${text('word.action')}</label>
<select id="action" name="action">
<option value="">${text('audit.anyAction')}</option>
${actions.map(option)}</select></div>
${field('person', text('word.person'), 'text', text('form.email'))}
${field('client', text('word.app'), 'text', 'client_id')}
${field('from', text('audit.from'), 'date')}
${field('to', text('audit.to'), 'date')}
`
}

const columns: readonly Column<AuditEntryView>[] = [
  { heading: text('audit.when'), cell: ({ occurredAt }) => timeOf(occurredAt) },
  {
    heading: text('audit.who'),
    cell: ({ actorName, hasActor }) =>
      html`<bdi>${actorName ?? text(hasActor ? 'audit.deletedAccount' : 'audit.unknownPerson')}</bdi>`,
  },
  { heading: text('audit.what'), cell: what },
  { heading: text('audit.changed'), cell: ({ differences }) => differences.map(difference) },
  {
    heading: text('audit.request'),
    cell: ({ address, requestId }) =>
      html`<span class="small code">${address !== undefined && html`<bdi>${address}</bdi><br>`}<bdi>${requestId}</bdi></span>`,
  },
]

function what({ action, subject, aboutName, reason, times }: AuditEntryView): Html {
  return html`${actionText(action)} <strong><bdi>${subject}</bdi></strong>
${aboutName !== undefined && aboutName !== subject && html`<br><span class="small">${text('audit.account', { name: html`<bdi>${aboutName}</bdi>` })}</span>`}
${reason !== undefined && html`<br><span class="small">${text('audit.reason', { reason: html`<bdi lang="en">${reason}</bdi>` })}</span>`}
${times > 1 && html`<br><span class="small">${text('audit.times', { times })}</span>`}`
}

/** Renders a changed value with the name of its field. */
function difference({ name, before, after }: AuditDifference): Html {
  const value = (shown: string) =>
    shown === '' ? text('audit.noValue') : html`<bdi>${shown}</bdi>`
  return html`<div class="long"><code>${name}</code>: ${before !== '' && html`<del><bdi>${before}</bdi></del> → `}${value(after)}</div>
`
}
