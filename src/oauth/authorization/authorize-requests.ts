import { bodyParser } from '@koa/bodyparser'
import type { Context } from 'koa'
import type Router from 'koa-router'
import type { KoaContextWithOIDC } from 'oidc-provider'

import { unapprovedClientPage } from '../../../views/unapproved-client.ts'
import type { ServicePolicy } from '../../config/config.ts'
import { OPENID } from '../../directory/scopes/catalogue.ts'
import {
  clientSwitchedOff,
  hintNotValid,
  noKnownScope,
  parameterTooLong,
  unsupportedBody,
} from '../../platform/http/errors.ts'
import { seeOther, sendPublicPage } from '../../platform/http/page.ts'
import { AREA_SEPARATOR, changePaths, pages, paths } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { isUnreviewed } from '../clients/client.ts'
import { factsOfClient } from '../clients/client-metadata.ts'
import { unverifiedClaims } from '../clients/proofs.ts'
import type { Resources } from '../token/resource-indicators.ts'
import { conformanceScopes } from './conformance-profile.ts'
import { explainUnknownScopes } from './engine-answers.ts'
import type { EngineDependencies } from './engine-dependencies.ts'
import { plainNames } from './required-acr.ts'

// Maximum size of a form, the same as in the engine.
const FORM_BYTES_MAX = '56kb'

/**
 * Creates the routes that prepare or reject browser requests before the engine reads them:
 *
 * - GET authorization: prepares the parameters (`preparedParameters`), and can offer an approval (`offerApproval`).
 * - GET sign-out: rejects parameters that are too long, and an id_token_hint whose audience is not a single client.
 * - POST to either path (OpenID Connect Core §3.1.2.1, RP-Initiated Logout §2): redirects (303) to GET with the same
 *   parameters. The engine's own POST routes would require SameSite=None cookies (design 18).
 */
