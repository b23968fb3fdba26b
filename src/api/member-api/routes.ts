/** The Member API over HTTP: schema and resolvers. The data come from member, the machinery from graphql. */

import type Router from 'koa-router'

import { memberApiPage } from '../../../views/member-api.ts'
import { MEMBER_READ, MEMBER_WRITE } from '../../directory/scopes/catalogue.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { AdviseOnScopes } from '../../resource/resource-server/protect.ts'
import {
  demandScopes,
  invalid,
  type Verdict,
  type VerifyBearer,
} from '../../resource/resource-server/verdict.ts'
import { graphqlEndpoint } from '../graphql/endpoint.ts'
import { type MemberApi, memberCaller } from './member-api.ts'
import { schemaText } from './schema.ts'

export interface MemberRoutesDependencies {
  readonly api: MemberApi
  readonly verifyBearer: VerifyBearer
  /** The protected-resource metadata to which challenges point (RFC 9728 §5.1; design 5). */
  readonly resourceMetadataUrl: string
  readonly adviseOnScopes: AdviseOnScopes
  readonly requestLimits: Limits
  readonly baseUrl: string
  /** How long the published schema may be kept. */
  readonly schemaCacheSeconds: number
}

/**
 * The Member API over HTTP (specification, Member API): GraphQL over HTTP, POST only, one
 * operation a request. A browser that is pointed at the address gets a page that explains it.
 */
export function memberRoutes(dependencies: MemberRoutesDependencies): Router {
  const { resourceMetadataUrl, adviseOnScopes, baseUrl } = dependencies
  return graphqlEndpoint({
    ...dependencies,
    api: async () => dependencies.api,
    address: paths.graphql,
    schemaAddress: paths.memberSchema,
    schemaText,
    page: explanation(baseUrl),
    protection: { resourceMetadataUrl, adviseOnScopes, scopes: [MEMBER_READ] },
    admit: mustBeMember,
    costLimit: { limits: dependencies.requestLimits, name: 'memberApi' },
    callerOf(token) {
      const caller = memberCaller(token)
      if (!caller) throw new Error('a token without a site came through')
      return caller
    },
  })
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

/** A token that can do nothing here is told so before its request is read. */
function mustBeMember(verdict: Verdict): Verdict {
  if (verdict.kind !== 'granted') return verdict
  const { token } = verdict
  if (token.scopes.includes(MEMBER_WRITE) && token.siteId !== undefined) return verdict
  const demanded = demandScopes(verdict, [MEMBER_READ])
  if (demanded.kind !== 'granted' || token.siteId !== undefined) return demanded
  return invalid('the token has a member scope and no site')
}
