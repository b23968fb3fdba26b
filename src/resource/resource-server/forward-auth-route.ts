/** Forward authentication: a proxy asks whether a request may pass, and who it is from. */

import type { Context, Middleware } from 'koa'

import { findScope } from '../../directory/scopes/catalogue.ts'
import {
  type AuthenticatingClient,
  authenticateClient,
  type ClientCredentials,
  type FindAuthenticatingClient,
  readClientCredentials,
  reasonNotToAnswer,
} from '../../oauth/clients/authenticate-client.ts'
import { canBeClientId } from '../../oauth/clients/client.ts'
import { sendJsonError } from '../../platform/http/error-handler.ts'
import { forwardAuthFor, paths } from '../../platform/http/paths.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { answerUncached } from '../../platform/http/router.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import { identityOf } from './identity-headers.ts'
import { mayIntrospect } from './introspection-route.ts'
import type { JudgeAccessToken, Judged } from './judge-token.ts'
import { type AdviseOnScopes, refuse } from './protect.ts'
import { demandScopes, invalid, invalidBecause, readBearer, type Verdict } from './verify-bearer.ts'

export interface ForwardAuthPorts {
  readonly resourceMetadataUrl: string
  readonly judgeAccessToken: JudgeAccessToken
  readonly findClient: FindAuthenticatingClient
  readonly adviseOnScopes: AdviseOnScopes
  readonly requestLimits: Limits
  /** Hears of each use of a token. */
  readonly countUse: (grantId: string) => void
}

/**
 * 200 with who it is, or the 401 or 403 of a protected resource, which the proxy hands to its caller.
 * Every method is answered alike, because some proxies send that of the guarded request; a body is
 * never read, and pages of other origins are told nothing of CORS, which is for the application behind.
 */
export function forwardAuthRoute(ports: ForwardAuthPorts): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== paths.forwardAuth && !ctx.path.startsWith(forwardAuthFor)) return await next()
    // Where a router leaves the pattern that matched, for the log.
    Object.assign(ctx, { _matchedRoute: 'forward-auth' })
    await answerUncached(ctx, async () => await answerProxy(ctx, ports))
  }
}

/**
 * Where the proxy says who it is. `Authorization` is the caller's, and every proxy can set a header of
 * another name, over what the caller wrote there.
 */
const CLIENT_HEADER = 'x-forward-auth-client'
const SCOPE_HEADER = 'x-forward-auth-scope'

async function answerProxy(ctx: Context, ports: ForwardAuthPorts): Promise<void> {
  const { headersDistinct } = ctx.req
  const credentials = readClientCredentials(
    new URLSearchParams(),
    headersDistinct[CLIENT_HEADER] ?? [],
  )
  if ('problem' in credentials) return refuseProxy(ctx, credentials.problem)
  const { requestLimits, countUse } = ports
  // The proxy may be unauthenticated here: only what it does afterwards is counted.
  const exceeded = requestLimits.exceeded('guardedRequests', credentials.clientId)
  if (answerTooMany(ctx, exceeded, 'json')) return
  const judged = await judgeRequest(ctx, credentials, ports)
  const version = 'token' in judged ? judged.token?.callerVersion : undefined
  const proxy = await authenticateProxy(ctx, credentials, version, ports)
  if (!proxy) return
  requestLimits.count('guardedRequests', proxy.clientId)
  const wanted = readWantedScopes({
    path: ctx.path,
    query: ctx.querystring,
    headers: headersDistinct[SCOPE_HEADER] ?? [],
  })
  if ('problem' in wanted) {
    const body = { error: 'invalid_scope', error_description: wanted.problem }
    return sendJsonError(ctx, 400, body)
  }
  const { scopes } = wanted
  const shown = verdictFor(proxy, judged)
  if (shown.kind === 'granted') {
    const { clientId, personId } = shown.token
    Object.assign(logFields(ctx), { client: clientId, person: personId })
  }
  const verdict = demandScopes(shown, scopes)
  if (verdict.kind !== 'granted') return await refuse(ctx, verdict, { ...ports, scopes })
  countUse(verdict.token.grant.id)
  ctx.set(identityOf(verdict.token))
  ctx.status = 200
  ctx.body = ''
}

/** What a proxy says of itself; its caller has no part in it. */
type ProxyCredentials = Exclude<ClientCredentials, { readonly problem: string }>

