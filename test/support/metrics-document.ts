import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import {
  type LabelValues,
  type Metric,
  metricTable,
} from '../../src/platform/monitoring/metric-table.ts'
import { renderTable } from './markdown.ts'
import { alertAdvice } from './reference-data.ts'

const introduction = `Metrics for Prometheus at \`METRICS_PORT\`, and alerts of \`config/monitoring/alerts.yml\`. How to enable them is in
[monitoring](../how-to/operate.md#watch-it).`

/** docs/reference/metrics.md, from the table of metrics, the alert rules and test/data/alerts.txt. */
export function renderMetrics(): string {
  const metrics = Object.entries<Metric>(metricTable).map(
    ([name, { type, labels = {}, help, ofHost = 'sum' }]) => [
      `\`${name}\``,
      type,
      labelWords(labels),
      ofHost,
      help,
    ],
  )
  const alerts = alertAdvice.map(([name = '', advice = '']) => [
    `\`${name}\``,
    summaryOf(name),
    advice,
  ])
  return [
    introduction,
    '## Alerts',
    renderTable(['alert', 'fires when', 'what to do'], alerts),
    '## Metrics',
    'A histogram has buckets, `_sum` and `_count`. *Of a host*: how the values of several workers are combined.',
    renderTable(['metric', 'type', 'labels', 'of a host', 'meaning'], metrics),
  ].join('\n\n')
}

function summaryOf(alert: string): string {
  const rules = readFileSync(
    join(import.meta.dirname, '../../config/monitoring/alerts.yml'),
    'utf8',
  )
  const [, summary = ''] =
    new RegExp(`alert: ${alert}\\n[\\s\\S]*?summary: '(.*)'`).exec(rules) ?? []
  return summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '*$1*')
}

/** Longer lists are counted; the code has them. */
const LISTED_MAX = 7

function labelWords(labels: NonNullable<Metric['labels']>): string {
  const words = Object.entries(labels).map(
    ([label, values]) => `\`${label}\`: ${valueWords(values)}`,
  )
  return words.join('; ') || '–'
}

function valueWords(values: LabelValues): string {
  if ('valuesMax' in values) return `at most ${values.valuesMax}`
  return values.length > LISTED_MAX ? `one of ${values.length}, or other` : values.join(', ')
}
