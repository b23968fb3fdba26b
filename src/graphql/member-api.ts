import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  getOperationAST,
} from 'graphql'
import type { RequestParams } from 'graphql-http'

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

/** Which operation of a document, and with what; the document was prepared already. */
type MemberRequest = Pick<RequestParams, 'operationName' | 'variables'>

/** Runs a document of our own for a caller, through the very schema that the HTTP surface serves. */
export type ExecuteMember = (
  document: string,
  variables: Record<string, unknown>,
  caller: MemberCaller,
) => Promise<ExecutionResult>

/** The Member API without HTTP. It is made once; its documents stay prepared. */
export function makeMemberApi({ data, cursors, limits }: MemberApiDependencies) {
  const schema = makeMemberSchema()
  const prepare = makePrepareDocument(schema, limits)
  const costOf = makeCostOf(schema)
  const argumentsFor = (
    document: DocumentNode,
    { operationName, variables }: MemberRequest,
    caller: MemberCaller,
  ) => ({
    schema,
    document,
    operationName,
    variableValues: variables,
    contextValue: contextFor(caller, { data, cursors }),
  })
  /**
   * @throws storageUnavailable, and any fault as it is; errors that the caller can read are in the
   * result, each with its code
   */
  const executeMember: ExecuteMember = async (source, variables, caller) => {
    const document = documentOf(prepare(source))
    const result = await execute(argumentsFor(document, { variables }, caller))
    throwUnavailable(result)
    const [fault] = faultsIn(result)
    if (fault) throw fault.originalError ?? fault
    return result
  }
  return {
    limits,
    prepare,
    argumentsFor,
    executeMember,
    /** What the operation may not cost more than, as an error when it does. */
    findExcess(document: DocumentNode, { operationName, variables }: MemberRequest) {
      const operation = getOperationAST(document, operationName)
      const cost = operation ? costOf({ document, operation, variables }) : 0
      return cost > limits.costMax ? limitExceeded('cost', limits.costMax) : undefined
    },
  }
}

export type MemberApi = ReturnType<typeof makeMemberApi>

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
