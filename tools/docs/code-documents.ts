import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { catalogue, type Scope } from '../../src/directory/scopes/catalogue.ts'
import { type ClientOrigin, decideScopes } from '../../src/directory/scopes/policy.ts'
import { expiringKinds } from '../../src/ops/clean-up/clean-up.ts'
import { checks, found } from '../../src/ops/doctor/checks.ts'
import {
  changeActions,
  describeAction,
  eventActions,
  unauthenticatedEvents,
} from '../../src/platform/audit/audit-actions.ts'
import {
  type LabelValues,
  type Metric,
  metricTable,
} from '../../src/platform/monitoring/metric-table.ts'
import { personalRows } from '../../src/school/privacy/personal-data.ts'
import { fillFigures } from '../../test/support/figures.ts'
import { code, page, renderTable, type Tables } from '../../test/support/markdown.ts'
import { alertAdvice, personalData, retention } from '../../test/support/reference-data.ts'
import { plain } from '../../views/html.ts'
import { renderEvents } from './events-document.ts'

/** Renders the alerts, from the alert rules and test/data/alerts.txt. */
function renderAlerts(): string {
  const rows = alertAdvice.map(([name = '', advice = '']) => [code(name), summaryOf(name), advice])
  return renderTable(['alert', 'fires when', 'what to do'], rows)
}

function renderMetrics(): string {
  const rows = Object.entries<Metric>(metricTable).map(
    ([name, { type, labels = {}, help, ofHost = 'sum' }]) => [
      ...[code(name), type, labelWords(labels), ofHost, help],
    ],
  )
  return renderTable(['metric', 'type', 'labels', 'of a host', 'meaning'], rows)
}

function summaryOf(alert: string): string {
  const file = join(import.meta.dirname, '../../config/monitoring/alerts.yml')
  const rule = new RegExp(`alert: ${alert}\\n[\\s\\S]*?summary: '(.*)'`)
  const [, summary = ''] = rule.exec(readFileSync(file, 'utf8')) ?? []
  return summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '*$1*')
}

/** The maximum number of label values to list. If there are more, only their number is shown. */
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
  ['operator application', 'operator', true],
  ['platform', 'integration', true],
  ['local', 'loopback', true],
  ['document', 'document', false],
]

/** Renders the scopes, from the catalogue and the policy. */
function renderScopes(): string {
  const rows = catalogue.map((scope) => {
    const { name, audience, grants, sentence } = scope
    return [
      code(name),
      audience,
      grants,
      plain(sentence, { language: 'en', timeZone: 'UTC' }),
      openTo(scope),
    ]
  })
  return renderTable(['scope', 'audience', 'grants', 'consent page', 'clients'], rows)
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

/** Renders how long rows stay in each database table, from test/data/retention.txt and the clean-up's list. */
function renderRetention(): string {
  const expiring = expiringKinds({ tokensLiveSeconds: 0, auditDays: 0 })
  const rows = retention.map(([tables = '', stay = '']) => {
    const columns = tables
      .split(', ')
      .flatMap((name) => expiring.find(({ table }) => table === name)?.expiry ?? [])
    return [code(...tables.split(', ')), fillFigures(stay), code(...columns) || '–']
  })
  return page(
    fillFigures('The clean-up runs every `storage.sweepSeconds` ({storage.sweepSeconds}).'),
    renderTable(['table', 'rows stay', 'deleted by'], rows),
  )
}

/** Renders the personal data, from test/data/personal-data.txt and the table of rows that a deletion removes. */
function renderPersonalData(): string {
  const rows = personalData.map(([names = '', why = '', fate, download]) => {
    const tables = names.split(', ')
    const isDeleted = personalRows.some(
      ({ table, isDeleted }) => isDeleted && tables.includes(table),
    )
    const usual = isDeleted ? 'deleted' : 'kept, with the id of the person'
    return [code(...tables), why, download ?? 'yes', fate ?? usual]
  })
  return renderTable(['table', 'why', 'in a download', 'when the account is deleted'], rows)
}

function renderAuditEvents(): string {
  const events = eventActions.map((name) => [
    ...[
      code(name),
      describeAction(name),
      `counted, ${unauthenticatedEvents.has(name) ? '100' : '20,000'}`,
    ],
  ])
  const changes = changeActions.map((name) => [
    ...[code(name), describeAction(name), 'with the change'],
  ])
  return renderTable(['action', 'the actor …', 'written'], [...events, ...changes])
}

function renderChecks(): string {
  const rows = (Object.keys(checks) as (keyof typeof checks)[]).map((name) => {
    const { severity, section = '', cure = '' } = found(name, '')
    return [code(name), severity, section, cure]
  })
  return renderTable(['finding', 'severity', 'standard', 'what to do'], rows)
}

/** Tables of docs/reference that are generated from tables in the code. */
export const codeTables: Tables = {
  ...{ alerts: renderAlerts, metrics: renderMetrics, scopes: renderScopes },
  ...{ retention: renderRetention, 'personal-data': renderPersonalData },
  ...{ 'audit-events': renderAuditEvents, events: renderEvents, doctor: renderChecks },
}
