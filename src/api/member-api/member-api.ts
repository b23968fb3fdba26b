import { getOperationAST } from 'graphql'

import { MEMBER_READ, MEMBER_WRITE } from '../../directory/scopes/catalogue.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import type { MemberData } from '../../school/member/member-data.ts'
import {
  type ApiLimits,
  type Execute,
  type GraphqlApi,
  makeApi,
  type ScopesNeeded,
} from '../graphql/api.ts'
import { makeBatch } from '../graphql/batch.ts'
import type { DownloadAddress, MemberCaller, MemberContext } from './resolvers.ts'
import { makeMemberSchema } from './schema.ts'

export interface MemberApiDependencies {
  readonly data: MemberData
  readonly cursors: Cursors
  readonly downloadAddress: DownloadAddress
  readonly limits: ApiLimits
}

/** Runs a document of our own for a member, through the schema of the Member API. */
export type ExecuteMember = Execute<MemberCaller>

export type MemberApi = GraphqlApi<MemberCaller, MemberContext>

/** The Member API without HTTP. It is made once; its documents stay prepared. */
export function makeMemberApi({ limits, ...shared }: MemberApiDependencies): MemberApi {
  return makeApi({
    schema: makeMemberSchema(),
    limits,
    scopesNeeded,
    contextFor: (caller) => contextFor(caller, shared),
  })
}

/** The part of an access token that is about its person. */
interface TokenOfMember {
  readonly siteId: string | undefined
  readonly person: { readonly id: string; readonly name: string; readonly email: string }
}

/**
 * The person and the site of a token. Nothing for a token without a site: member scopes are given
 * to site clients only, so that one which has them and no site is not ours.
 */
export function memberCaller({ siteId, person }: TokenOfMember): MemberCaller | undefined {
  if (siteId === undefined) return undefined
  return { personId: person.id, siteId, name: person.name, email: person.email }
}

/**
 * Reading is not contained in writing, nor writing in reading (specification, Scopes). Nothing when
 * no single operation is selected, which the executor refuses.
 */
const scopesNeeded: ScopesNeeded = (document, operationName) => {
  switch (getOperationAST(document, operationName)?.operation) {
    case 'query':
      return [MEMBER_READ]
    case 'mutation':
      return [MEMBER_WRITE]
    default:
      return []
  }
}

function contextFor(
  caller: MemberCaller,
  { data, ...shared }: Omit<MemberApiDependencies, 'limits'>,
): MemberContext {
  const lastWatched = makeBatch(async (courseIds: readonly string[]) => {
    const lectures = await data.findLastWatched(caller.personId, courseIds)
    return new Map(lectures.map((lecture) => [lecture.courseId, lecture]))
  })
  const progressPercent = makeBatch(
    async (courseIds: readonly string[]) =>
      await data.findProgressPercent(caller.personId, courseIds),
  )
  return { ...shared, caller, data, lastWatched, progressPercent }
}
