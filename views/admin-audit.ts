import { type AreaView, areaPage, type Pager, pager } from './area.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './time.ts'

export interface AuditPage {
  readonly area: AreaView
  readonly siteName: string
  readonly entries: readonly AuditEntryView[]
  readonly pager: Pager
}

export interface AuditEntryView {
  readonly occurredAt: number
  readonly actorName: string | undefined
  /** What the action is called. */
  readonly words: string
  readonly subjectId: string
  /** What was, and what is, as names and values. */
  readonly before: readonly AuditFact[] | undefined
  readonly after: readonly AuditFact[] | undefined
}

export interface AuditFact {
  readonly name: string
  readonly value: string
}

/** Who changed what, the newest first. */
export function auditPage({ area, siteName, entries, pager: paging }: AuditPage): Page {
  return areaPage({
    title: 'Audit trail',
    id: 'audit-page',
    area,
    body: html`<h1>Audit trail</h1>
<p>What was changed at <bdi>${siteName}</bdi>, the newest first.</p>
${entries.length === 0 && html`<p>Nothing was changed yet.</p>`}
<ul class="cards">
${entries.map(entry)}</ul>
${pager(paging)}`,
  })
}

function entry({ occurredAt, actorName, words, subjectId, before, after }: AuditEntryView): Html {
  return html`<li class="card">
<strong><bdi>${actorName ?? 'Somebody'}</bdi></strong> ${words} <code>${subjectId}</code><br>
<span class="small">${timeOf(occurredAt)}</span>
${
  (before !== undefined || after !== undefined) &&
  html`<dl class="facts">
${before !== undefined && html`<div><dt>Before</dt><dd>${facts(before)}</dd></div>`}
${after !== undefined && html`<div><dt>After</dt><dd>${facts(after)}</dd></div>`}
</dl>`
}
</li>
`
}

const factNames: ReadonlyMap<string, string> = new Map([
  ['authMethod', 'kind'],
  ['redirectUris', 'redirects to'],
  ['hint', 'ends with'],
  ['grantsEnded', 'grants ended'],
  // What version 0.1.0 wrote.
  ['connections', 'grants'],
  ['connectionsEnded', 'grants ended'],
  ['standing', 'review'],
  ['mcpConnections', 'on'],
  ['personId', 'person'],
])

function facts(all: readonly AuditFact[]): Html {
  return html`<ul class="plain">
${all.map(
  ({ name, value }) =>
    html`<li><span class="muted">${factNames.get(name) ?? name}:</span> <bdi>${value === '' ? 'none' : value}</bdi></li>\n`,
)}</ul>`
}
