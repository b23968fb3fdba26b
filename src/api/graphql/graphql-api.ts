import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  separateOperations,
  visit,
} from 'graphql'
import type { RequestParams } from 'graphql-http'

import { isRefusal } from '../../platform/http/errors.ts'
import { changesIn, makeCostOf } from './cost.ts'
import { type ApiLimits, limitExceeded, makePrepareDocument } from './documents.ts'

/** Returns the scopes that the selected operation needs. */
export type ScopesNeeded = (
  document: DocumentNode,
  operationName: string | null | undefined,
) => readonly string[]

/** The selected operation of a prepared document, and its variables. */
type Request = Pick<RequestParams, 'operationName' | 'variables'>

/**
 * Runs one of this service's own GraphQL documents for a caller, against the published schema.
 *
 * @returns the result, including the errors that the caller may see
 * @throws every other error, such as storageUnavailable
 */
export type Execute<Caller> = (
  document: string,
  variables: Record<string, unknown>,
  caller: Caller,
) => Promise<ExecutionResult>

/** A GraphQL API, independent of HTTP. Created once, with a cache of prepared documents. */
export type GraphqlApi<Caller> = ReturnType<typeof makeGraphqlApi<Caller>>

/** Creates a GraphQL API. @param contextFor creates the context of one request */
export function makeGraphqlApi<Caller>(
  schema: GraphQLSchema,
  limits: ApiLimits,
  scopesNeeded: ScopesNeeded,
  contextFor: (caller: Caller) => object,
) {
  const prepare = makePrepareDocument(schema, limits)
  const costOf = makeCostOf(schema)
  /** Runs one operation of a prepared document. The result includes internal errors. */
  const perform = async (
    document: DocumentNode,
    { operationName = null, variables = null }: Request,
    caller: Caller,
  ) => {
    const request = { operationName, variableValues: variables }
    return await execute({ schema, document, ...request, contextValue: contextFor(caller) })
  }
  /** Runs one operation of a prepared document. Returns and throws like `Execute`. */
  const run = async (document: DocumentNode, request: Request, caller: Caller) => {
    const result = await perform(document, request, caller)
    const [fault] = faultsIn(result)
    if (fault) throw fault.originalError ?? fault
    return result
  }
  const executeOwn: Execute<Caller> = async (source, variables, caller) => {
    const prepared = prepare(source)
    if (prepared.kind === 'refused') throw prepared.error
    if (prepared.kind !== 'valid') {
      throw new AggregateError(prepared.errors, 'a built-in GraphQL document is invalid')
    }
    return await run(prepared.document, { variables }, caller)
  }
  return {
    limits,
    scopesNeeded,
    prepare,
    perform,
    run,
    execute: executeOwn,
    /** Returns the names of all fields of an operation, including aliased fields and fields in fragments. */
    fieldNames(document: DocumentNode, operationName: string | null | undefined): string[] {
      const name = getOperationAST(document, operationName)?.name?.value ?? ''
      const names: string[] = []
      visit(separateOperations(document)[name] ?? document, {
        Field: (field) => void names.push(field.name.value),
      })
      return names
    },
    /** Estimates the cost of an operation and counts its changes. `excess` is the error if the cost is too high. */
    measure(document: DocumentNode, { operationName, variables }: Request) {
      const operation = getOperationAST(document, operationName)
      if (!operation) return { cost: 0, changes: 0, excess: undefined }
      const cost = costOf(document, operation, variables ?? {})
      const excess = cost > limits.costMax ? limitExceeded('cost', limits.costMax) : undefined
      return { cost, changes: changesIn(document, operation), excess }
    },
  }
}

/**
 * Returns the errors to hide from callers: those that a resolver threw, except GraphQL errors.
 *
 * @throws the first refusal of a resolver, if any, such as storageUnavailable, so that no partial result is sent
 */
export function faultsIn({ errors = [] }: ExecutionResult): GraphQLError[] {
  const faults = errors.filter(
    ({ originalError }) => originalError && !(originalError instanceof GraphQLError),
  )
  const refused = faults.find(({ originalError }) => isRefusal(originalError))
  if (refused) throw refused.originalError
  return faults
}
