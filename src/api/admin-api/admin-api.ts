import {
  type GraphQLArgument,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  getNamedType,
} from 'graphql'

import { demandApproval } from '../../school/changes/approvals.ts'
import { badInput, ChangeRefused } from '../../school/changes/refusals.ts'
import { makeOneOfMany } from '../graphql/batch-loader.ts'
import type { ApiLimits } from '../graphql/documents.ts'
import { type Execute, makeGraphqlApi } from '../graphql/graphql-api.ts'
import { fieldsOfInput, makeSchema } from '../graphql/schema.ts'
import { analyticsResolvers } from './analytics.ts'
import {
  digitalProductResolvers,
  eventResolvers,
  fileResolvers,
  orderResolvers,
} from './commerce.ts'
import { type AdminCaller, type AdminContext, type AdminParts, actorOf } from './context.ts'
import { courseResolvers, curriculumResolvers } from './courses.ts'
import { makeScopesNeeded } from './field-scopes.ts'
import { lecturerResolvers, memberResolvers } from './people.ts'
import { postResolvers } from './posts.ts'
import { schemaText } from './schema-text.ts'
import { appearanceResolvers, siteResolvers } from './site.ts'
import { studentResolvers } from './students.ts'
import { webhookResolvers } from './webhooks.ts'

const resolvers = [
  siteResolvers,
  courseResolvers,
  curriculumResolvers,
  studentResolvers,
  memberResolvers,
  lecturerResolvers,
  orderResolvers,
  digitalProductResolvers,
  eventResolvers,
  postResolvers,
  analyticsResolvers,
  fileResolvers,
  appearanceResolvers,
  webhookResolvers,
]

/** Runs one of this service's own GraphQL documents against the Admin API, on behalf of an operator. */
export type ExecuteAdmin = Execute<AdminCaller>

/** Creates the Admin API, independent of HTTP. */
export function makeAdminApi(parts: AdminParts, limits: ApiLimits) {
  const schema = makeAdminSchema()
  const contextFor = (caller: AdminCaller): AdminContext => {
    return { caller, parts, oneOfMany: makeOneOfMany() }
  }
  return makeGraphqlApi(schema, limits, makeScopesNeeded(schema), contextFor)
}

/** Creates the executable schema. @throws Error if the published text lacks a type or field that has a resolver */
export function makeAdminSchema(): GraphQLSchema {
  return makeSchema(schemaText, resolvers, checkAndTranslate)
}

type Resolve = GraphQLFieldResolver<unknown, unknown>

/**
 * Wraps a resolver to check its arguments, demand approvals and translate its errors. Rejects a `search` that is too
 * long. Rejects NUL in any string, because PostgreSQL would raise an error. Turns `ChangeRefused` into a GraphQL error.
 */
function checkAndTranslate(resolve: Resolve): Resolve {
  return async (...given) => {
    try {
      const argument = findNul(given[1])
      if (argument !== undefined) throw badInput(argument, 'must not contain NUL characters')
      const { search } = given[1] as { readonly search?: unknown }
      if (String(search ?? '').length > SEARCH_LENGTH_MAX) {
        throw badInput('search', `must have at most ${SEARCH_LENGTH_MAX} characters`)
      }
      const [source, args, context, info] = given
      const contentAt = await demandApprovalOf(given)
      return await resolve(
        source,
        contentAt === undefined ? args : { ...args, contentAt },
        context,
        info,
      )
    } catch (error) {
      if (!(error instanceof ChangeRefused)) throw error
      const { code, field, subject, address } = error
      const extensions = {
        code,
        ...(field !== undefined && { argument: field }),
        ...(subject !== undefined && { subject }),
        ...(address !== undefined && { approvalUrl: address }),
      }
      // Omit `originalError`. With it, `faultsIn` would treat the error as internal and hide it from the caller.
      // biome-ignore lint/style/useErrorCause: a GraphQL response contains no cause, and the message is the same
      throw new GraphQLError(error.message, { extensions })
    }
  }
}

/** Calls `demandApproval` if the field is a mutation. Applies to calls over HTTP and in process (design 37). */
async function demandApprovalOf([, args, context, info]: Parameters<Resolve>) {
  if (info.operation.operation !== 'mutation' || info.path.prev) return
  const admin = context as AdminContext
  const { database, baseUrl } = admin.parts
  const { args: declared = [], astNode } = info.parentType.getFields()[info.fieldName] ?? {}
  const isDestructive =
    astNode?.directives?.some(({ name }) => name.value === 'destructive') ?? false
  const change = {
    operation: info.fieldName,
    arguments: readableArguments(declared, args as object),
    isDestructive,
  }
  return await demandApproval(database, actorOf(admin), change, baseUrl)
}

/** Returns the arguments by name. Treats the fields of `input` as arguments, and formats times as in RFC 3339. */
function readableArguments(declared: readonly GraphQLArgument[], given: object) {
  const { input, ...others } = given as { readonly input?: object }
  const readable: Record<string, unknown> = { ...others, ...input }
  for (const { name, type } of declared.flatMap(fieldsOfInput)) {
    const value = readable[name]
    const isTime = getNamedType(type).name === 'DateTime' && typeof value === 'number'
    if (isTime) readable[name] = new Date(value).toISOString()
  }
  return readable
}

const SEARCH_LENGTH_MAX = 300

/** Returns the name of the first argument or input field that contains NUL, if any. */
function findNul(value: unknown, name = ''): string | undefined {
  if (typeof value === 'string') return value.includes('\0') ? name : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const found = findNul(inner, Array.isArray(value) ? name : key)
    if (found !== undefined) return found
  }
  return undefined
}
