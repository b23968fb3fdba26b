/** The table of metrics and the allowed values of their labels. No behavior depends on metrics. */

import type { MessageKind } from '../store/schema.ts'
import { storeOperations } from '../store/store-use.ts'

/** The allowed values of a label: a list, or a maximum number of different values. Any other value becomes `other`. */
export type LabelValues = readonly string[] | { readonly valuesMax: number }

export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels?: Readonly<Record<string, LabelValues>>
  readonly buckets?: readonly number[]
  /** How to aggregate the values of all processes on a host; `sum` by default. */
  readonly ofHost?: 'sum' | 'max'
}

export const messageKinds: readonly MessageKind[] = ['mail', 'webhook', 'sign_out_notice']

/** The error codes in docs/reference/errors.md, as label values. MCP errors without a code are `other`. */
export const errorCodes = (
  'access_denied account_selection_required consent_required forbidden ' +
  'insufficient_scope insufficient_user_authentication interaction_required ' +
  'invalid_client invalid_client_metadata invalid_dpop_proof invalid_grant ' +
  'invalid_redirect_uri invalid_request invalid_scope invalid_target invalid_token ' +
  'limit_reached login_required not_found page_expired request_not_supported ' +
  'request_uri_not_supported server_error signed_out temporarily_unavailable ' +
  'too_many_requests unauthorized_client unmet_authentication_requirements ' +
  'unsupported_file unsupported_grant_type unsupported_response_type upstream_failed ' +
  'upstream_timeout use_dpop_nonce'
).split(' ')

/** The beginnings of frequent reasons in the log, by label value. The rest of a reason may quote client input. */
export const reasonSentences = {
  account_disabled: 'the account is disabled',
  client_deleted: 'the client was deleted',
  client_disabled: 'the client is disabled',
  feature_off: 'the site has disabled MCP connections',
  grant_ended: 'the grant has ended',
  grant_expired: 'the grant has expired',
  no_resource: 'the token was requested without the resource parameter',
  no_role: 'the person has no role at the site',
  not_operator: 'the person is no longer an operator of the site',
  other_origin: 'the token was issued for another origin',
  token_expired: 'the token has expired',
  token_malformed: 'the token is malformed',
  token_revoked: 'the token was revoked',
  token_unknown: 'the token is unknown',
  code_repeated: 'the code was used a moment ago',
  code_raced: 'a concurrent request used the same code',
  refresh_expired: 'the refresh token has expired',
  refresh_reused: 'the refresh token was used before',
  refresh_revoked: 'the refresh token was revoked',
  refresh_unknown: 'the refresh token is unknown',
  store_is_older: 'the database is older than the token, likely after a restore',
  foreign_client: 'the refresh token belongs to another client',
} as const

/** Returns the label value for a logged reason; `other` if the table has none. */
export function nameOfReason(detail: string | undefined): string {
  const known = Object.entries(reasonSentences).find(([, begin]) => detail?.startsWith(begin))
  return known?.[0] ?? 'other'
}

const stores = ['sqlite', 'postgres', 'redis'] as const
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx', 'gone'] as const
/** The maximum number of route labels; about 170 engine routes and router patterns exist. */
const routes = { valuesMax: 250 }

