import packageJson from '../../../package.json' with { type: 'json' }
import type { Database } from '../store/database.ts'
import type { Metrics, Reading } from './registry.ts'

/** What a process is asked at each scrape, besides what it has counted. */
export interface Sources {
  readonly database: Database
  readonly waitingHashes: () => number
  /** Left out where nobody is told of sign-outs. */
  readonly waitingNotices?: (() => Promise<number>) | undefined
  /** In epoch milliseconds, by what the keys sign. */
  readonly keysMadeAt: () => Readonly<Record<string, number | undefined>>
}

/** Has the process tell of itself; disposing of the result ends that. */
export function readProcess(metrics: Metrics, sources: Sources): Disposable {
  const { database, waitingHashes, waitingNotices, keysMadeAt } = sources
  const one = (value: number): Reading[] => [{ value }]
  const { version } = packageJson
  metrics.set('gatehouse_build_info', { version, node: process.versions.node }, 1)
  metrics.set('gatehouse_processes', {}, 1)
  const startedAtSeconds = Math.round(Date.now() / 1000 - process.uptime())
  metrics.set('gatehouse_process_start_timestamp_seconds', {}, startedAtSeconds)
  metrics.read('gatehouse_process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage()
    return [
      { labels: { mode: 'user' }, value: user / 1e6 },
      { labels: { mode: 'system' }, value: system / 1e6 },
    ]
  })
  metrics.read('gatehouse_process_resident_memory_bytes', () => one(process.memoryUsage.rss()))
  metrics.read('gatehouse_process_heap_bytes', () => one(process.memoryUsage().heapUsed))
  metrics.read('gatehouse_password_checks_waiting', () => one(waitingHashes()))
  metrics.read('gatehouse_database_connections', () => {
    const { open, waiting } = database.connections?.() ?? {}
    return readingsOf('state', { open, waiting })
  })
  metrics.read('gatehouse_signing_key_made_timestamp_seconds', () =>
    readingsOf('use', keysMadeAt(), (ms) => ms / 1000),
  )
  metrics.read('gatehouse_sign_out_notices_waiting', async () =>
    waitingNotices ? one(await waitingNotices()) : [],
  )
  return watchEventLoop(metrics)
}

/** One reading for each value that there is. */
function readingsOf(
  label: string,
  values: Readonly<Record<string, number | undefined>>,
  unit: (value: number) => number = (value) => value,
): Reading[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [{ labels: { [label]: name }, value: unit(value) }],
  )
}

const LOOP_SAMPLE_MS = 20

/** As late as a timer comes, so late is everything. What holds the loop up for longer than a sample is seen. */
function watchEventLoop(metrics: Metrics): Disposable {
  let expectedMs = performance.now() + LOOP_SAMPLE_MS
  const timer = setInterval(() => {
    const nowMs = performance.now()
    metrics.time('gatehouse_event_loop_delay_seconds', {}, (nowMs - expectedMs) / 1000)
    expectedMs = nowMs + LOOP_SAMPLE_MS
  }, LOOP_SAMPLE_MS)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
