import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { type GraphQLSchema, getOperationAST } from 'graphql'

import { MEMBER_READ, MEMBER_WRITE } from '../../directory/scopes/catalogue.ts'
import { makeOneOfMany } from '../graphql/batch-loader.ts'
import { withConnections } from '../graphql/connections.ts'
import type { ApiLimits } from '../graphql/documents.ts'
import { type Execute, makeApi, type ScopesNeeded } from '../graphql/graphql-api.ts'
import { makeSchema } from '../graphql/schema.ts'
import { type MemberCaller, type MemberContext, type MemberParts, resolvers } from './resolvers.ts'

const connections = {
  EnrolledCourse: { noun: 'purchased course', many: 'purchased courses' },
  DigitalProduct: { noun: 'purchased product', many: 'purchased products' },
  ConsultingService: { noun: 'purchased service', many: 'purchased services' },
  EventRegistration: { noun: 'registration', many: 'registrations' },
  Notification: {
    noun: 'notification',
    many: 'notifications',
    counted: ', filtered by `unreadOnly`',
  },
}

/** The published schema with its descriptions. */
export const schemaText: string = withConnections(
  readFileSync(join(import.meta.dirname, 'schema.graphql'), 'utf8'),
  connections,
  { boundTo: 'this person, site' },
)

/** The published schema with our resolvers in it. Throws when the two do not fit each other. */
export function makeMemberSchema(): GraphQLSchema {
  return makeSchema(schemaText, [resolvers])
}

/** Runs a document of our own for a member, through the schema of the Member API. */
export type ExecuteMember = Execute<MemberCaller>

/** The part of an access token that is about its person. */
interface TokenOfMember {
  readonly siteId: string | undefined
  readonly person: { readonly id: string; readonly name: string; readonly email: string }
}

/**
 * The person and the site of a token. Nothing for a token without a site: member scopes are given
 * to site clients only, so that a token with them and without a site was not issued here.
 */
export function memberCaller({ siteId, person }: TokenOfMember): MemberCaller | undefined {
  if (siteId === undefined) return undefined
  return { personId: person.id, siteId, name: person.name, email: person.email }
}

/** The Member API without HTTP. It is made once; its documents stay prepared. */
export function makeMemberApi(parts: MemberParts, limits: ApiLimits) {
  return makeApi<MemberCaller, MemberContext>(
    makeMemberSchema(),
    limits,
    scopesNeeded,
    (caller) => ({ ...parts, caller, oneOfMany: makeOneOfMany() }),
  )
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
