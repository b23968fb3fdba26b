/** What is measured and traced of the running service, and where that can be read. It decides nothing. */

import { storeOperations } from '../store/store-use.ts'
import { errorCodes, reasonNames } from './refusal-reasons.ts'

/**
 * Which values a label may have: those of a list, or as many different ones as the code has names for.
 * A value that a client chose is in no list, and becomes `other`.
 */
export type LabelValues = readonly string[] | { readonly valuesMax: number }

export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: Readonly<Record<string, LabelValues>>
  /** Upper ends of the buckets of a histogram. */
  readonly buckets?: readonly number[]
  /** How the values of several processes of a host become one; sums unless it says else. */
  readonly ofHost?: 'sum' | 'max' | 'min'
}

const stores = ['sqlite', 'postgres', 'redis'] as const
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx', 'gone'] as const
/** Engine routes and patterns of routers: there are some 170 of them. */
const routes = { valuesMax: 250 }

/**
 * Every metric, by its name: one word for the service, the thing, the unit, and `_total` where it counts.
 * docs/monitoring.md, the dashboard and the alert rules are held against this table.
 */
export const metricTable = {
  gatehouse_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels say what runs.',
    labels: { version: { valuesMax: 1 }, node: { valuesMax: 1 } },
    ofHost: 'max',
  },
  gatehouse_processes: {
    type: 'gauge',
    help: 'Processes of this host that serve.',
    labels: {},
  },
  gatehouse_event_loop_delay_seconds: {
    type: 'histogram',
    help: 'How late a timer of 20 ms came: as long as a request had to wait for its turn.',
    labels: {},
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
  },
  gatehouse_process_cpu_seconds_total: {
    type: 'counter',
    help: 'Processor time of the processes that serve.',
    labels: { mode: ['user', 'system'] },
  },
  gatehouse_process_resident_memory_bytes: {
    type: 'gauge',
    help: 'Memory of the processes that serve.',
    labels: {},
  },
  gatehouse_process_heap_bytes: {
    type: 'gauge',
    help: 'Memory of JavaScript objects that is in use.',
    labels: {},
  },
  gatehouse_process_start_timestamp_seconds: {
    type: 'gauge',
    help: 'When the oldest process that serves was started.',
    labels: {},
    ofHost: 'min',
  },
  gatehouse_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Requests, by route, method and class of their status; gone: the caller left before the answer.',
    labels: { route: routes, method: methods, status: statusClasses },
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
  },
  gatehouse_refusals_total: {
    type: 'counter',
    help: 'Answers with an error, by its code and by why, as the log says it.',
    labels: { error: errorCodes, reason: reasonNames },
  },
  gatehouse_sign_ins_total: {
    type: 'counter',
    help: 'Attempts to sign in with a password.',
    labels: { outcome: ['signed-in', 'refused', 'limited', 'busy', 'failed'] },
  },
  gatehouse_code_exchanges_total: {
    type: 'counter',
    help: 'Exchanges of a code; reused: a code came back, and its grant was ended.',
    labels: { outcome: ['exchanged', 'reused', 'refused', 'failed'] },
  },
  gatehouse_refreshes_total: {
    type: 'counter',
    help: 'Uses of a refresh token; repeated: a retry got the same answer again; reused: a used one came back, and its grant was ended.',
    labels: { outcome: ['refreshed', 'repeated', 'reused', 'refused', 'failed'] },
  },
  gatehouse_introspections_total: {
    type: 'counter',
    help: 'Questions of resource servers and clients about a token.',
    labels: { result: ['active', 'inactive', 'refused', 'failed'] },
  },
  gatehouse_tool_calls_total: {
    type: 'counter',
    help: 'Uses of a tool, a prompt or a kind of resource; problem: the answer says what the caller did wrong.',
    labels: {
      tool: { valuesMax: 150 },
      outcome: ['answered', 'problem', 'refused', 'failed'],
    },
  },
  gatehouse_graphql_operations_total: {
    type: 'counter',
    help: 'Operations of the GraphQL APIs, those of tools apart.',
    labels: { surface: ['member', 'admin'], outcome: ['answered', 'errors', 'refused', 'failed'] },
  },
  gatehouse_outgoing_requests_total: {
    type: 'counter',
    help: 'Requests to others: for a document or the keys of a client, a notice of a sign-out, the platform itself.',
    labels: {
      purpose: ['document', 'notice', 'upstream'],
      outcome: ['answered', 'refused', 'failed'],
    },
  },
  gatehouse_store_duration_seconds: {
    type: 'histogram',
    help: 'Calls of a store, waiting for a connection included; a transaction is one.',
    labels: { store: stores, operation: storeOperations },
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5],
  },
  gatehouse_store_failures_total: {
    type: 'counter',
    help: 'Calls of a store that did not answer in time or could not be reached.',
    labels: { store: stores },
  },
  gatehouse_database_connections: {
    type: 'gauge',
    help: 'Connections to PostgreSQL that are open, and requests that wait for one.',
    labels: { state: ['open', 'waiting'] },
  },
  gatehouse_password_checks_waiting: {
    type: 'gauge',
    help: 'Password checks that wait for their turn.',
    labels: {},
  },
  gatehouse_sign_out_notices_waiting: {
    type: 'gauge',
    help: 'Notices of sign-outs that no application has taken yet.',
    labels: {},
    ofHost: 'max',
  },
  gatehouse_task_runs_total: {
    type: 'counter',
    help: 'Runs of background tasks.',
    labels: { task: { valuesMax: 20 }, outcome: ['succeeded', 'failed'] },
  },
  gatehouse_task_last_success_timestamp_seconds: {
    type: 'gauge',
    help: 'When a background task succeeded last.',
    labels: { task: { valuesMax: 20 } },
    ofHost: 'max',
  },
  gatehouse_signing_key_made_timestamp_seconds: {
    type: 'gauge',
    help: 'When the key that signs was made: id_tokens (tokens), or what is forwarded (upstreams).',
    labels: { use: ['tokens', 'upstreams'] },
    ofHost: 'max',
  },
} as const satisfies Readonly<Record<string, Metric>>

export type MetricName = keyof typeof metricTable
