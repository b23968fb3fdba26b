import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import {
  type LabelValues,
  type Metric,
  metricTable,
} from '../../src/platform/monitoring/metric-table.ts'

/**
 * The generated part of docs/monitoring.md begins here; what stands above it is written by hand.
 * `node test/support/metrics-document.ts` writes it again.
 */
export const GENERATED_FROM = '## Metrics'

export const metricsDocument: string = join(import.meta.dirname, '../../docs/monitoring.md')

/** The table of metrics as people read it. */
export function renderMetrics(): string {
  const rows = Object.entries<Metric>(metricTable).map(
    ([name, { type, labels = {}, help, ofHost = 'sum' }]) =>
      `| \`${name}\` | ${type} | ${labelWords(labels)} | ${ofHost} | ${help} |`,
  )
  return [
    GENERATED_FROM,
    '',
    'A histogram has its buckets, `_sum` and `_count`. *Of a host*: how the values of several workers become one.',
    '',
    '| metric | type | labels | of a host | what it is |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n')
}

/** Lists that are long stand in the code. */
const LISTED_MAX = 7

function labelWords(labels: NonNullable<Metric['labels']>): string {
  const words = Object.entries(labels).map(
    ([label, values]) => `\`${label}\`: ${valueWords(values)}`,
  )
  return words.join('; ') || '–'
}

function valueWords(values: LabelValues): string {
  if ('valuesMax' in values) return `${values.valuesMax} values at most`
  return values.length > LISTED_MAX ? `one of ${values.length}, or other` : values.join(', ')
}

if (import.meta.main) {
  const [byHand = ''] = readFileSync(metricsDocument, 'utf8').split(GENERATED_FROM)
  writeFileSync(metricsDocument, byHand + renderMetrics())
}
