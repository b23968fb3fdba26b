import { type GraphQLSchema, getOperationAST } from 'graphql'

import { MEMBER_READ, MEMBER_WRITE } from '../../directory/scopes/catalogue.ts'
import { makeOneOfMany } from '../graphql/batch-loader.ts'
import type { ApiLimits } from '../graphql/documents.ts'
import { type Execute, makeGraphqlApi, type ScopesNeeded } from '../graphql/graphql-api.ts'
import { makeSchema } from '../graphql/schema.ts'
import { type MemberCaller, type MemberContext, type MemberParts, resolvers } from './resolvers.ts'
import { schemaText } from './schema-text.ts'

/** Creates the executable schema. @throws Error if the published text lacks a type or field that has a resolver */
export function makeMemberSchema(): GraphQLSchema {
  return makeSchema(schemaText, [resolvers])
}

/** Runs one of this service's own GraphQL documents against the Member API, on behalf of a member. */
export type ExecuteMember = Execute<MemberCaller>

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
