/** Serves the Member API over HTTP, and in-process for tools and pages. */

import { apiPage } from '../../../views/api-pages.ts'
import { inCode, text } from '../../../views/text.ts'
import { MEMBER_READ } from '../../directory/scopes/catalogue.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import {
  demandScopes,
  type Granted,
  reject,
  type Verdict,
} from '../../resource/resource-server/verify-bearer.ts'
import { makeViewerData } from '../../school/viewer/viewer-data.ts'
import type { ApiLimits } from '../graphql/documents.ts'
import { type EndpointPorts, graphqlEndpoint } from '../graphql/endpoint.ts'
import { makeQueryTool } from '../graphql/query-tool.ts'
import type { DownloadAddress, MemberCaller } from './resolvers.ts'
import { schemaText } from './schema-text.ts'

/** Creates the endpoint of the Member API (specification, Member API). A browser gets a page that explains the API. */
export function memberEndpoint(
  ports: EndpointPorts,
  limits: ApiLimits,
  downloadAddress: DownloadAddress,
) {
  const { platform, cursors, baseUrl } = ports
  const data = makeViewerData(platform.database, platform.now)
  const parts = { data, cursors, downloadAddress }
  const { routes, execute, tryQuery } = graphqlEndpoint(ports, {
    load: async () => (await import('./member-api.ts')).makeMemberApi(parts, limits),
    address: paths.graphql,
    schemaAddress: paths.memberSchema,
    schemaText,
    page: apiPage('member', baseUrl + paths.graphql, links),
    resource: 'origin',
    askedScopes: () => [MEMBER_READ],
    admit: requireMember,
    costLimit: { limits: platform.requestLimits, name: 'memberApi' },
    callerOf(token) {
      const caller = memberCaller(token)
      if (!caller) throw new Error('a token without a site was admitted to the Member API')
      return caller
    },
  })
  return {
    routes,
    executeMember: execute,
    tryMemberQuery: tryQuery,
    /** The query tool, which serves GraphiQL to the query pages of both GraphQL APIs. */
    queryTool: makeQueryTool(),
  }
}

const links = [
  { href: paths.memberSchema, label: text('api.schema'), what: text('api.schemaWhat') },
  { href: pages.memberQueries, label: text('api.tryIt'), what: text('api.tryItWhat') },
  { href: paths.authMd, label: inCode('auth.md'), what: text('api.authMd') },
  { href: paths.openApi, label: inCode('openapi.json'), what: text('api.openApi') },
]

/** Returns the verdict, or a refusal for a token that lacks the read scope or a site. Mutations need this scope too. */
function requireMember(verdict: Verdict): Verdict {
  const demanded = demandScopes(verdict, [MEMBER_READ])
  if (demanded.kind !== 'granted' || demanded.token.siteId !== undefined) return demanded
  return reject('the token has a member scope but no site')
}

/** Creates the caller from a token; undefined for a token without a site. */
export function memberCaller({ siteId, person }: Granted['token']): MemberCaller | undefined {
  if (siteId === undefined) return undefined
  return { personId: person.id, siteId, name: person.name, email: person.email }
}
