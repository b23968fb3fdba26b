import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { catalogue, type Scope } from '../../src/directory/scopes/catalogue.ts'
import { type ClientOrigin, decideScopes } from '../../src/directory/scopes/policy.ts'
import { whatExpires } from '../../src/ops/clean-up/clean-up.ts'
import { checks, found } from '../../src/ops/doctor/checks.ts'
import {
  changeActions,
  eventActions,
  unauthenticatedEvents,
} from '../../src/platform/audit/audit-actions.ts'
import {
  type LabelValues,
  type Metric,
  metricTable,
} from '../../src/platform/monitoring/metric-table.ts'
import { personalRows } from '../../src/school/privacy/personal-data.ts'
import { fillFigures } from './figures.ts'
import { code, page, renderTable } from './markdown.ts'
import { alertAdvice, personalData, retention } from './reference-data.ts'

/** docs/reference/metrics.md, from the table of metrics, the alert rules and test/data/alerts.txt. */
export function renderMetrics(): string {
  const metrics = Object.entries<Metric>(metricTable).map(
    ([name, { type, labels = {}, help, ofHost = 'sum' }]) => [
      ...[code(name), type, labelWords(labels), ofHost, help],
    ],
  )
  const alerts = alertAdvice.map(([name = '', advice = '']) => [
    ...[code(name), summaryOf(name), advice],
  ])
  return page(
    `Metrics for Prometheus at \`METRICS_PORT\`, and alerts of \`config/monitoring/alerts.yml\`. How to enable them is in
[monitoring](../how-to/operate.md#monitor-the-service).`,
    '## Alerts',
    renderTable(['alert', 'fires when', 'what to do'], alerts),
    '## Metrics',
    'A histogram has buckets, `_sum` and `_count`. *Of a host*: how the values of several workers are combined.',
    renderTable(['metric', 'type', 'labels', 'of a host', 'meaning'], metrics),
  )
}

function summaryOf(alert: string): string {
  const file = join(import.meta.dirname, '../../config/monitoring/alerts.yml')
  const rule = new RegExp(`alert: ${alert}\\n[\\s\\S]*?summary: '(.*)'`)
  const [, summary = ''] = rule.exec(readFileSync(file, 'utf8')) ?? []
  return summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '*$1*')
}

/** Longer lists are counted. */
const LISTED_MAX = 7

function labelWords(labels: NonNullable<Metric['labels']>): string {
  const words = Object.entries(labels).map(
    ([label, values]) => `${code(label)}: ${valueWords(values)}`,
  )
  return words.join('; ') || '–'
}

function valueWords(values: LabelValues): string {
  if ('valuesMax' in values) return `at most ${values.valuesMax}`
  return values.length > LISTED_MAX ? `one of ${values.length}, or other` : values.join(', ')
}

const clients: readonly (readonly [name: string, origin: ClientOrigin, reviewed: boolean])[] = [
  ['application', 'site', true],
  ['platform', 'integration', true],
  ['local', 'loopback', true],
  ['document', 'document', false],
]

/** docs/reference/scopes.md, from the catalogue and the policy of scopes. */
export function renderScopes(): string {
  const rows = catalogue.map((scope) => {
    const { name, audience, grants, sentence } = scope
    return [code(name), audience, grants, sentence, openTo(scope)]
  })
  return page(
    `Scopes of this service. No scope contains another: request both \`account:read\` and \`account:write\` to read and write.
Member scopes need \`resource\`, operator scopes an operator of the site. No token has scopes of both. The consent page
says "can see" or "can change" before its text.

| client | how it is known | may request |
| --- | --- | --- |
| application | an operator created it for the site | identity scopes, and the member scopes that the operator chose |
| platform | \`config/integrations.json\` | identity and operator scopes |
| local | self-registered with a loopback address | identity and operator scopes |
| document | Client ID Metadata Document | identity scopes and operator scopes to read; those to write after a review |`,
    renderTable(['scope', 'audience', 'grants', 'consent page', 'clients'], rows),
  )
}