export function authorizationRequests(parts: RequestParts): Router {
  const { requestLengths, resources } = parts
  const router = makeRouter()

  router.get(paths.authorization, async (ctx, next) => {
    const areas = areasIn(new URLSearchParams(ctx.querystring).getAll('resource'))
    ctx.querystring = preparedParameters(ctx.querystring, parts)
    await next()
    if (areas.length > 0) offerApproval(ctx, areas, resources.audience)
  })

  // The engine keeps the parameters of a sign-out until the person confirms, and does not limit their length.
  router.get(paths.endSession, async (ctx, next) => {
    const tooLong = explainTooLong(ctx.query, requestLengths)
    if (tooLong) throw parameterTooLong(tooLong)
    const hint = ctx.query['id_token_hint']
    const aud = unverifiedClaims(hint)?.aud
    // The engine uses the hint's single audience to find the client before it validates the hint.
    if (typeof hint === 'string' && (typeof aud !== 'string' || aud === '')) throw hintNotValid()
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

type RequestParts = Pick<EngineDependencies, 'resources' | 'conformance' | 'requestLengths'>

/**
 * Adapts the parameters of an authorization request or pushed request to the engine:
 *
 * - Replaces every accepted spelling of `resource` with the audience, because a grant and its tokens have a single
 *   resource (design 3).
 * - Without `openid`, renames `acr_values` and `max_age`, and removes a single `nonce`.
 * - Adds `response_mode=form_post` if only a request object contains it.
 * - If the conformance profile is on, removes the suite's scopes from requests by clients outside the suite.
 *
 * @param text the form-encoded parameters; returned as they are if nothing needs to change
 * @param clientId the client that sent a pushed request
 */
export function preparedParameters(
  text: string,
  { resources, conformance }: Pick<RequestParts, 'resources' | 'conformance'>,
  clientId?: string,
): string {
  const query = new URLSearchParams(text)
  const sent = query.toString()
  useOneAudience(query, resources)
  if (!query.getAll('scope').join(' ').split(' ').includes(OPENID)) renamePlain(query)
  // Request objects are rejected, but the error response must use the mode that the client expects (OpenID Connect
  // Core §6.1).
  const mode = unverifiedClaims(query.get('request'))?.['response_mode']
  if (mode === 'form_post' && !query.has('response_mode')) query.append('response_mode', mode)
  if (conformance && !conformance.covers(clientId ?? query.get('client_id') ?? undefined)) {
    removeConformanceScopes(query)
  }
  return query.toString() === sent ? text : query.toString()
}

function useOneAudience(query: URLSearchParams, { canonical }: Resources): void {
  const named = query.getAll('resource').map((resource) => canonical(resource) ?? resource)
  query.delete('resource')
  for (const resource of new Set(named)) query.append('resource', resource)
}

const [changePrefix = ''] = changePaths.mcp.split(':')

/** Returns the areas that the client asks to change, as named in its `resource` values (design 38). */
function areasIn(named: readonly string[]): string[] {
  return named.flatMap((resource) => resource.split(changePrefix)[1]?.split(AREA_SEPARATOR) ?? [])
}

/**
 * Replaces `invalid_scope` with a page that offers to approve the client. Applies to requests by an unapproved
 * client for access that changes areas of a site. Without the page, the person would see only an error in the client.
 * The page links to the client's redirect URI with the original error.
 */
function offerApproval(ctx: Context, areas: readonly string[], baseUrl: string): void {
  const { oidc } = ctx as Context & { oidc?: KoaContextWithOIDC['oidc'] }
  const client = oidc?.client && factsOfClient(oidc.client)
  const returnHref = ctx.response.get('Location')
  if (!client || !isUnreviewed(client) || !/[?&]error=invalid_scope(&|$)/.test(returnHref)) return
  ctx.remove('Location')
  const approval = new URLSearchParams({ approve: client.clientId })
  const page = unapprovedClientPage({
    ...{ name: client.name, areas, returnHref },
    approveHref: `${pages.admin}?${approval}`,
    readingAddress: baseUrl + paths.mcpAdmin,
  })
  sendPublicPage(ctx, page)
  ctx.status = 403
}

/** Renames or removes parameters that the engine accepts only with `openid`. Many clients send a `nonce` without it. */
function renamePlain(query: URLSearchParams): void {
  // A repeated parameter is an error (RFC 6749 §3.1), so leave it to the engine.
  if (query.getAll('nonce').length === 1) query.delete('nonce')
  for (const [name, plain] of Object.entries(plainNames)) {
    for (const value of query.getAll(name)) query.append(plain, value)
    query.delete(name)
  }
}

/** Removes the scopes of the conformance suite, which other clients must not use. */
function removeConformanceScopes(query: URLSearchParams): void {
  const isOurs = (name: string) => !conformanceScopes.includes(name)
  const scopes = query.getAll('scope').map((scope) => scope.split(' ').filter(isOurs).join(' '))
  query.delete('scope')
  for (const scope of scopes) query.append('scope', scope)
}

/**
 * Creates the check of authorization requests. It rejects an inactive client, parameters that are too long, scopes
 * separated by commas, and requests without a known scope. Otherwise, it ignores unknown scopes (OpenID Connect Core
 * §3.1.2.1). It runs after the engine has accepted the redirect_uri, so the client receives the errors.
 */
export function checkAuthorizationRequest(limits: RequestLengths) {
  return (
    { query, oidc: { provider, body, params = {} } }: KoaContextWithOIDC,
    _scope: unknown,
    client: KoaContextWithOIDC['oidc']['client'],
  ): void => {
    if (client && factsOfClient(client).state !== 'active') throw clientSwitchedOff()
    const tooLong = explainTooLong(params, limits)
    if (tooLong) throw parameterTooLong(tooLong)
    // Without `resource`, the engine has removed names with commas from `params.scope`.
    const sent = String((body ?? query)['scope'])
    const scope = sent.includes(',') ? sent : params['scope']
    const problem = explainUnknownScopes({ client, params: { scope }, baseUrl: provider.issuer })
    if (problem !== undefined) throw noKnownScope(problem)
  }
}

/** The length limits for `state` and for all parameters of a request together, in bytes of JSON. */
export type RequestLengths = ServicePolicy['authorizationRequests']

/**
 * The length limits for single parameters, in bytes of JSON. The service stores each request until the person responds
 * or it expires. No known client exceeds the limits: the list of all scopes has about 550 characters, our id_token
 * 1,500, and an ASP.NET nonce 140. `state` has a higher limit, because some libraries, such as ASP.NET's, put more than
 * 2,000 encrypted characters into it.
 */
const bytesMax: Readonly<Record<string, number>> = {
  redirect_uri: 2048,
  client_id: 2048,
  scope: 2048,
  claims: 2048,
  id_token_hint: 4096,
  resource: 2048,
}

/** The length limit of every other parameter, such as nonce, login_hint, prompt and acr_values. */
const OTHERS_BYTES_MAX = 512

/** Explains which parameter of a request is too long. Returns undefined if the request is within the limits. */
export function explainTooLong(
  parameters: Readonly<Record<string, unknown>>,
  limits: RequestLengths,
): string | undefined {
  let total = 0
  for (const [name, value] of Object.entries(parameters)) {
    const bytes = jsonBytes(value ?? '')
    const max = name === 'state' ? limits.stateBytesMax : (bytesMax[name] ?? OTHERS_BYTES_MAX)
    if (bytes > max) return `the ${name} parameter has ${bytes} bytes; send at most ${max}`
    total += bytes
  }
  if (total <= limits.bytesMax) return undefined
  return `all parameters together have ${total} bytes; send at most ${limits.bytesMax}`
}

/** Returns the length of a value in bytes of JSON. A control character takes up to six, a Chinese character three. */
function jsonBytes(value: unknown): number {
  const text = [value].flat().map(String).join(' ')
  return Buffer.byteLength(JSON.stringify(text)) - 2
}
