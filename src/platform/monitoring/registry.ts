import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client'

import { type LabelValues, type Metric, type MetricName, metricTable } from './metric-table.ts'

type Labels = Readonly<Record<string, string>>

/** A value that is read at each scrape. */
export interface Reading {
  readonly labels?: Labels
  readonly value: number
}

/** The metrics of one process, as a worker sends them to the primary. */
export type Snapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export type Metrics = ReturnType<typeof openMetrics>

/** Creates every metric of the table, in a new registry. */
export function openMetrics() {
  const registry = new Registry()
  const readings = new Map<string, () => Promise<void>>()
  const made = Object.fromEntries(
    Object.entries<Metric>(metricTable).map(([name, row]) => {
      const collect = async () => await readings.get(name)?.()
      return [name, { metric: makeMetric(name, row, registry, collect), bound: boundLabels(row) }]
    }),
  ) as Record<MetricName, Made>
  return {
    add(name: MetricName, labels: Labels): void {
      const { metric, bound } = made[name]
      if (metric instanceof Counter) metric.inc(bound(labels))
    },
    time(name: MetricName, labels: Labels, seconds: number): void {
      const { metric, bound } = made[name]
      if (metric instanceof Histogram) metric.observe(bound(labels), Math.max(0, seconds))
    },
    set(name: MetricName, labels: Labels, value: number): void {
      const { metric, bound } = made[name]
      if (metric instanceof Gauge) metric.set(bound(labels), value)
    },
    /** Sets the function that each scrape calls to read a metric. If the function fails, the values are omitted. */
    read(name: MetricName, reading: () => readonly Reading[] | Promise<readonly Reading[]>): void {
      const { metric, bound } = made[name]
      readings.set(name, async () => {
        // An unavailable store must not fail the whole scrape.
        const found = await (async () => await reading())().catch(() => [])
        metric.reset()
        if (metric instanceof Gauge) metric.remove({})
        if (metric instanceof Histogram) return
        for (const { labels = {}, value } of found) metric.inc(bound(labels), value)
      })
    },
    snapshot: (): Promise<Snapshot> => registry.getMetricsAsJSON(),
  }
}

interface Made {
  readonly metric: Counter | Gauge | Histogram
  readonly bound: (labels: Labels) => Labels
}

/** Returns a function that replaces disallowed label values with `other`. */
function boundLabels({ labels: allowed = {} }: Metric): Made['bound'] {
  const bounds = Object.entries(allowed).map(([label, values]) => [label, boundOf(values)] as const)
  return (labels) =>
    Object.fromEntries(bounds.map(([label, bound]) => [label, bound(labels[label] ?? OTHER)]))
}

const OTHER = 'other'

function boundOf(values: LabelValues): (value: string) => string {
  const [known, knownMax] =
    'valuesMax' in values ? [new Set<string>(), values.valuesMax] : [new Set(values), values.length]
  return (value) => {
    if (known.size < knownMax) known.add(value)
    return known.has(value) ? value : OTHER
  }
}

function makeMetric(
  name: string,
  { type, help, labels = {}, buckets = [], ofHost = 'sum' }: Metric,
  registry: Registry,
  collect: () => Promise<void>,
) {
  const labelNames = Object.keys(labels)
  const common = { name, help, labelNames, registers: [registry], aggregator: ofHost, collect }
  if (type === 'counter') return beginAtZero(new Counter(common), labels)
  if (type === 'histogram') return new Histogram({ ...common, buckets: [...buckets] })
  const gauge = new Gauge(common)
  // A gauge without labels would otherwise report 0 before it is set.
  gauge.remove({})
  return gauge
}

const BEGUN_MAX = 20

/** If a counter has few label combinations, starts each at 0, so that Prometheus notices its first increase. */
function beginAtZero(counter: Counter, labels: NonNullable<Metric['labels']>): Counter {
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

/** Aggregates the metrics of several processes, according to the `ofHost` of each metric. */
export async function aggregate(snapshots: readonly Snapshot[]): Promise<Snapshot> {
  return await AggregatorRegistry.aggregate([...snapshots]).getMetricsAsJSON()
}

/** Aggregates metrics, and renders them in the Prometheus exposition format 0.0.4. */
export async function renderSnapshots(snapshots: readonly Snapshot[]): Promise<string> {
  return await AggregatorRegistry.aggregate([...snapshots]).metrics()
}

export const CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE
