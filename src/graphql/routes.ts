/** The Member API over HTTP: schema, limits and resolvers. The data come from member. */

import type Router from 'koa-router'

import { memberApiPage } from '../../views/member-api.ts'
import { methodNotAllowed } from '../http/errors.ts'
import { openCors } from '../http/open-cors.ts'
import { sendPublicPage } from '../http/page.ts'
import { paths } from '../http/paths.ts'
import { makeRouter } from '../http/router.ts'
import { type Protection, refuse, verdictOf } from '../resource-server/protect.ts'
import {
  demandScopes,
  TOKEN_REFUSED,
  type Verdict,
  type VerifyBearer,
} from '../resource-server/verdict.ts'
import { MEMBER_READ, MEMBER_WRITE } from '../scopes/catalogue.ts'
import { makeAnswer } from './answer.ts'
import type { MemberApi } from './member-api.ts'
import { schemaText } from './schema.ts'

export interface MemberRoutesDependencies {
  readonly api: MemberApi
  readonly verifyBearer: VerifyBearer
  /** The protected-resource metadata to which challenges point (RFC 9728 §5.1; design 5). */
  readonly resourceMetadataUrl: string
  readonly baseUrl: string
  /** How long the published schema may be kept. */
  readonly schemaCacheSeconds: number
}

/**
 * The Member API over HTTP (specification, Member API): GraphQL over HTTP, POST only, one
 * operation a request. A browser that is pointed at the address gets a page that explains it.
 */
export function memberRoutes(dependencies: MemberRoutesDependencies): Router {
  const protection: Protection = {
    resourceMetadataUrl: dependencies.resourceMetadataUrl,
    scopes: [MEMBER_READ],
  }
  const page = explanation(dependencies.baseUrl)
  const answer = makeAnswer(dependencies.api, protection)
  const router = makeRouter()

  router.get(paths.memberSchema, openCors(['GET']), (ctx) => {
    ctx.set('Cache-Control', `public, max-age=${dependencies.schemaCacheSeconds}`)
    ctx.type = 'text/plain; charset=utf-8'
    ctx.body = schemaText
  })

  router.all(paths.graphql, openCors(['POST']), async (ctx) => {
    if (ctx.method === 'GET' || ctx.method === 'HEAD') {
      ctx.vary('Accept')
      // JSON comes first, so that a program which accepts anything is told that it must POST.
      if (ctx.accepts('json', 'html') === 'html') return sendPublicPage(ctx, page)
    }
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST')
      throw methodNotAllowed('POST')
    }
    ctx.set('Cache-Control', 'no-store')
    const verdict = mustBeMember(await verdictOf(ctx, dependencies.verifyBearer))
    if (verdict.kind !== 'granted') return refuse(ctx, verdict, protection)
    await answer(ctx, verdict.token)
  })
  return router
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
      { href: paths.authMd, label: 'auth.md', what: 'how to get an access token, step by step' },
      { href: paths.openApi, label: 'openapi.json', what: 'every endpoint and answer' },
    ],
  })
}

/** A token that can do nothing here is told so before its request is read. */
function mustBeMember(verdict: Verdict): Verdict {
  if (verdict.kind !== 'granted') return verdict
  const { token } = verdict
  if (token.scopes.has(MEMBER_WRITE) && token.siteId !== undefined) return verdict
  const demanded = demandScopes(verdict, [MEMBER_READ])
  if (demanded.kind !== 'granted' || token.siteId !== undefined) return demanded
  return {
    kind: 'invalid',
    reason: 'the token has a member scope and no site',
    description: TOKEN_REFUSED,
  }
}
