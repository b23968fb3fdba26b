import type { Context, Middleware } from 'koa'

import { findScope } from '../../directory/scopes/catalogue.ts'
import {
  type AuthenticatingClient,
  readClientCredentials,
} from '../../oauth/clients/authenticate-client.ts'
import { sendJsonError } from '../../platform/http/error-handler.ts'
import { forwardAuthFor, paths } from '../../platform/http/paths.ts'
import { logFields, nameRoute } from '../../platform/http/request-log.ts'
import { answerUncached } from '../../platform/http/router.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import { identityOf } from './identity-headers.ts'
import { authenticateChecker, mayIntrospect } from './introspection-route.ts'
import type { Judged } from './judge-token.ts'
import { logToken, refuse } from './protect.ts'
import {
  demandScopes,
  type ResourceParts,
  readToken,
  reject,
  type Verdict,
} from './verify-bearer.ts'

/**
 * Creates the forward-auth route, where a proxy asks whether a request may pass. It responds with 200 and identity
 * headers or, like a protected resource, with 401, 403 or 503. The proxy returns a 401 or 403 to its caller. A
 * misconfigured proxy gets 400. The route accepts any method, because some proxies use the method of the guarded
 * request. It never reads the body. The application behind the proxy is responsible for CORS.
 */
export function forwardAuthRoute(parts: ResourceParts): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== paths.forwardAuth && !ctx.path.startsWith(forwardAuthFor)) return await next()
    nameRoute(ctx, 'forward-auth')
    await answerUncached(ctx, async () => await answerProxy(ctx, parts))
  }
}

/** The header for the credentials of the proxy. `Authorization` contains the caller's credentials. */
const CLIENT_HEADER = 'x-forward-auth-client'
const SCOPE_HEADER = 'x-forward-auth-scope'

async function answerProxy(ctx: Context, parts: ResourceParts): Promise<void> {
  const sent = ctx.req.headersDistinct[CLIENT_HEADER] ?? []
  const credentials = readClientCredentials(new URLSearchParams(), sent)
  if ('problem' in credentials) return refuseProxy(ctx, credentials.problem)
  const { platform, oauth, verdicts, resourceMetadataUrl } = parts
  // Only check the limit here. The request is counted once the proxy has authenticated.
  const exceeded = platform.requestLimits.exceeded('guardedRequests', credentials.clientId)
  if (answerTooMany(ctx, exceeded, 'json')) return
  // Judge the token before the proxy has authenticated, because one query reads the token and the version of the
  // proxy's client. An unauthenticated proxy does not learn the verdict.
  const token = readToken(ctx.req.headersDistinct['authorization'] ?? [], false)
  const expected = { unbound: false, callerId: credentials.clientId }
  const judged = 'kind' in token ? token : await verdicts.judgeAccessToken(token.value, expected)
  const version = 'token' in judged ? judged.token?.callerVersion : undefined
  const { client: proxy, refused } = await authenticateChecker(ctx, credentials, version, oauth)
  if (refused !== undefined || proxy?.origin !== 'resource_server')
    return refuseProxy(ctx, refused ?? 'the client is not a resource server')
  platform.requestLimits.count('guardedRequests', proxy.clientId)
  const headers = ctx.req.headersDistinct[SCOPE_HEADER] ?? []
  const wanted = readWantedScopes(ctx.path, ctx.querystring, headers)
  if ('problem' in wanted) {
    return sendJsonError(ctx, 400, { error: 'invalid_scope', error_description: wanted.problem })
  }
  const { scopes } = wanted
  const tokenVerdict = verdictFor(proxy, judged)
  if (tokenVerdict.kind === 'granted') logToken(ctx, tokenVerdict.token)
  const verdict = demandScopes(tokenVerdict, scopes)
  if (verdict.kind !== 'granted') {
    const { adviseOnScopes } = oauth
    return await refuse(ctx, verdict, { resourceMetadataUrl, adviseOnScopes, scopes })
  }
  verdicts.countUse(verdict.token.grant.id)
  ctx.set(identityOf(verdict.token))
  ctx.status = 200
  ctx.body = ''
}

type Unjudged = Extract<Verdict, { kind: 'anonymous' | 'invalid' }>

/** Returns the verdict for a proxy. Bound tokens, and tokens that the proxy may not introspect, are invalid. */
export function verdictFor(proxy: AuthenticatingClient, judged: Judged | Unjudged): Verdict {
  if (judged.kind === 'worthless') return reject(judged.reason, judged.token)
  if (judged.kind !== 'good') return judged
  const { token } = judged
  // A proof contains the URL that the caller requested, which only the proxy knows (RFC 9449 §4.2).
  if (token.jkt !== undefined) {
    return reject('forward auth does not accept tokens bound to a key; use introspection')
  }
  if (mayIntrospect(proxy, token)) return { kind: 'granted', token }
  return reject('the token is not for the site of the resource server')
}

/** The error description of every failed proxy authentication. It gives no reason, because the caller may see it. */
const PROXY_NOT_AUTHENTICATED =
  'the proxy did not authenticate as a resource server: set X-Forward-Auth-Client to its client_id and ' +
  'client_secret, encoded as in HTTP Basic'

/**
 * Responds with 400, because the operator's configuration is at fault. After a 401, a browser would ask for the
 * password of the proxy, and a client would request a new token.
 */
function refuseProxy(ctx: Context, reason: string): void {
  logFields(ctx).detail = reason
  const body = { error: 'invalid_client', error_description: PROXY_NOT_AUTHENTICATED }
  sendJsonError(ctx, 400, body)
}

/**
 * Reads the scopes that a proxy requires, from the query and the header. The token needs all of them. Below
 * `forwardAuthFor`, the query is that of the guarded request. The caller controls it, so only the header counts there.
 * A caller that sends the header can only add requirements for its own token.
 */
function readWantedScopes(path: string, query: string, headers: readonly string[]) {
  const parameters = new URLSearchParams(path.startsWith(forwardAuthFor) ? '' : query)
  const named = [...parameters.getAll('scope'), ...headers]
  const scopes = [...new Set(named.flatMap((text) => text.split(' ')).filter(Boolean))]
  // Do not quote unknown scopes, because the log and the Refusals page show this text.
  const unknown = scopes.filter((scope) => !findScope(scope))
  if (unknown.length === 0) return { scopes }
  const commas = unknown.some((scope) => scope.includes(','))
    ? '; separate scopes with spaces, not commas'
    : ''
  return {
    problem: `the proxy requires an unknown scope: use only scopes listed under scopes_supported in the server metadata${commas}`,
  }
}
