import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
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

/** The context type that graphql-http requires: a type alias, not an interface. */
export type ContextRecord = Record<PropertyKey, unknown>

/** The selected operation of a prepared document, and its variables. */
type Request = Pick<RequestParams, 'operationName' | 'variables'>

/**
 * Runs one of this service's own documents for a caller, against the schema that is served over HTTP.
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
export type GraphqlApi<Caller, Context extends ContextRecord> = ReturnType<
  typeof makeGraphqlApi<Caller, Context>
>

/** Creates a GraphQL API. @param contextFor creates the context of one request */
export function makeGraphqlApi<Caller, Context extends ContextRecord>(
  schema: GraphQLSchema,
  limits: ApiLimits,
  scopesNeeded: ScopesNeeded,
  contextFor: (caller: Caller) => Context,
) {
  const prepare = makePrepareDocument(schema, limits)
  const costOf = makeCostOf(schema)
  const argumentsFor = (
    document: DocumentNode,
    { operationName, variables }: Request,
    caller: Caller,
  ) => ({
    schema,
    document,
    operationName: operationName ?? null,
    variableValues: variables ?? null,
    contextValue: contextFor(caller),
  })
  /** Runs one operation of a prepared document. Returns and throws like `Execute`. */
  const run = async (document: DocumentNode, request: Request, caller: Caller) => {
    const result = await execute(argumentsFor(document, request, caller))
    throwRefusal(result)
    const [fault] = faultsIn(result)
    if (fault) throw fault.originalError ?? fault
    return result
  }
  const executeOwn: Execute<Caller> = async (source, variables, caller) => {
    const prepared = prepare(source)
    if (prepared.kind === 'refused') throw prepared.error
    if (prepared.kind === 'invalid') {
      throw new AggregateError(prepared.errors, 'a built-in GraphQL document is invalid')
    }
    return await run(prepared.document, { variables }, caller)
  }
  return {
    limits,
    scopesNeeded,
    prepare,
    argumentsFor,
    run,
    execute: executeOwn,
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

/** Returns the errors to hide from callers: those that a resolver threw and that are not GraphQL errors. */
export function faultsIn({ errors = [] }: ExecutionResult): GraphQLError[] {
  return errors.filter(
    ({ originalError }) => originalError && !(originalError instanceof GraphQLError),
  )
}

/** Throws the first refusal of a resolver, if any, such as storageUnavailable. So no partial result is sent. */
export function throwRefusal(result: ExecutionResult): void {
  for (const { originalError } of faultsIn(result))
    if (isRefusal(originalError)) throw originalError
}