type Unjudged = Extract<Verdict, { kind: 'anonymous' | 'invalid' }>

/**
 * The token is judged before the secret of the proxy is compared, because the one query of it says
 * whether what is known of the proxy is still true; nothing of it is told to somebody else.
 */
async function judgeRequest(
  ctx: Context,
  { clientId }: ProxyCredentials,
  { judgeAccessToken }: ForwardAuthPorts,
): Promise<Judged | Unjudged> {
  const bearer = readBearer(ctx.req.headersDistinct['authorization'] ?? [])
  if ('kind' in bearer) return bearer
  const callerId = canBeClientId(clientId) ? clientId : undefined
  return await judgeAccessToken(bearer.value, { unbound: false, callerId })
}

/** The verdict on the token as far as this proxy is told of it. */
export function verdictFor(proxy: AuthenticatingClient, judged: Judged | Unjudged): Verdict {
  if (judged.kind === 'worthless') return invalidBecause(judged)
  if (judged.kind !== 'good') return judged
  const { token } = judged
  // The proof is about the address that the caller asked, which nobody but the proxy knows (RFC 9449 §4.2).
  if (token.jkt !== undefined) {
    return invalid('the token is bound to a key, which cannot be shown through a proxy')
  }
  if (mayIntrospect(proxy, token)) return { kind: 'granted', token }
  return invalid('the token is for another site than the resource server')
}

/** The proxy that asks; undefined when the request was refused. */
async function authenticateProxy(
  ctx: Context,
  credentials: ProxyCredentials,
  version: number | undefined,
  { findClient }: ForwardAuthPorts,
): Promise<AuthenticatingClient | undefined> {
  const find = async (clientId: string) => await findClient(clientId, version)
  const authentication = await authenticateClient(credentials, find)
  const client = 'client' in authentication ? authentication.client : authentication.claimed
  logFields(ctx).client = client?.clientId
  const refused =
    'refused' in authentication ? authentication.refused : reasonNotToGuard(authentication.client)
  if (refused === undefined) return client
  refuseProxy(ctx, refused)
  return undefined
}

function reasonNotToGuard(client: AuthenticatingClient): string | undefined {
  return client.origin === 'resource_server'
    ? reasonNotToAnswer(client)
    : 'the client is no resource server'
}

/** What a proxy is told whichever fault it was. Its caller may read it too, and learns nothing of it. */
const PROXY_NOT_AUTHENTICATED =
  'the proxy in front did not authenticate as a resource server: it sends its client_id and ' +
  'client_secret in X-Forward-Auth-Client, as HTTP Basic has them'

/**
 * The fault lies between two parts of the operator. 401 would have a browser ask its person for the
 * password of the proxy, and a client for a new token.
 */
function refuseProxy(ctx: Context, reason: string): void {
  logFields(ctx).detail = reason
  const body = { error: 'invalid_client', error_description: PROXY_NOT_AUTHENTICATED }
  sendJsonError(ctx, 400, body)
}

/** The parts of a request that name scopes. */
export interface ScopeSources {
  readonly path: string
  readonly query: string
  /** The headers `X-Forward-Auth-Scope`. */
  readonly headers: readonly string[]
}

/**
 * Reads the scopes that a proxy demands, in the query or in the header; both count, and the token needs
 * every one. Below the address the path and the query are those of the guarded request, so that its
 * caller writes them, and the header alone is read. A caller who sends the header makes it harder for
 * themselves only.
 *
 * @returns the scopes, or what is wrong in words for the operator who configured the proxy
 */
export function readWantedScopes({
  path,
  query,
  headers,
}: ScopeSources): { readonly scopes: readonly string[] } | { readonly problem: string } {
  const parameters = new URLSearchParams(path.startsWith(forwardAuthFor) ? '' : query)
  const named = [...parameters.getAll('scope'), ...headers]
  const scopes = [...new Set(named.flatMap((text) => text.split(' ')).filter(Boolean))]
  // What was sent is not repeated: a sentence of ours goes to a log and to a page.
  const unknown = scopes.filter((scope) => !findScope(scope))
  if (unknown.length === 0) return { scopes }
  const commas = unknown.some((scope) => scope.includes(','))
    ? '; scopes are separated by spaces and not by commas'
    : ''
  return {
    problem: `a scope that the proxy names is not in the catalogue: see scopes_supported${commas}`,
  }
}
