import { bodyParser } from '@koa/bodyparser'
import { decodeJwt } from 'jose'
import type Router from 'koa-router'
import type { KoaContextWithOIDC } from 'oidc-provider'

import {
  clientSwitchedOff,
  noKnownScope,
  parameterTooLong,
  unsupportedBody,
} from '../../platform/http/errors.ts'
import { seeOther } from '../../platform/http/page.ts'
import { paths } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { factsOf } from '../clients/client-metadata.ts'
import type { Resources } from '../token/resource-indicators.ts'
import { type ConformanceProfile, conformanceScopes } from './conformance-profile.ts'
import { explainUnknownScopes } from './engine-sentences.ts'
import { type RequestLengths, whatIsTooLong } from './request-lengths.ts'

// As long as the engine's own limit for request bodies.
const FORM_BYTES_MAX = '56kb'

/**
 * What happens to the requests that a browser brings before the engine reads them.
 *
 * GET: every accepted spelling of `resource` becomes the one audience, so that the grant and all
 * that is made of it know one resource (design 3).
 *
 * POST (OpenID Connect Core §3.1.2.1, RP-Initiated Logout §2): 303 to GET with the same parameters.
 * The engine's own POST would demand SameSite=None cookies (design 18).
 */
export function authorizationRequests(
  resources: Resources,
  conformance: ConformanceProfile | undefined,
  limits: RequestLengths,
): Router {
  const router = makeRouter()

  router.get(paths.authorization, async (ctx, next) => {
    const query = new URLSearchParams(ctx.querystring)
    const sent = query.toString()
    nameOneAudience(query, resources)
    const mode = query.has('response_mode') ? undefined : modeIn(query.get('request'))
    if (mode !== undefined) query.append('response_mode', mode)
    if (conformance && !conformance.covers(query.get('client_id') ?? undefined)) {
      removeConformanceScopes(query)
    }
    // What needs no change stays as it was spelled.
    if (query.toString() !== sent) ctx.querystring = query.toString()
    await next()
  })

  // The engine keeps of it what the page after the sign-out needs, and judges no length.
  router.get(paths.endSession, async (ctx, next) => {
    const tooLong = whatIsTooLong(ctx.query, limits)
    if (tooLong) throw parameterTooLong(tooLong)
    await next()
  })

  const form = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX, encoding: 'utf-8' })
  for (const path of [paths.authorization, paths.endSession]) {
    router.post(path, form, (ctx) => {
      if (!ctx.is('application/x-www-form-urlencoded')) {
        throw unsupportedBody('application/x-www-form-urlencoded')
      }
      seeOther(ctx, `${path}?${ctx.request.rawBody ?? ''}`)
    })
  }

  return router
}

/**
 * How an answer is wanted by a request object, which is refused itself: the refusal has to go where the
 * client listens. Nothing else of the object is read (OpenID Connect Core §6.1).
 */
function modeIn(requestObject: string | null): 'form_post' | undefined {
  try {
    const { response_mode: mode } = decodeJwt(requestObject ?? '')
    return mode === 'form_post' ? mode : undefined
  } catch {
    return undefined
  }
}

function nameOneAudience(query: URLSearchParams, resources: Resources): void {
  const named = query.getAll('resource')
  query.delete('resource')
  const canonical = named.map((resource) => resources.canonical(resource) ?? resource)
  for (const resource of new Set(canonical)) query.append('resource', resource)
}

/** To any other client the suite's scopes are as unknown as they are without the profile. */
function removeConformanceScopes(query: URLSearchParams): void {
  const scopes = query.getAll('scope')
  query.delete('scope')
  for (const scope of scopes) {
    const known = scope.split(' ').filter((name) => !conformanceScopes.includes(name))
    query.append('scope', known.join(' '))
  }
}

/**
 * The engine's last check of an authorization request, after the redirect address was found good, so that its
 * errors go back to the client. Unknown scopes beside known ones are ignored, as OpenID Connect Core §3.1.2.1
 * asks; a request with only unknown ones is refused. A request that is too long to be kept is refused here,
 * too: nothing of it was kept yet.
 */
export function checkAuthorizationRequest(limits: RequestLengths) {
  return (
    { oidc: { provider, params = {} } }: KoaContextWithOIDC,
    _scope: unknown,
    client: KoaContextWithOIDC['oidc']['client'],
  ): void => {
    if (client && factsOf(client).state !== 'active') throw clientSwitchedOff()
    const tooLong = whatIsTooLong(params, limits)
    if (tooLong) throw parameterTooLong(tooLong)
    const problem = explainUnknownScopes({ client, params, baseUrl: provider.issuer })
    if (problem !== undefined) throw noKnownScope(problem)
  }
}
