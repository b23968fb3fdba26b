import { type DocumentNode, getOperationAST } from 'graphql'

import { personKey } from '../../platform/limits/limits.ts'
import { type CostLimit, countOperation, countPreparing } from './cost.ts'
import { callerLimits } from './documents.ts'
import type { GraphqlApi } from './graphql-api.ts'
import { type Person, parseObject, type TryQuery, type TypedQuery } from './query-page.ts'

/** Creates the function that runs a person's queries under the limits of an API. Mutations need `mayChange`. */
export function makeTryQuery<Caller extends Person>(
  api: GraphqlApi<Caller>,
  costLimit: CostLimit,
): TryQuery<Caller> {
  return async (typed, caller) => {
    const { limits, name } = costLimit
    const counted = { personId: caller.personId, clientId: '', siteId: caller.siteId }
    const exceeded = limits.exceeded(name, personKey(counted))
    if (exceeded) {
      return { problem: `Too many queries. Try again in ${exceeded.waitSeconds} s.` }
    }
    const prepared = api.prepare(typed.source)
    if (!prepared.isKept) countPreparing(counted, costLimit)
    if (prepared.kind === 'refused') return { problem: prepared.error.message }
    if (prepared.kind !== 'valid') return { result: { errors: prepared.errors } }
    const { document } = prepared
    const problem = operationProblem(document, typed)
    if (problem) return { problem }
    const variables = parseObject(typed.variables.trim() || '{}')
    if (!variables) return { problem: 'The variables must be a JSON object.' }
    const request = { operationName: typed.operationName, variables }
    const { cost, excess } = api.measure(document, request)
    if (excess) return { problem: excess.message }
    countOperation(counted, cost, costLimit)
    const result = await api.run(document, request, caller)
    return { result: { ...result, extensions: { cost, limits: callerLimits(api.limits) } } }
  }
}

function operationProblem(
  document: DocumentNode,
  { operationName, mayChange = false }: TypedQuery,
): string | undefined {
  const operation = getOperationAST(document, operationName)?.operation
  if (operation === undefined) return 'Select exactly one operation, or remove the others.'
  if (operation === 'query' || mayChange) return undefined
  return 'This page runs queries only. Send mutations to the API, with an access token.'
}
