import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client'

import { type LabelValues, type Metric, type MetricName, metricTable } from './metric-table.ts'

/** Labels of one value, by their names. */
export type Labels = Readonly<Record<string, string>>

/** What the process knows of itself, asked at each scrape. */
export interface Reading {
  readonly labels?: Labels
  readonly value: number
}

/** The metrics of one process, as they go from a worker to the primary. */
export type Snapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** The metrics of this process. */
export interface Metrics {
  /** Counts one more, or so many. */
  add(name: MetricName, labels: Labels, by?: number): void
  /** Adds a time, in seconds, to a histogram. */
  time(name: MetricName, labels: Labels, seconds: number): void
  /** Sets a gauge. */
  set(name: MetricName, labels: Labels, value: number): void
  /** Asks for the values of a gauge or counter at each scrape; one that fails has none then. */
  read(name: MetricName, reading: () => readonly Reading[] | Promise<readonly Reading[]>): void
  snapshot(): Promise<Snapshot>
}

/** @returns every metric of the table, in a registry of its own */
export function openMetrics(): Metrics {
  const registry = new Registry()
  const readings = new Map<string, () => Promise<void>>()
  const made = new Map<string, { metric: Counter | Gauge | Histogram; bound: BoundLabels }>()
  for (const [name, row] of Object.entries<Metric>(metricTable)) {
    made.set(name, {
      metric: makeMetric(name, row, { registry, readings }),
      bound: boundLabels(row),
    })
  }
  const of = (name: MetricName) => {
    const one = made.get(name)
    if (!one) throw new Error(`there is no metric ${name}`)
    return one
  }
  const set = (name: MetricName, labels: Labels, value: number) => {
    const { metric, bound } = of(name)
    if (metric instanceof Gauge) metric.set(bound(labels), value)
  }
  return {
    add(name, labels, by = 1) {
      const { metric, bound } = of(name)
      if (metric instanceof Counter) metric.inc(bound(labels), by)
    },
    time(name, labels, seconds) {
      const { metric, bound } = of(name)
      if (metric instanceof Histogram) metric.observe(bound(labels), Math.max(0, seconds))
    },
    set,
    read(name, reading) {
      const { metric, bound } = of(name)
      readings.set(name, async () => {
        // A store that is away must not take the rest of the page with it.
        const found = await (async () => await reading())().catch(() => [])
        metric.reset()
        if (metric instanceof Gauge) unknownYet(metric)
        if (metric instanceof Histogram) return
        for (const { labels = {}, value } of found) metric.inc(bound(labels), value)
      })
    },
    snapshot: () => registry.getMetricsAsJSON(),
  }
}

type BoundLabels = (labels: Labels) => Labels

/** Whatever asks for more values than the table allows is counted as `other`. */
function boundLabels({ labels: allowed }: Metric): BoundLabels {
  const bounds = Object.entries(allowed).map(([label, values]) => [label, boundOf(values)] as const)
  return (labels) =>
    Object.fromEntries(bounds.map(([label, bound]) => [label, bound(labels[label] ?? OTHER)]))
}

const OTHER = 'other'

function boundOf(values: LabelValues): (value: string) => string {
  if (!('valuesMax' in values)) {
    const known: ReadonlySet<string> = new Set(values)
    return (value) => (known.has(value) ? value : OTHER)
  }
  const seen = new Set<string>()
  return (value) => {
    if (seen.has(value)) return value
    if (seen.size >= values.valuesMax) return OTHER
    seen.add(value)
    return value
  }
}

interface Making {
  readonly registry: Registry
  readonly readings: ReadonlyMap<string, () => Promise<void>>
}

function makeMetric(name: string, row: Metric, { registry, readings }: Making) {
  const { type, help, labels, buckets, ofHost } = row
  const common = {
    name,
    help,
    labelNames: Object.keys(labels),
    registers: [registry],
    aggregator: ofHost ?? ('sum' as const),
    collect: async () => await readings.get(name)?.(),
  }
  if (type === 'counter') return beganAtZero(new Counter(common), labels)
  if (type === 'gauge') return unknownYet(new Gauge(common))
  return new Histogram({ ...common, buckets: [...(buckets ?? [])] })
}

/** Without labels it would be 0 before anybody has set it, which says something else. */
function unknownYet(gauge: Gauge): Gauge {
  gauge.remove({})
  return gauge
}

const BEGUN_MAX = 20

/** A count that is not there yet cannot be seen to rise: those that are few are there from the start. */
function beganAtZero(counter: Counter, labels: Metric['labels']): Counter {
  const lists = Object.entries(labels).map(([label, values]) =>
    'valuesMax' in values ? [] : values.map((value) => ({ [label]: value })),
  )
  const all = lists.reduce<Labels[]>(
    (some, list) => some.flatMap((one) => list.map((each) => ({ ...one, ...each }))),
    [{}],
  )
  if (all.length <= BEGUN_MAX) for (const each of all) counter.inc(each, 0)
  return counter
}

/** What several processes have measured, as one. */
export async function sumOf(snapshots: readonly Snapshot[]): Promise<Snapshot> {
  return await AggregatorRegistry.aggregate([...snapshots]).getMetricsAsJSON()
}

/** The text of a scrape (Prometheus exposition format 0.0.4). */
export async function render(snapshots: readonly Snapshot[]): Promise<string> {
  return await AggregatorRegistry.aggregate([...snapshots]).metrics()
}

export const CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE
