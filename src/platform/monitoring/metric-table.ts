/** What is measured and traced of the running service, and where that can be read. It decides nothing. */

import { storeOperations } from '../store/store-use.ts'

/**
 * The values that a label may have: a list, or as many different ones as the code has names for. A value
 * that a client chose is in no list, and becomes `other`.
 */
export type LabelValues = readonly string[] | { readonly valuesMax: number }

export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels?: Readonly<Record<string, LabelValues>>
  /** Upper ends of the buckets of a histogram. */
  readonly buckets?: readonly number[]
  /** How the values of several processes of a host become one; `sum` by default. */
  readonly ofHost?: 'sum' | 'max' | 'min'
}

/** Error codes that are counted by name: those of docs/reference/errors.md. An MCP error has no code, and is `other`. */
export const errorCodes = [
  'access_denied',
  'account_selection_required',
  'consent_required',
  'forbidden',
  'insufficient_scope',
  'interaction_required',
  'invalid_client',
  'invalid_client_metadata',
  'invalid_dpop_proof',
  'invalid_grant',
  'invalid_redirect_uri',
  'invalid_request',
  'invalid_scope',
  'invalid_target',
  'invalid_token',
  'limit_reached',
  'login_required',
  'not_found',
  'request_not_supported',
  'request_uri_not_supported',
  'server_error',
  'signed_out',
  'temporarily_unavailable',
  'too_many_requests',
  'unauthorized_client',
  'unsupported_file',
  'unsupported_grant_type',
  'unsupported_response_type',
  'upstream_failed',
  'upstream_timeout',
  'use_dpop_nonce',
] as const

/**
 * The names under which refusals are counted, and how the reason begins in the log. Reasons may quote what a
 * client sent, so no other part of them is a label.
 */
export const reasonSentences = {
  account_disabled: 'the account is disabled',
  client_deleted: 'the client was deleted',
  client_disabled: 'the client is disabled',
  feature_off: 'the site switched MCP connections off',
  grant_ended: 'the grant has ended',
  grant_expired: 'the grant has expired',
  no_resource: 'the token was asked for without resource',
  no_role: 'the person has no role at the site',
  not_operator: 'the person does not operate the site any more',
  other_origin: 'the token was issued for another origin',
  token_expired: 'the token has expired',
  token_malformed: 'the token has no form of ours',
  token_revoked: 'the token was revoked with its family',
  token_unknown: 'the token is unknown',
  code_repeated: 'the code was used a moment ago',
  code_raced: 'another exchange of the same code was quicker',
  refresh_expired: 'the refresh token has expired',
  refresh_reused: 'the refresh token was used before',
  refresh_revoked: 'the refresh token was revoked',
  refresh_unknown: 'the refresh token is unknown',
  store_is_older: 'the database is older than the refresh token',
  foreign_client: 'another client holds it',
} as const

/** The name of a reason, or `other` where it has none. */
export function nameOfReason(detail: string | undefined): string {
  const known = Object.entries(reasonSentences).find(([, begin]) => detail?.startsWith(begin))
  return known?.[0] ?? 'other'
}

const stores = ['sqlite', 'postgres', 'redis'] as const
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx', 'gone'] as const
/** Engine routes and patterns of routers: there are some 170 of them. */
const routes = { valuesMax: 250 }

/** Every metric, by its name. docs/reference/metrics.md, dashboard and alert rules follow it. */
const metrics = {
  gatehouse_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels say what runs.',
    labels: { version: { valuesMax: 1 }, node: { valuesMax: 1 } },
    ofHost: 'max',
  },
  gatehouse_processes: {
    type: 'gauge',
    help: 'Processes of this host that serve.',
  },
  gatehouse_event_loop_delay_seconds: {
    type: 'histogram',
    help: 'How late a timer of 20 ms came: as long as a request had to wait for its turn.',
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
  },
  gatehouse_process_heap_bytes: {
    type: 'gauge',
    help: 'Memory of JavaScript objects that is in use.',
  },
  gatehouse_process_start_timestamp_seconds: {
    type: 'gauge',
    help: 'When the oldest process that serves was started.',
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
    labels: { error: errorCodes, reason: Object.keys(reasonSentences) },
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
  },
  gatehouse_sign_out_notices_waiting: {
    type: 'gauge',
    help: 'Notices of sign-outs that no application has taken yet.',
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

export type MetricName = keyof typeof metrics

export const metricTable: Readonly<Record<MetricName, Metric>> = metrics
