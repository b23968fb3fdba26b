import packageJson from '../../../package.json' with { type: 'json' }
import type { Platform } from '../platform.ts'
import { messageKinds } from './metric-table.ts'
import type { Metrics } from './registry.ts'

interface Sources {
  readonly passwords: { readonly waiting: () => number }
  /** `madeAt` is the creation time of the current signing key for each use, in epoch milliseconds. */
  readonly rings: { readonly current: () => { readonly madeAt: Values } }
}

/** Starts to measure this process. Disposing the result stops the timer that measures the event loop. */
export function readProcess(
  metrics: Metrics,
  { database, waitingMessages, now }: Pick<Platform, 'database' | 'waitingMessages' | 'now'>,
  { passwords, rings }: Sources,
): Disposable {
  const { version } = packageJson
  metrics.set('gatehouse_build_info', { version, node: process.versions.node }, 1)
  metrics.set('gatehouse_processes', {}, 1)
  metrics.read('gatehouse_process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage()
    return readingsOf('mode', { user, system }, 1e6)
  })
  const single = (value: number) => [{ value }]
  metrics.read('gatehouse_process_resident_memory_bytes', () => single(process.memoryUsage.rss()))
  metrics.read('gatehouse_process_heap_bytes', () => single(process.memoryUsage().heapUsed))
  metrics.read('gatehouse_password_checks_waiting', () => single(passwords.waiting()))
  metrics.read('gatehouse_database_connections', () => {
    const { open, waiting } = database.connections?.() ?? {}
    return readingsOf('state', { open, waiting })
  })
  metrics.read('gatehouse_signing_key_made_timestamp_seconds', () =>
    readingsOf('use', rings.current().madeAt, 1000),
  )
  // A scrape reads both metrics of the outbox at once, so they share one query.
  let waiting: ReturnType<Platform['waitingMessages']> | undefined
  const readOutbox = async (read: (count: number, oldestAt: number) => number) => {
    waiting ??= waitingMessages().finally(() => {
      waiting = undefined
    })
    const found = await waiting
    return messageKinds.map((kind) => {
      const { count = 0, oldestAt = now() } = found.get(kind) ?? {}
      return { labels: { kind }, value: read(count, oldestAt) }
    })
  }
  metrics.read('gatehouse_outbox_messages_waiting', () => readOutbox((count) => count))
  metrics.read('gatehouse_outbox_oldest_seconds', () =>
    readOutbox((_count, oldestAt) => Math.max(0, now() - oldestAt) / 1000),
  )
  return watchEventLoop(metrics)
}

type Values = Readonly<Record<string, number | undefined>>

function readingsOf(label: string, values: Values, divisor = 1) {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [{ labels: { [label]: name }, value: value / divisor }],
  )
}

const LOOP_SAMPLE_MS = 20

/** Measures the event loop delay: how late a timer fires. */
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
