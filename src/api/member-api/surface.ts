import type Router from 'koa-router'

import type { Limits } from '../../platform/limits/limits.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import type { Database } from '../../platform/store/database.ts'
import type { AdviseOnScopes } from '../../resource/resource-server/protect.ts'
import type { VerifyBearer } from '../../resource/resource-server/verdict.ts'
import { makeMemberData } from '../../school/member/member-data.ts'
import type { ApiLimits } from '../graphql/api.ts'
import { makeQueryTool, type QueryToolFiles } from '../graphql/query-tool.ts'
import { makeTryQuery, type TryQuery } from '../graphql/try-query.ts'
import { type ExecuteMember, makeMemberApi } from './member-api.ts'
import type { DownloadAddress, MemberCaller } from './resolvers.ts'
import { memberRoutes } from './routes.ts'

export interface MemberPorts {
  readonly database: Database
  readonly cursors: Cursors
  readonly downloadAddress: DownloadAddress
  readonly verifyBearer: VerifyBearer
  readonly limits: ApiLimits
  readonly requestLimits: Limits
  readonly baseUrl: string
  /** The protected-resource metadata to which challenges point (RFC 9728 §5.1; design 5). */
  readonly resourceMetadataUrl: string
  readonly adviseOnScopes: AdviseOnScopes
  /** How long the published schema may be kept. */
  readonly schemaCacheSeconds: number
  readonly now: () => number
}

/** The Member API: over HTTP, and within the process for the tools that are made of it. */
export function memberSurface(ports: MemberPorts): {
  readonly routes: Router
  readonly executeMember: ExecuteMember
  /** For the pages on which queries are tried, of this API and of others. */
  readonly queryTool: QueryToolFiles
  readonly tryMemberQuery: TryQuery<MemberCaller>
} {
  const api = makeMemberApi({ ...ports, data: makeMemberData(ports.database, ports.now) })
  return {
    routes: memberRoutes({ ...ports, api }),
    executeMember: api.execute,
    queryTool: makeQueryTool(),
    tryMemberQuery: makeTryQuery(async () => api, {
      limits: ports.requestLimits,
      name: 'memberApi',
    }),
  }
}
