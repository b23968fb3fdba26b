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

/** The scopes that the operation which a request selects needs, known before anything is executed. */
export type ScopesNeeded = (
  document: DocumentNode,
  operationName: string | null | undefined,
) => readonly string[]

/** What graphql-http takes for a context: a type of its own, and no interface. */
export type ContextRecord = Record<PropertyKey, unknown>

/** Which operation of a prepared document, and its variables. */
type Request = Pick<RequestParams, 'operationName' | 'variables'>

/**
 * Runs a document of our own for a caller, through the very schema that the HTTP surface serves.
 *
 * @throws storageUnavailable, and any fault as it is; errors that the caller can read are in the
 * result, each with its code
 */
export type Execute<Caller> = (
  document: string,
  variables: Record<string, unknown>,
  caller: Caller,
) => Promise<ExecutionResult>

/** A GraphQL API without HTTP. It is made once; its documents stay prepared. */
export type GraphqlApi<Caller, Context extends ContextRecord> = ReturnType<
  typeof makeApi<Caller, Context>
>

/** @param contextFor makes what the resolvers of one request share */
export function makeApi<Caller, Context extends ContextRecord>(
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
  /** As `Execute`, for a document that was prepared, and one of its operations. */
  const run = async (document: DocumentNode, request: Request, caller: Caller) => {
    const result = await execute(argumentsFor(document, request, caller))
    throwUnavailable(result)
    const [fault] = faultsIn(result)
    if (fault) throw fault.originalError ?? fault
    return result
  }
  const executeOwn: Execute<Caller> = async (source, variables, caller) => {
    const prepared = prepare(source)
    if (prepared.kind === 'refused') throw prepared.error
    if (prepared.kind === 'invalid') {
      throw new AggregateError(prepared.errors, 'a document of our own is not valid')
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
    /** The cost and the number of changes of an operation; an error when it costs too much. */
    measure(document: DocumentNode, { operationName, variables }: Request) {
      const operation = getOperationAST(document, operationName)
      if (!operation) return { cost: 0, changes: 0, excess: undefined }
      const cost = costOf(document, operation, variables ?? {})
      const excess = cost > limits.costMax ? limitExceeded('cost', limits.costMax) : undefined
      return { cost, changes: changesIn(document, operation), excess }
    },
  }
}

/** Errors that no caller is meant to read: thrown by a resolver, and not as a GraphQL error. */
export function faultsIn({ errors = [] }: ExecutionResult): GraphQLError[] {
  return errors.filter(
    ({ originalError }) => originalError && !(originalError instanceof GraphQLError),
  )
}

/** Makes the whole request 503 when storage gave no answer, however much of it was answered. */
export function throwUnavailable(result: ExecutionResult): void {
  for (const { originalError } of faultsIn(result))
    if (isRefusal(originalError)) throw originalError
}
