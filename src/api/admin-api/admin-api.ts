import { type ApiLimits, type Execute, type GraphqlApi, makeApi } from '../graphql/api.ts'
import { type AdminCaller, type AdminContext, type AdminParts, makeContext } from './context.ts'
import { makeScopesNeeded } from './needed-scopes.ts'
import { makeAdminSchema } from './schema.ts'

export interface AdminApiDependencies extends AdminParts {
  readonly limits: ApiLimits
}

/** Runs a document of our own for an operator, through the schema of the Admin API. */
export type ExecuteAdmin = Execute<AdminCaller>

export type AdminApi = GraphqlApi<AdminCaller, AdminContext>

/** The Admin API without HTTP. It is made once; its documents stay prepared. */
export function makeAdminApi({ limits, ...parts }: AdminApiDependencies): AdminApi {
  const schema = makeAdminSchema()
  return makeApi({
    schema,
    limits,
    scopesNeeded: makeScopesNeeded(schema),
    contextFor: (caller) => makeContext(caller, parts),
  })
}
