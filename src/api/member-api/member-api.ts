import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { type GraphQLSchema, getOperationAST } from 'graphql'

import { MEMBER_READ, MEMBER_WRITE } from '../../directory/scopes/catalogue.ts'
import type { Granted } from '../../resource/resource-server/verify-bearer.ts'
import { makeOneOfMany } from '../graphql/batch-loader.ts'
import { expandPages } from '../graphql/connections.ts'
import type { ApiLimits } from '../graphql/documents.ts'
import { type Execute, makeGraphqlApi, type ScopesNeeded } from '../graphql/graphql-api.ts'
import { makeSchema } from '../graphql/schema.ts'
import { type MemberCaller, type MemberContext, type MemberParts, resolvers } from './resolvers.ts'

const connections = {
  ...{ EnrolledCourse: '', DigitalProduct: '', ConsultingService: '', EventRegistration: '' },
  Notification: ', filtered by `unreadOnly`',
}

/** The published schema with its descriptions. */
export const schemaText: string = expandPages(
  readFileSync(join(import.meta.dirname, 'schema.graphql'), 'utf8'),
  connections,
  { boundTo: 'this person, site' },
)

/** Creates the executable schema from the published text and our resolvers. @throws Error if they do not match */
export function makeMemberSchema(): GraphQLSchema {
  return makeSchema(schemaText, [resolvers])
}

/** Runs one of this service's own documents against the Member API, for a member. */
export type ExecuteMember = Execute<MemberCaller>

/** Creates the caller from a token; undefined for a token without a site. */
export function memberCaller({ siteId, person }: Granted['token']): MemberCaller | undefined {
  if (siteId === undefined) return undefined
  return { personId: person.id, siteId, name: person.name, email: person.email }
}

/** Creates the Member API, independent of HTTP. */
export function makeMemberApi(parts: MemberParts, limits: ApiLimits) {
  const contextFor = (caller: MemberCaller): MemberContext => {
    return { ...parts, caller, oneOfMany: makeOneOfMany() }
  }
  return makeGraphqlApi(makeMemberSchema(), limits, scopesNeeded, contextFor)
}

/** Returns the scope that the selected operation needs; none if no operation is selected. */
const scopesNeeded: ScopesNeeded = (document, operationName) => {
  const operation = getOperationAST(document, operationName)
  if (!operation) return []
  return [operation.operation === 'mutation' ? MEMBER_WRITE : MEMBER_READ]
}
