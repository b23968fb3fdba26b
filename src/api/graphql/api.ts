import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
} from 'graphql'
import type { RequestParams } from 'graphql-http'

import { isRefusal } from '../../platform/http/errors.ts'
import { makeCostOf } from './cost.ts'
import {
  type DocumentCacheLimits,
  makePrepareDocument,
  type PreparedDocument,
} from './documents.ts'
import { makeFold } from './fold.ts'
import { type DocumentLimits, limitExceeded } from './limits.ts'

export interface ApiLimits extends DocumentLimits, DocumentCacheLimits {
  readonly bodyBytesMax: number
  readonly costMax: number
}

/** The scopes that the operation which a request selects needs, known before anything is executed. */
export type ScopesNeeded = (
  document: DocumentNode,
  operationName: string | null | undefined,
) => readonly string[]

/** What graphql-http takes for a context: a type of its own, and no interface. */
export type ContextRecord = Record<PropertyKey, unknown>

export interface ApiDefinition<Caller, Context extends ContextRecord> {
  readonly schema: GraphQLSchema
  readonly limits: ApiLimits
  readonly scopesNeeded: ScopesNeeded
  /** What the resolvers of one request share. */
  readonly contextFor: (caller: Caller) => Context
}

/** Which operation of a document, and with what; the document was prepared already. */
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
export interface GraphqlApi<Caller, Context extends ContextRecord>
  extends Pick<ApiDefinition<Caller, Context>, 'limits' | 'scopesNeeded'> {
  readonly prepare: (source: string) => PreparedDocument
  readonly argumentsFor: (
    document: DocumentNode,
    request: Request,
    caller: Caller,
  ) => Parameters<typeof execute>[0] & { readonly contextValue: Context }
  readonly execute: Execute<Caller>
  /** The same for a document that was prepared, and one of its operations. */
  readonly run: (
    document: DocumentNode,
    request: Request,
    caller: Caller,
  ) => Promise<ExecutionResult>
  /** What the operation costs, and an error when that is more than it may. */
  readonly measure: (document: DocumentNode, request: Request) => Measured
}

export interface Measured {
  readonly cost: number
  /** How many changes it asks for: the fields of a mutation. */
  readonly changes: number
  readonly excess: GraphQLError | undefined
}

export function makeApi<Caller, Context extends ContextRecord>({
  schema,
  limits,
  scopesNeeded,
  contextFor,
}: ApiDefinition<Caller, Context>): GraphqlApi<Caller, Context> {
  const prepare = makePrepareDocument(schema, limits)
  const costOf = makeCostOf(schema)
  const argumentsFor: GraphqlApi<Caller, Context>['argumentsFor'] = (
    document,
    { operationName, variables },
    caller,
  ) => ({
    schema,
    document,
    operationName: operationName ?? null,
    variableValues: variables ?? null,
    contextValue: contextFor(caller),
  })
  const run: GraphqlApi<Caller, Context>['run'] = async (document, request, caller) => {
    const result = await execute(argumentsFor(document, request, caller))
    throwUnavailable(result)
    const [fault] = faultsIn(result)
    if (fault) throw fault.originalError ?? fault
    return result
  }
  return {
    limits,
    scopesNeeded,
    prepare,
    argumentsFor,
    run,
    execute: async (source, variables, caller) =>
      await run(documentOf(prepare(source)), { variables }, caller),
    measure(document, { operationName, variables }) {
      const operation = getOperationAST(document, operationName)
      const cost = operation ? costOf({ document, operation, variables }) : 0
      const excess = cost > limits.costMax ? limitExceeded('cost', limits.costMax) : undefined
      return { cost, changes: operation ? changesIn(document, operation) : 0, excess }
    },
  }
}

function changesIn(document: DocumentNode, operation: OperationDefinitionNode): number {
  if (operation.operation !== 'mutation') return 0
  const count = makeFold(document, { join: (total, part) => total + part, field: () => 1 })
  return count(operation.selectionSet, 1)
}

/** Errors that no caller is meant to read: thrown by a resolver, and not as a GraphQL error. */
export function faultsIn({ errors = [] }: ExecutionResult): GraphQLError[] {
  return errors.filter(
    ({ originalError }) => originalError && !(originalError instanceof GraphQLError),
  )
}

/** Storage that gave no answer makes the whole request 503, however much of it was answered. */
export function throwUnavailable(result: ExecutionResult): void {
  for (const { originalError } of faultsIn(result))
    if (isRefusal(originalError)) throw originalError
}

/** The documents that come this way are ours: one that is not valid is a fault of ours too. */
function documentOf(prepared: PreparedDocument): DocumentNode {
  if (prepared.kind === 'valid') return prepared.document
  throw prepared.kind === 'refused'
    ? prepared.error
    : new AggregateError(prepared.errors, 'a document of our own is not valid')
}
