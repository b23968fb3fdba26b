/** The Member API: over HTTP, and within the process for the tools and pages that are made of it. */

import { memberApiPage } from '../../../views/member-api.ts'
import { MEMBER_READ, MEMBER_WRITE } from '../../directory/scopes/catalogue.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { Database } from '../../platform/store/database.ts'
import {
  demandScopes,
  invalid,
  type Verdict,
} from '../../resource/resource-server/verify-bearer.ts'
import { makeViewerData } from '../../school/viewer/viewer-data.ts'
import type { ApiLimits } from '../graphql/documents.ts'
import { type EndpointPorts, graphqlSurface } from '../graphql/endpoint.ts'
import { makeQueryTool } from '../graphql/query-tool.ts'
import { makeMemberApi, memberCaller, schemaText } from './member-api.ts'
import type { MemberParts } from './resolvers.ts'

export interface MemberPorts extends EndpointPorts, Omit<MemberParts, 'data'> {
  readonly database: Database
  readonly limits: ApiLimits
  readonly requestLimits: Limits
  readonly baseUrl: string
  readonly now: () => number
}

/**
 * The Member API (specification, Member API): GraphQL over HTTP, one operation a request. A browser
 * that is pointed at the address gets a page that explains it.
 */
export function memberSurface(ports: MemberPorts) {
  const { cursors, downloadAddress, limits, requestLimits, baseUrl } = ports
  const data = makeViewerData(ports.database, ports.now)
  const api = makeMemberApi({ data, cursors, downloadAddress }, limits)
  const { routes, execute, tryQuery } = graphqlSurface(ports, {
    load: async () => api,
    address: paths.graphql,
    schemaAddress: paths.memberSchema,
    schemaText,
    page: explanation(baseUrl),
    askedScopes: () => [MEMBER_READ],
    admit: mustBeMember,
    costLimit: { limits: requestLimits, name: 'memberApi' },
    callerOf(token) {
      const caller = memberCaller(token)
      if (!caller) throw new Error('a token without a site came through')
      return caller
    },
  })
  return {
    routes,
    executeMember: execute,
    tryMemberQuery: tryQuery,
    /** For the pages on which queries are tried, of this API and of others. */
    queryTool: makeQueryTool(),
  }
}

function explanation(baseUrl: string) {
  return memberApiPage({
    endpoint: baseUrl + paths.graphql,
    readScope: MEMBER_READ,
    writeScope: MEMBER_WRITE,
    links: [
      {
        href: paths.memberSchema,
        label: 'Schema',
        what: 'every type and field, with descriptions',
      },
      {
        href: pages.memberQueries,
        label: 'Try it',
        what: 'in this browser, signed in as yourself',
      },
      { href: paths.authMd, label: 'auth.md', what: 'how to get an access token, step by step' },
      { href: paths.openApi, label: 'openapi.json', what: 'every endpoint and answer' },
    ],
  })
}

/** Refuses a token that can do nothing here before its request is read. */
function mustBeMember(verdict: Verdict): Verdict {
  if (verdict.kind !== 'granted') return verdict
  const { token } = verdict
  if (token.scopes.includes(MEMBER_WRITE) && token.siteId !== undefined) return verdict
  const demanded = demandScopes(verdict, [MEMBER_READ])
  if (demanded.kind !== 'granted' || token.siteId !== undefined) return demanded
  return invalid('the token has a member scope and no site')
}
