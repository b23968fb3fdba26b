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
import { explainUnknownScopes } from './engine-answers.ts'

// As long as the engine's own limit for request bodies.
const FORM_BYTES_MAX = '56kb'

/**
 * Prepares the requests of browsers for the engine.
 *
 * GET: every accepted spelling of `resource` becomes the one audience, so that the grant and all tokens from
 * it know one resource (design 3).
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
    // An unchanged query keeps its spelling.
    if (query.toString() !== sent) ctx.querystring = query.toString()
    await next()
  })

  // The engine keeps these parameters for the page after the sign-out, and judges no length.
  router.get(paths.endSession, async (ctx, next) => {
    const tooLong = explainTooLong(ctx.query, limits)
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
 * The response mode that a request object asks for. Request objects are refused, and the refusal has to go
 * where the client listens (OpenID Connect Core §6.1).
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

/** The suite's scopes are unknown to every other client. */
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
    const tooLong = explainTooLong(params, limits)
    if (tooLong) throw parameterTooLong(tooLong)
    const problem = explainUnknownScopes({ client, params, baseUrl: provider.issuer })
    if (problem !== undefined) throw noKnownScope(problem)
  }
}

/** How long an authorization request may be, in bytes as it is kept: of JSON. */
export interface RequestLengths {
  readonly stateBytesMax: number
  /** All values of all parameters together. */
  readonly bytesMax: number
}

/**
 * A request is kept until the person has answered, so that each parameter has a length that no honest client
 * exceeds. A state is the longest: libraries seal into it where the person was, and through a chain of
 * providers it becomes more than two thousand characters (ASP.NET's handler; other providers take 1024 to
 * 8192). All scopes together have 700, an id_token of ours 1500, and a nonce of ASP.NET 140. Proxies and
 * servers refuse an address beyond 8 kB anyway.
 */
const bytesMax: Readonly<Record<string, number>> = {
  redirect_uri: 2048,
  client_id: 2048,
  scope: 2048,
  claims: 2048,
  id_token_hint: 4096,
  resource: 2048,
}

/** For every other parameter, like nonce, login_hint, prompt and acr_values. */
const OTHERS_BYTES_MAX = 512

/** What is too long in a request, as a sentence for its client. */
export function explainTooLong(
  parameters: Readonly<Record<string, unknown>>,
  limits: RequestLengths,
): string | undefined {
  const lengths = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, bytes: bytesOf(value) }],
  )
  for (const { name, bytes } of lengths) {
    const max = name === 'state' ? limits.stateBytesMax : (bytesMax[name] ?? OTHERS_BYTES_MAX)
    if (bytes > max) return `the parameter ${name} has ${bytes} bytes, and may have ${max}`
  }
  const total = lengths.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total <= limits.bytesMax) return undefined
  return `the parameters have ${total} bytes together, and may have ${limits.bytesMax}`
}

/** Bytes as they are kept, of JSON: a control character has six, and one of an Asian script three. */
function bytesOf(value: unknown): number {
  const text = [value].flat().map(String).join(' ')
  return Buffer.byteLength(JSON.stringify(text)) - 2
}
