import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
} from 'graphql'

import { isRefusal } from '../http/errors.ts'
import type { MemberData } from '../member/member-data.ts'
import type { BearerToken } from '../resource-server/verdict.ts'
import { MEMBER_READ, MEMBER_WRITE } from '../scopes/catalogue.ts'
import type { Cursors } from '../store/cursor.ts'
import { makeBatch } from './batch.ts'
import { makeCostOf } from './cost.ts'
import {
  type DocumentCacheLimits,
  makePrepareDocument,
  type PrepareDocument,
  type PreparedDocument,
} from './documents.ts'
import { type DocumentLimits, limitExceeded } from './limits.ts'
import type { MemberCaller, MemberContext } from './resolvers.ts'
import { makeMemberSchema } from './schema.ts'

export interface MemberApiLimits extends DocumentLimits, DocumentCacheLimits {
  readonly bodyBytesMax: number
  readonly costMax: number
}

export interface MemberApiDependencies {
  readonly data: MemberData
  readonly cursors: Cursors
  readonly limits: MemberApiLimits
}

/** An operation as a caller sends it. */
export interface MemberRequest {
  readonly query: string
  readonly operationName?: string | null | undefined
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined
}

/** Runs a document of our own for a caller, through the very schema that the HTTP surface serves. */
export type ExecuteMember = (
  document: string,
  variables: Readonly<Record<string, unknown>>,
  caller: MemberCaller,
) => Promise<ExecutionResult>

/** The Member API without HTTP. It is made once; its documents stay prepared. */
export interface MemberApi {
  readonly schema: GraphQLSchema
  readonly limits: MemberApiLimits
  /**
   * @throws storageUnavailable, and any fault as it is; errors that the caller can read are in the
   * result, each with its code
   */
  readonly executeMember: ExecuteMember
  readonly prepare: PrepareDocument
  /** What the operation may not cost more than, as an error when it does. */
  readonly findExcess: (document: DocumentNode, request: MemberRequest) => GraphQLError | undefined
  readonly argumentsFor: (
    document: DocumentNode,
    request: MemberRequest,
    caller: MemberCaller,
  ) => ExecutionArgs & { readonly contextValue: MemberContext }
}

export function makeMemberApi({ data, cursors, limits }: MemberApiDependencies): MemberApi {
  const schema = makeMemberSchema()
  const prepare = makePrepareDocument(schema, limits)
  const costOf = makeCostOf(schema)
  const argumentsFor: MemberApi['argumentsFor'] = (document, request, caller) => ({
    schema,
    document,
    operationName: request.operationName,
    variableValues: request.variables,
    contextValue: contextFor(caller, { data, cursors }),
  })
  return {
    schema,
    limits,
    prepare,
    argumentsFor,
    findExcess(document, { operationName, variables }) {
      const operation = getOperationAST(document, operationName)
      const cost = operation ? costOf({ document, operation, variables }) : 0
      return cost > limits.costMax ? limitExceeded('cost', limits.costMax) : undefined
    },
    async executeMember(source, variables, caller) {
      const document = documentOf(prepare(source))
      const result = await execute(argumentsFor(document, { query: source, variables }, caller))
      throwUnavailable(result)
      const [fault] = faultsIn(result)
      if (fault) throw fault.originalError ?? fault
      return result
    },
  }
}

/**
 * The person and the site of a token. Nothing for a token without a site: member scopes are given
 * to site clients only, so that one which has them and no site is not ours.
 */
export function memberCaller({ siteId, person }: BearerToken): MemberCaller | undefined {
  if (siteId === undefined) return undefined
  return { personId: person.id, siteId, name: person.name, email: person.email }
}

/**
 * The scope of the operation that a request selects, known before anything is executed: reading is
 * not contained in writing, nor writing in reading (specification, Scopes). Nothing when no single
 * operation is selected, which the executor refuses.
 */
export function scopeNeeded(
  document: DocumentNode,
  operationName: string | null | undefined,
): string | undefined {
  switch (getOperationAST(document, operationName)?.operation) {
    case 'query':
      return MEMBER_READ
    case 'mutation':
      return MEMBER_WRITE
    default:
      return undefined
  }
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

function contextFor(
  caller: MemberCaller,
  { data, cursors }: Pick<MemberApiDependencies, 'data' | 'cursors'>,
): MemberContext {
  const lastWatched = makeBatch(async (courseIds: readonly string[]) => {
    const lectures = await data.findLastWatched(caller.personId, courseIds)
    return new Map(lectures.map((lecture) => [lecture.courseId, lecture]))
  })
  return { caller, data, cursors, lastWatched }
}

/** The documents that come this way are ours: one that is not valid is a fault of ours too. */
function documentOf(prepared: PreparedDocument): DocumentNode {
  if (prepared.kind === 'valid') return prepared.document
  throw prepared.kind === 'refused'
    ? prepared.error
    : new AggregateError(prepared.errors, 'a document of our own is not valid')
}