/** All metrics, by name. Tests compare docs/reference/metrics.md, the dashboard and the alert rules with this table. */
const metrics = {
  gatehouse_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels contain the versions.',
    labels: { version: { valuesMax: 1 }, node: { valuesMax: 1 } },
    ofHost: 'max',
  },
  gatehouse_processes: { type: 'gauge', help: 'Processes on this host that accept requests.' },
  gatehouse_event_loop_delay_seconds: {
    type: 'histogram',
    help: 'How late a 20 ms timer fires, which is about how long requests wait for the event loop.',
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
  },
  gatehouse_process_cpu_seconds_total: {
    type: 'counter',
    help: 'CPU time of the processes that accept requests.',
    labels: { mode: ['user', 'system'] },
  },
  gatehouse_process_resident_memory_bytes: {
    type: 'gauge',
    help: 'Resident memory of the processes that accept requests.',
  },
  gatehouse_process_heap_bytes: {
    type: 'gauge',
    help: 'JavaScript heap memory in use by the processes that accept requests.',
  },
  gatehouse_http_request_duration_seconds: {
    type: 'histogram',
    help: 'Duration of requests by route, method and status class; `gone` means that the caller disconnected before the end of the response.',
    labels: { route: routes, method: methods, status: statusClasses },
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
  },
  gatehouse_ignored_proxy_requests_total: {
    type: 'counter',
    help: 'Requests from private addresses whose X-Forwarded-For header was ignored.',
  },
  gatehouse_refusals_total: {
    type: 'counter',
    help: 'Error responses, by error code and logged reason.',
    labels: { error: errorCodes, reason: Object.keys(reasonSentences) },
  },
  gatehouse_sign_ins_total: {
    type: 'counter',
    help: 'Password sign-in attempts.',
    labels: { outcome: ['signed-in', 'refused', 'limited', 'busy', 'unavailable', 'failed'] },
  },
  gatehouse_code_exchanges_total: {
    type: 'counter',
    help: 'Exchanges of authorization codes; `reused` means that a code was sent again, which normally ends its grant.',
    labels: { outcome: ['exchanged', 'reused', 'refused', 'failed'] },
  },
  gatehouse_refreshes_total: {
    type: 'counter',
    help: 'Uses of refresh tokens; `repeated` means that a retry got the same response, `reused` that an old token was used, which ended its grant.',
    labels: { outcome: ['refreshed', 'repeated', 'reused', 'refused', 'failed'] },
  },
  gatehouse_introspections_total: {
    type: 'counter',
    help: 'Introspection requests from resource servers and clients.',
    labels: { result: ['active', 'inactive', 'refused', 'failed'] },
  },
  gatehouse_tool_calls_total: {
    type: 'counter',
    help: 'Tool calls, and requests for prompts and resources; `problem` means that the result reports a mistake by the caller.',
    labels: { tool: { valuesMax: 150 }, outcome: ['answered', 'problem', 'refused', 'failed'] },
  },
  gatehouse_graphql_operations_total: {
    type: 'counter',
    help: 'Requests to the GraphQL endpoints; operations of tools and query pages are not counted.',
    labels: { surface: ['member', 'admin'], outcome: ['answered', 'errors', 'refused', 'failed'] },
  },
  gatehouse_outgoing_requests_total: {
    type: 'counter',
    help: 'Requests to other servers, for client documents and keys, identity providers, sign-out notices, password checks, webhooks and the platform API.',
    labels: {
      purpose: ['document', 'identity', 'notice', 'password', 'upstream', 'webhook'],
      outcome: ['answered', 'refused', 'failed'],
    },
  },
  gatehouse_store_duration_seconds: {
    type: 'histogram',
    help: 'Duration of store calls, including the wait for a connection; a transaction is one call.',
    labels: { store: stores, operation: storeOperations },
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5],
  },
  gatehouse_store_failures_total: {
    type: 'counter',
    help: 'Store calls that failed because of the store, for example timeouts and lost connections.',
    labels: { store: stores },
  },
  gatehouse_database_connections: {
    type: 'gauge',
    help: 'Open PostgreSQL connections, and store calls waiting for a connection.',
    labels: { state: ['open', 'waiting'] },
  },
  gatehouse_password_checks_waiting: { type: 'gauge', help: 'Password checks in the queue.' },
  gatehouse_outbox_messages_waiting: {
    type: 'gauge',
    help: 'Undelivered messages.',
    labels: { kind: messageKinds },
    ofHost: 'max',
  },
  gatehouse_outbox_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest undelivered message.',
    labels: { kind: messageKinds },
    ofHost: 'max',
  },
  gatehouse_outbox_attempts_total: {
    type: 'counter',
    help: 'Attempts to send a message; `dropped` means that the message was rejected, or had waited for three days.',
    labels: { kind: messageKinds, outcome: ['sent', 'postponed', 'dropped'] },
  },
  gatehouse_task_last_success_timestamp_seconds: {
    type: 'gauge',
    help: 'Time of the last successful run of a background task.',
    labels: { task: { valuesMax: 20 } },
    ofHost: 'max',
  },
  gatehouse_signing_key_made_timestamp_seconds: {
    type: 'gauge',
    help: 'Creation time of the current signing key; `tokens` signs id_tokens and logout tokens, `upstreams` signs forwarded requests and password checks.',
    labels: { use: ['tokens', 'upstreams'] },
    ofHost: 'max',
  },
} as const satisfies Readonly<Record<string, Metric>>

export type MetricName = keyof typeof metrics

export const metricTable: Readonly<Record<MetricName, Metric>> = metrics
