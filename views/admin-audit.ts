import { areaPage, cards, type ListView, plainList } from './area.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './time.ts'

export interface AuditPage extends ListView {
  readonly siteName: string
  /** The filters of the form; an empty filter matches everything. */
  readonly question: AuditQuestion
  /** All actions, for the filter. */
  readonly actions: readonly { readonly name: string; readonly words: string }[]
  readonly entries: readonly AuditEntryView[]
  readonly action: string
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
  readonly subjectId: string
  readonly reason: string | undefined
  readonly address: string | undefined
  readonly requestId: string | undefined
  /** How many equal events the entry stands for. */
  readonly times: number
  /** The values before the change. */
  readonly before: readonly AuditFact[] | undefined
  readonly after: readonly AuditFact[] | undefined
}

export interface AuditFact {
  readonly name: string
  readonly value: string
}

/** Lists audit events, newest first, with a form to filter them. */
export function auditPage(page: AuditPage): Page {
  const { siteName, question, entries, action } = page
  const isNarrowed = Object.values(question).some(Boolean)
  const none = isNarrowed ? 'Nothing like that happened.' : 'Nothing happened yet.'
  return areaPage({
    ...page,
    title: 'Audit trail',
    id: 'audit-page',
    body: html`<p>Who did what at <bdi>${siteName}</bdi>, the newest first. Times and days are in UTC.</p>
<details${isNarrowed && html` open`}>
<summary>Show only some of it</summary>
<form id="audit-filter" method="get" action="${action}">
${filterFields(page)}
<div class="actions">
<button type="submit">Show</button>
${isNarrowed && html`<a id="show-all" class="button second" href="${action}">Show all</a>`}
</div>
</form>
</details>
${cards(entries.map(entry), html`<p id="no-events">${none}</p>`, page.pager)}`,
  })
}

function filterFields({ question, actions }: AuditPage): Html {
  const option = ({ name, words }: { readonly name: string; readonly words: string }) =>
    html`<option value="${name}"${name === question.action && html` selected`}>${words}</option>\n`
  return html`<label for="action">What was done</label>
<select id="action" name="action">
${option({ name: '', words: 'anything' })}${actions.map(option)}</select>
<label for="client">Application</label>
<p class="hint" id="client-hint">Its client_id, as on its page.</p>
<input id="client" name="client" value="${question.client}" aria-describedby="client-hint" autocomplete="off">
<label for="person">Person</label>
<p class="hint" id="person-hint">An e-mail address or an id: who did it, or whom it is about.</p>
<input id="person" name="person" value="${question.person}" aria-describedby="person-hint" autocomplete="off">
<label for="from">From this day</label>
<input id="from" name="from" type="date" value="${question.from}">
<label for="to">To this day</label>
<input id="to" name="to" type="date" value="${question.to}">`
}

function entry(view: AuditEntryView): Html {
  const { occurredAt, words, subjectId, times, before, after } = view
  const { actorName, hasActor, aboutName, reason, address, requestId } = view
  const who = actorName ?? (hasActor ? 'A deleted account' : 'An unknown person')
  const known = [
    { label: 'Whose account', value: aboutName },
    { label: 'Why', value: reason },
    { label: 'How often', value: times === 1 ? undefined : `${times} times within a minute` },
    { label: 'From', value: address },
    { label: 'Request', value: requestId },
  ].filter(({ value }) => value !== undefined)
  return html`<strong><bdi>${who}</bdi></strong> ${words}${subjectId !== '' && html` <code>${subjectId}</code>`}<br>
<span class="small">${timeOf(occurredAt)}</span>
${
  (known.length > 0 || before !== undefined || after !== undefined) &&
  html`<dl class="facts">
${known.map(({ label, value }) => html`<div><dt>${label}</dt><dd><bdi>${value}</bdi></dd></div>\n`)}
${before !== undefined && html`<div><dt>Before</dt><dd>${facts(before)}</dd></div>`}
${after !== undefined && html`<div><dt>After</dt><dd>${facts(after)}</dd></div>`}
</dl>`
}`
}

const factNames: ReadonlyMap<string, string> = new Map([
  ['authMethod', 'kind'],
  ['redirectUris', 'redirects to'],
  ['hint', 'ends with'],
  ['grantsEnded', 'grants ended'],
  ['mcpConnections', 'on'],
  ['personId', 'person'],
])

function facts(all: readonly AuditFact[]): Html {
  return plainList(
    all.map(
      ({ name, value }) =>
        html`<span class="muted">${factNames.get(name) ?? name}:</span> <bdi>${value === '' ? 'none' : value}</bdi>`,
    ),
  )
}
