import type { Context, Middleware } from 'koa'

import {
  type AuthenticatingClient,
  authenticateClient,
  CLIENT_NOT_AUTHENTICATED,
  type ClientCredentials,
  readClientCredentials,
  reasonNotToCheckTokens,
} from '../../oauth/clients/authenticate-client.ts'
import type { AccessToken, RefreshToken } from '../../oauth/token/tokens.ts'
import { hasSecretInBrowser, SECRET_IN_BROWSER } from '../../platform/http/cors.ts'
import { sendJsonError } from '../../platform/http/error-handler.ts'
import { paths } from '../../platform/http/paths.ts'
import { parameterOf, readForm, repetitionIn } from '../../platform/http/request-body.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { programRoute } from '../../platform/http/router.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import type { ResourceParts } from './verify-bearer.ts'

/** Creates the introspection route (RFC 7662; design 13). Tokens that a client may not introspect appear inactive. */
export function introspectionRoute(parts: ResourceParts): Middleware {
  const { requestLimits } = parts.platform
  const answer = async (ctx: Context) => {
    const form = await readForm(ctx)
    const authorization = ctx.req.headersDistinct['authorization'] ?? []
    const credentials = readClientCredentials(form, authorization)
    if ('problem' in credentials) {
      // A form without well-formed credentials gets 401, even if it also lacks the token (RFC 7662 §2.3).
      logFields(ctx).detail = credentials.problem
      ctx.set('WWW-Authenticate', `Basic realm="${parts.baseUrl}"`)
      const error_description =
        'the request has no valid client credentials; authenticate as a client or a resource server'
      return sendJsonError(ctx, 401, { error: 'invalid_client', error_description })
    }
    // Only check the limits here. The request is counted once the client has authenticated.
    const exceeded =
      requestLimits.exceeded('unknownTokens', credentials.clientId) ??
      requestLimits.exceeded('requestsOfClient', credentials.clientId)
    if (answerTooMany(ctx, exceeded, 'json')) return
    await answerCaller(ctx, form, credentials, parts)
  }
  return programRoute({
    path: paths.introspection,
    name: 'introspection',
    methods: ['POST'],
    answer,
  })
}

type Credentials = Exclude<ClientCredentials, { readonly problem: string }>

/**
 * Authenticates the caller and responds. Judges the token first, because one query reads the token and the version of
 * the caller's client. An unauthenticated caller learns nothing about the verdict.
 */
async function answerCaller(
  ctx: Context,
  form: URLSearchParams,
  credentials: Credentials,
  parts: ResourceParts,
): Promise<void> {
  const { platform, verdicts, baseUrl } = parts
  const problem = repetitionIn(form, ['token', 'token_type_hint'])
  const value = problem === undefined ? parameterOf(form, 'token') : undefined
  const judged =
    value === undefined ? undefined : await verdicts.judgeAnyToken(value, credentials.clientId)
  const caller = await authenticateCaller(ctx, credentials, judged?.token?.callerVersion, parts)
  if (!caller) return
  platform.requestLimits.count('requestsOfClient', caller.clientId)
  if (!judged) {
    const error_description = problem ?? "missing required parameter 'token'"
    sendJsonError(ctx, 400, { error: 'invalid_request', error_description })
    return
  }
  ctx.body = { active: false }
  const fields = logFields(ctx)
  fields.outcome = 'inactive'
  if (judged.kind === 'worthless') {
    fields.detail = judged.reason
    // Callers receive their tokens from clients of this service, so an unknown token may be a guess.
    if (!judged.token) platform.requestLimits.count('unknownTokens', caller.clientId)
  } else if (mayIntrospect(caller, judged.token)) {
    fields.outcome = 'active'
    verdicts.countUse(judged.token.grant.id)
    ctx.body = activeToken(judged.token, baseUrl)
  }
}

/**
 * Whether an authenticated client may introspect a token (RFC 7662 §2.1; design 13). Every client may introspect its
 * own tokens. A resource server may introspect the tokens of its site, or all tokens if it has no site.
 */
export function mayIntrospect(
  { clientId, origin, siteId }: Pick<AuthenticatingClient, 'clientId' | 'origin' | 'siteId'>,
  token: AccessToken | RefreshToken,
): boolean {
  if (token.clientId === clientId) return true
  if (origin !== 'resource_server') return false
  return siteId === undefined || siteId === token.siteId
}

/**
 * Describes an active token (RFC 7662 §2.2). With the scope `profile`, includes its site and the person's current roles
 * there (design 15). A refresh token has neither type nor audience.
 */
function activeToken(
  token: AccessToken | RefreshToken,
  issuer: string,
): Readonly<Record<string, unknown>> {
  const { siteId, roles, scopes } = token
  const { sid, acr, authTime } = token.family.token
  return {
    active: true,
    sub: token.personId,
    ...(scopes.includes('profile') && siteId !== undefined && { org_id: siteId, roles }),
    client_id: token.clientId,
    exp: token.expiresAt,
    iat: token.issuedAt,
    sid,
    // How and when the person authenticated (RFC 9470 §6.2).
    acr,
    auth_time: authTime,
    iss: issuer,
    aud: token.kind === 'access' ? token.audience : undefined,
    scope: scopes.join(' ') || undefined,
    // A bound token has the thumbprint of its key (RFC 9449 §6.2).
    ...(token.kind === 'access' &&
      (token.jkt === undefined
        ? { token_type: 'Bearer' }
        : { token_type: 'DPoP', cnf: { jkt: token.jkt } })),
  }
}

/** Authenticates a client that checks a token. `refused` (for the log) says why it may not check tokens. */
export async function authenticateChecker(
  ctx: Context,
  credentials: Credentials,
  version: number | undefined,
  { authorization, verifyAssertion }: ResourceParts['oauth'],
) {
  const find = async (clientId: string) => await authorization.findClient(clientId, version)
  const { client, refused } = await authenticateClient(credentials, find, verifyAssertion)
  logFields(ctx).client = client?.clientId
  return { client, refused: refused ?? reasonNotToCheckTokens(client) }
}

/** Authenticates the caller. @returns undefined if the request was rejected */
async function authenticateCaller(
  ctx: Context,
  credentials: Credentials,
  version: number | undefined,
  { oauth, baseUrl }: ResourceParts,
): Promise<AuthenticatingClient | undefined> {
  const { client, refused } = await authenticateChecker(ctx, credentials, version, oauth)
  if (hasSecretInBrowser(ctx, client)) {
    sendJsonError(ctx, 400, { error: 'invalid_request', error_description: SECRET_IN_BROWSER })
    return undefined
  }
  if (refused === undefined) return client
  logFields(ctx).detail = refused
  const error_description = CLIENT_NOT_AUTHENTICATED
  // The challenge must use the scheme that the client used (RFC 6749 §5.2).
  if (ctx.headers.authorization !== undefined) {
    const fault = `error="invalid_client", error_description="${error_description}"`
    ctx.set('WWW-Authenticate', `Basic realm="${baseUrl}", ${fault}`)
  }
  sendJsonError(ctx, 401, { error: 'invalid_client', error_description })
  return undefined
}
