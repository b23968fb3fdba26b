import { paths } from '../http/paths.ts'
import type { LoggedRequest } from '../http/request-log.ts'
import type { MetricName } from './metric-table.ts'
import { nameOfReason } from './refusal-reasons.ts'

/** One addition to a metric: one more, or a time in seconds. */
export interface Count {
  readonly metric: MetricName
  readonly labels: Readonly<Record<string, string>>
  readonly seconds?: number
}

/**
 * What a request counts as. Everything comes from the line that the log has of it, so that the two never
 * say different things, and nothing is asked of a request while it runs.
 */
export function countsOf(line: LoggedRequest): Count[] {
  const { route, method, status, tookMs, tool, upstream } = line
  const counts: (Count | undefined)[] = [
    {
      metric: 'gatehouse_http_request_duration_seconds',
      labels: { route, method, status: classOf(status) },
      seconds: tookMs / 1000,
    },
    refusalOf(line),
    tokenRequestOf(line),
    route === INTROSPECTION
      ? count('gatehouse_introspections_total', { result: line.outcome ?? failureOf(status) })
      : undefined,
    tool === undefined
      ? undefined
      : count('gatehouse_tool_calls_total', { tool, outcome: endOf(line) }),
    graphqlOf(line),
    upstream === undefined ? undefined : upstreamOf(line),
  ]
  return counts.filter((each) => each !== undefined)
}

/** As the request log calls them: the names of our program routes and of the engine's routes. */
const INTROSPECTION = 'introspection'
const GONE = 499

function count(metric: MetricName, labels: Count['labels']): Count {
  return { metric, labels }
}

function classOf(status: number): string {
  return status === GONE ? 'gone' : `${Math.floor(status / 100)}xx`
}

function refusalOf({ error, detail }: LoggedRequest): Count | undefined {
  if (error === undefined) return undefined
  return count('gatehouse_refusals_total', { error, reason: nameOfReason(detail) })
}

function tokenRequestOf({ grantType, outcome, status }: LoggedRequest): Count | undefined {
  if (grantType === undefined) return undefined
  const [metric, succeeded] = {
    authorization_code: ['gatehouse_code_exchanges_total', 'exchanged'],
    refresh_token: ['gatehouse_refreshes_total', 'refreshed'],
  }[grantType] as [MetricName, string]
  return count(metric, { outcome: outcome ?? (status < 400 ? succeeded : failureOf(status)) })
}

const graphqlSurfaces: Readonly<Record<string, string>> = {
  [paths.graphql]: 'member',
  [paths.adminGraphql]: 'admin',
}

function graphqlOf(line: LoggedRequest): Count | undefined {
  const surface = graphqlSurfaces[line.route]
  if (surface === undefined || line.method === 'OPTIONS') return undefined
  return count('gatehouse_graphql_operations_total', { surface, outcome: endOf(line) })
}

/** A status of ours that says how the platform answered: it refuses with its own, and fails by ours. */
function upstreamOf({ error, status }: LoggedRequest): Count | undefined {
  const isFailure = error?.startsWith('upstream_') === true
  // Refused here, before anything was sent.
  if (error !== undefined && !isFailure) return undefined
  const outcome = isFailure ? 'failed' : endOf({ status })
  return count('gatehouse_outgoing_requests_total', { purpose: 'upstream', outcome })
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
