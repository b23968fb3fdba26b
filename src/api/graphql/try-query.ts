import { type ExecutionResult, getOperationAST } from 'graphql'

import { personKey } from '../../platform/limits/limits.ts'
import type { ContextRecord, GraphqlApi } from './api.ts'
import { type CostLimit, countOperation, countPreparing } from './cost-limit.ts'
import { limitsInForce } from './limits.ts'

/** What became of a query that somebody tried: its answer, or a sentence about why there is none. */
export type TriedQuery = { readonly result: ExecutionResult } | { readonly problem: string }

/** Runs what a person has typed on one of our pages, with everything that they may do themselves. */
export type TryQuery<Caller> = (typed: TypedQuery, caller: Caller) => Promise<TriedQuery>

export interface TypedQuery {
  readonly source: string
  /** JSON, or nothing at all. */
  readonly variables: string
  /** Which operation, where there are several. */
  readonly operationName?: string | undefined
  /** Whether what is typed may change something; without it only queries are run. */
  readonly mayChange?: boolean
}

/** Whoever tries something, about one of their sites. */
interface Person {
  readonly personId: string
  readonly siteId: string
}

/**
 * Tries what is typed at an API. A page for looking runs queries only: what it changes would be done by
 * an accident of typing. The limits are those of the API, and so is how what is asked is counted.
 *
 * @param load gives the API, which may be loaded with the first question only
 */
export function makeTryQuery<Caller extends Person, Context extends ContextRecord>(
  load: () => Promise<GraphqlApi<Caller, Context>>,
  costLimit: CostLimit,
): TryQuery<Caller> {
  return async (typed, caller) => {
    const { limits, name } = costLimit
    const counted = { personId: caller.personId, clientId: '', siteId: caller.siteId }
    const exceeded = limits.exceeded(name, personKey(counted))
    if (exceeded) return { problem: tooMuch(exceeded.waitSeconds) }
    return await tryAt(await load(), {
      ...{ typed, caller },
      countPreparing: () => countPreparing(counted, costLimit),
      countOperation: (cost) => countOperation(counted, cost, costLimit),
    })
  }
}

interface Trial<Caller> {
  readonly typed: TypedQuery
  readonly caller: Caller
  readonly countPreparing: () => void
  readonly countOperation: (cost: number) => void
}

async function tryAt<Caller, Context extends ContextRecord>(
  api: GraphqlApi<Caller, Context>,
  trial: Trial<Caller>,
): Promise<TriedQuery> {
  const { source, variables: typed, operationName, mayChange = false } = trial.typed
  const prepared = api.prepare(source)
  if (!prepared.isKept) trial.countPreparing()
  if (prepared.kind === 'refused') return { problem: prepared.error.message }
  if (prepared.kind === 'invalid') return { result: { errors: prepared.errors } }
  const { document } = prepared
  const problem = problemOf(getOperationAST(document, operationName)?.operation, mayChange)
  if (problem) return { problem }
  const variables = readVariables(typed)
  if (!variables) return { problem: 'The variables must be one JSON object.' }
  const request = { operationName, variables }
  const { cost, excess } = api.measure(document, request)
  if (excess) return { problem: excess.message }
  trial.countOperation(cost)
  const result = await api.run(document, request, trial.caller)
  return { result: { ...result, extensions: { cost, limits: limitsInForce(api.limits) } } }
}

function tooMuch(waitSeconds: number): string {
  return `More was asked for than is answered at once. Please wait ${waitSeconds} seconds.`
}

function problemOf(operation: string | undefined, mayChange: boolean): string | undefined {
  if (operation === undefined) return 'Write one operation.'
  if (operation === 'query' || mayChange) return undefined
  return 'This page runs queries only. A program with a token runs mutations.'
}

function readVariables(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() || '{}')
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
