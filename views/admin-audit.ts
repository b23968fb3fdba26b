import { areaPage, type ListView } from './area.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { type Column, table } from './table.ts'
import { timeOf } from './text.ts'

export interface AuditPage extends ListView {
  readonly siteName: string
  /** The filters of the form; an empty filter matches everything. */
  readonly question: AuditQuestion
  readonly actions: readonly { readonly name: string; readonly words: string }[]
  readonly entries: readonly AuditEntryView[]
  readonly action: string
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
  /** The description of the action. */
  readonly words: string
  /** The name of the changed object, or its id if no name is known. */
  readonly subject: string
  readonly reason: string | undefined
  readonly address: string | undefined
  readonly requestId: string | undefined
  /** The number of equal events that the entry represents. */
  readonly times: number
  readonly differences: readonly AuditDifference[]
}

/** A value that differs after a change. An empty string means no value. */
export interface AuditDifference {
  readonly name: string
  readonly before: string
  readonly after: string
}

/** Lists audit events, newest first, with a form to filter them and links to download them. */
export function auditPage(page: AuditPage): Page {
  const { siteName, question, entries, action, downloads } = page
  const isNarrowed = Object.values(question).some(Boolean)
  const none = isNarrowed
    ? 'No event matches these filters.'
    : 'Nothing happened yet. Changes by operators and sign-ins by members will appear here.'
  return areaPage({
    language: 'en',
    ...page,
    title: 'Audit trail',
    id: 'audit-page',
    body: html`<p>Who did what at <bdi>${siteName}</bdi>, newest first. From and To are days in UTC.</p>
<form id="audit-filter" class="filter" method="get" action="${action}">
${filterFields(page)}
<div class="actions">
<button type="submit" class="second">Filter</button>
${isNarrowed && html`<a id="show-all" href="${action}">Show all</a>`}
</div>
</form>
${table('Events', columns, entries, { none: html`<p id="no-events" class="empty">${none}</p>`, paging: page.pager })}
${entries.length > 0 && html`<p class="small">Download these events: ${downloads.map(({ href, label }, index) => html`${index > 0 && ', '}<a href="${href}">${label}</a>`)}. At most ${page.downloadMax.toLocaleString('en')} of the newest are included.</p>`}`,
  })
}

function filterFields({ question, actions }: AuditPage): Html {
  const option = ({ name, words }: { readonly name: string; readonly words: string }) =>
    html`<option value="${name}"${name === question.action && html` selected`}>${words}</option>\n`
  const field = (id: keyof AuditQuestion, label: string, type: 'date' | 'text', hint?: string) =>
    html`<div><label for="${id}">${label}</label>
<input id="${id}" name="${id}" type="${type}" value="${question[id]}" autocomplete="off"${hint !== undefined && html` placeholder="${hint}"`}></div>`
  return html`<div><label for="action">Action</label>
<select id="action" name="action">
${option({ name: '', words: 'any' })}${actions.map(option)}</select></div>
${field('person', 'Person', 'text', 'e-mail address')}
${field('client', 'App', 'text', 'client_id')}
${field('from', 'From', 'date')}
${field('to', 'To', 'date')}`
}

const columns: readonly Column<AuditEntryView>[] = [
  { heading: 'When', cell: ({ occurredAt }) => timeOf(occurredAt) },
  {
    heading: 'Who',
    cell: ({ actorName, hasActor }) =>
      html`<bdi>${actorName ?? (hasActor ? 'A deleted account' : 'An unknown person')}</bdi>`,
  },
  {
    heading: 'What',
    cell: ({
      words,
      subject,
      aboutName,
      reason,
      times,
    }) => html`${words} <strong><bdi>${subject}</bdi></strong>
${aboutName !== undefined && aboutName !== subject && html`<br><span class="small">Account: <bdi>${aboutName}</bdi></span>`}
${reason !== undefined && html`<br><span class="small">Reason: ${reason}</span>`}
${times > 1 && html`<br><span class="small">${times} times within a minute</span>`}`,
  },
  { heading: 'Changed', cell: ({ differences }) => differences.map(difference) },
  {
    heading: 'Request',
    cell: ({ address, requestId }) =>
      html`<span class="small code">${address !== undefined && html`<bdi>${address}</bdi><br>`}${requestId}</span>`,
  },
]

const factNames: ReadonlyMap<string, string> = new Map([
  ['authMethod', 'kind'],
  ['redirectUris', 'redirects to'],
  ['hint', 'ends with'],
  ['mcpConnections', 'on'],
  ['personId', 'person'],
  ['eventId', 'event'],
])

/** Renders a changed value. The field name becomes words: `publishedAt` is shown as "published at". */
function difference({ name, before, after }: AuditDifference): Html {
  const shown =
    factNames.get(name) ?? name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const value = (text: string) => (text === '' ? 'none' : text)
  return html`<div><span class="muted">${shown}:</span> ${before !== '' && html`<del>${before}</del> → `}<bdi>${value(after)}</bdi></div>
`
}