function openTo({ name }: Scope): string {
  const names = clients
    .filter(([, origin, reviewed]) => decideScopes({ origin, reviewed }).includes(name))
    .map(([client]) => client)
  if (names.length === clients.length) return 'all'
  const reviewed = decideScopes({ origin: 'document', reviewed: true }).includes(name)
  if (reviewed && !names.includes('document')) names.push('reviewed document')
  return names.join(', ')
}

/** docs/reference/retention.md, from test/data/retention.txt and the table of the clean-up. */
export function renderRetention(): string {
  const expiring = whatExpires({ tokensLiveSeconds: 0, auditDays: 0 })
  const rows = retention.map(([tables = '', stay = '']) => {
    const columns = tables
      .split(', ')
      .flatMap((name) => expiring.find(({ table }) => table === name)?.expiry ?? [])
    return [code(...tables.split(', ')), fillFigures(stay), code(...columns) || '–']
  })
  return page(
    fillFigures(`How long rows stay in each table of the database, and the column by which the clean-up deletes them. It runs every
\`storage.sweepSeconds\` ({storage.sweepSeconds}) in small statements; several processes share the work. Figures are those of the default
configuration. Keys in Redis have a time to live.

A run that deleted rows logs *expired rows were removed* at level \`info\`. *clean-up cannot keep up: expired rows remain* is
a \`warn\`: once is a backlog; for hours, the storage is too slow. A SQLite file does not shrink: its free pages are reused,
and \`VACUUM\` releases them while the service is stopped. PostgreSQL needs autovacuum.`),
    renderTable(['table', 'rows stay', 'deleted by'], rows),
    `## Personal data

A [download](../how-to/accounts.md) contains at most 10 000 rows of each table, the latest. Other tables contain no person's id.`,
    renderTable(
      ['table', 'why', 'in a download', 'when the account is deleted'],
      personalDataRows(),
    ),
  )
}

function personalDataRows(): string[][] {
  return personalData.map(([names = '', why = '', fate, download]) => {
    const tables = names.split(', ')
    const isDeleted = personalRows.some(
      ({ table, isDeleted }) => isDeleted && tables.includes(table),
    )
    const usual = isDeleted ? 'deleted' : 'kept, with the id of the person'
    return [code(...tables), why, download ?? 'yes', fate ?? usual]
  })
}

/** docs/reference/audit-events.md, from the table of actions. */
export function renderAuditEvents(): string {
  const events = Object.entries(eventActions).map(([name, words]) => [
    ...[code(name), words, `counted, ${unauthenticatedEvents.has(name) ? '100' : '20 000'}`],
  ])
  const changes = Object.entries(changeActions).map(([name, words]) => [
    ...[code(name), words, 'with the change'],
  ])
  return page(
    `Actions of the [audit trail](../how-to/operate.md#read-the-audit-trail). *With the change*: in the transaction of the change, so that neither exists
without the other. *Counted*: a few seconds later; equal events of a minute are two rows at most, and a process
distinguishes as many kinds a minute as the number says.`,
    renderTable(['action', 'the actor …', 'written'], [...events, ...changes]),
  )
}

/** docs/reference/doctor.md, from the table of checks. */
export function renderChecks(): string {
  const rows = (Object.keys(checks) as (keyof typeof checks)[]).map((name) => {
    const { severity, section = '', cure = '' } = found(name, '')
    return [code(name), severity, section, cure]
  })
  return page(
    `Findings of \`npm run gatehouse -- doctor\`. \`wrong\` does not work or is not allowed: exit code 1. \`weak\` works but
helps an attacker: exit code 3. \`note\` is information. \`--json\` prints
\`{"findings": [{"severity", "sentence", "check", "section", "cure"}]}\`.`,
    renderTable(['finding', 'severity', 'standard', 'what to do'], rows),
  )
}
