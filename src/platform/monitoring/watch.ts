import type { Logger } from 'pino'

import { paths } from '../http/paths.ts'
import { CALLER_GONE, type LoggedRequest } from '../http/request-log.ts'
import type { SendOutgoing } from '../outgoing/guarded-fetch.ts'
import type { ListeningAddress } from '../process/server.ts'
import type { StoreGuard } from '../store/guarded-stores.ts'
import { describeUse } from '../store/store-use.ts'
import { type MetricName, nameOfReason } from './metric-table.ts'
import type { Metrics } from './registry.ts'
import type { Outgoing, TraceSettings, Traces } from './traces.ts'

/** The metrics and traces of a process; undefined if disabled. */
export interface Watchers {
  readonly metrics?: Metrics | undefined
  readonly traces?: Traces | undefined
}

interface WatcherSettings {
  readonly metricsAddress: ListeningAddress | undefined
  readonly traces: TraceSettings | undefined
}

/** Opens the enabled metrics and traces. The primary serves the metrics of its workers. */
export async function openWatchers(
  { metricsAddress, traces: tracing }: WatcherSettings,
  isWorker: boolean,
  log: Logger,
): Promise<Watchers & AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  let metrics: Watchers['metrics']
  if (metricsAddress) {
    const { serveMetrics, reportMetrics } = await import('./serve-metrics.ts')
    metrics = opening.use(isWorker ? reportMetrics() : await serveMetrics(metricsAddress)).metrics
  }
  const traces = tracing && (await import('./traces.ts')).openTraces(tracing, log)
  if (traces) opening.use(traces)
  const open = opening.move()
  return { metrics, traces, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Creates functions that measure and trace parts of the service. Without metrics and traces, they record nothing. */
export function makeWatch({ metrics, traces }: Watchers) {
  const outgoing: Outgoing = async (_purpose, send) => await send({})
  return {
    guard(guard: StoreGuard): StoreGuard {
      const traced = traces ? traces.guard(guard) : guard
      return metrics ? timed(traced, metrics) : traced
    },
    /** Wraps `send` to count and trace its requests. Without a purpose, POST counts as `notice`, GET as `document`. */
    fetch(send: SendOutgoing): SendOutgoing {
      const traced = traces ? traces.fetch(send) : send
      return async (input, init) => {
        const purpose = init?.purpose ?? (init?.method === 'POST' ? 'notice' : 'document')
        return await counted(traced(input, init), (response) => {
          const outcome = response && (response.ok ? 'answered' : 'refused')
          const labels = { purpose, outcome: outcome ?? 'failed' }
          metrics?.add('gatehouse_outgoing_requests_total', labels)
        })
      }
    },
    signIn:
      <Attempt, Outcome extends { readonly kind: string }>(
        signIn: (attempt: Attempt) => Promise<Outcome>,
      ) =>
      async (attempt: Attempt) =>
        await counted(signIn(attempt), (result) =>
          metrics?.add('gatehouse_sign_ins_total', { outcome: result?.kind ?? 'failed' }),
        ),
    /** Sends a request to another service. If traces are on, adds headers that continue the trace. */
    outgoing: traces?.outgoing ?? outgoing,
    /** Middleware that starts the trace of a request; undefined if traces are off. */
    trace: traces?.middleware,
    noteMessage: (kind: string, outcome: 'sent' | 'postponed' | 'dropped') =>
      metrics?.add('gatehouse_outbox_attempts_total', { kind, outcome }),
    noteIgnoredProxy: () => metrics?.add('gatehouse_ignored_proxy_requests_total', {}),
    noteRequest(line: LoggedRequest): void {
      if (metrics) countRequest(metrics, line)
    },
    /** Records that a background task has succeeded. */
    noteTask(task: string): void {
      metrics?.set('gatehouse_task_last_success_timestamp_seconds', { task }, Date.now() / 1000)
    },
  }
}

function timed(guard: StoreGuard, metrics: Metrics): StoreGuard {
  return async (call, isFailure, use) => {
    const { store } = use
    const startedAtMs = performance.now()
    const failed = (error: unknown) => {
      const isOfStore = isFailure(error)
      if (isOfStore) metrics.add('gatehouse_store_failures_total', { store })
      return isOfStore
    }
    try {
      return await guard(call, failed, use)
    } finally {
      const { operation } = describeUse(use)
      const seconds = (performance.now() - startedAtMs) / 1000
      metrics.time('gatehouse_store_duration_seconds', { store, operation }, seconds)
    }
  }
}

/** Awaits an operation and passes its result to `count`, or undefined if the operation failed. */
async function counted<Result>(
  work: Promise<Result>,
  count: (result: Result | undefined) => void,
): Promise<Result> {
  try {
    const result = await work
    count(result)
    return result
  } catch (error) {
    count(undefined)
    throw error
  }
}

/** Counts a request from its log line, so metrics and log agree. */
function countRequest(metrics: Metrics, line: LoggedRequest): void {
  const { route, method, status, tookMs, tool, error, outcome } = line
  const statusClass = status === CALLER_GONE ? 'gone' : `${Math.floor(status / 100)}xx`
  const labels = { route, method, status: statusClass }
  metrics.time('gatehouse_http_request_duration_seconds', labels, tookMs / 1000)
  if (error !== undefined) {
    metrics.add('gatehouse_refusals_total', { error, reason: nameOfReason(line.detail) })
  }
  countTokenRequest(metrics, line)
  if (route === 'introspection') {
    metrics.add('gatehouse_introspections_total', { result: outcome ?? failureOf(status) })
  }
  if (tool !== undefined) metrics.add('gatehouse_tool_calls_total', { tool, outcome: endOf(line) })
  const surface = graphqlSurfaces[route]
  if (surface !== undefined && method !== 'OPTIONS') {
    metrics.add('gatehouse_graphql_operations_total', { surface, outcome: endOf(line) })
  }
  if (line.upstream !== undefined) countForwarded(metrics, line)
}

const graphqlSurfaces: Readonly<Record<string, string>> = {
  [paths.graphql]: 'member',
  [paths.adminGraphql]: 'admin',
}

function countTokenRequest(metrics: Metrics, { grantType, outcome, status }: LoggedRequest): void {
  if (grantType === undefined) return
  const [metric, succeeded] = {
    authorization_code: ['gatehouse_code_exchanges_total', 'exchanged'],
    refresh_token: ['gatehouse_refreshes_total', 'refreshed'],
  }[grantType] as [MetricName, string]
  metrics.add(metric, { outcome: outcome ?? (status < 400 ? succeeded : failureOf(status)) })
}

/** Counts a forwarded request. An error response from the platform API has a status, but none of our error codes. */
function countForwarded(metrics: Metrics, { error, status }: LoggedRequest): void {
  const isFailure = error?.startsWith('upstream_') === true
  // Skip a request that this service rejected itself.
  if (error !== undefined && !isFailure) return
  const outcome = isFailure ? 'failed' : endOf({ status })
  metrics.add('gatehouse_outgoing_requests_total', { purpose: 'upstream', outcome })
}

function endOf({
  outcome,
  status,
  cause,
}: Pick<LoggedRequest, 'status' | 'outcome' | 'cause'>): string {
  if (status >= 500 || cause !== undefined) return 'failed'
  return outcome ?? (status < 400 ? 'answered' : 'refused')
}

function failureOf(status: number): string {
  return status >= 500 ? 'failed' : 'refused'
}
