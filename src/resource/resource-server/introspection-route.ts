/** Introspection: what a token is good for, told to those whom it concerns (RFC 7662). */

import type { Context, Middleware } from 'koa'

import {
  type AuthenticatingClient,
  authenticateClient,
  CLIENT_NOT_AUTHENTICATED,
  type ClientCredentials,
  type FindAuthenticatingClient,
  readClientCredentials,
  reasonNotToAnswer,
} from '../../oauth/clients/authenticate-client.ts'
import { canBeClientId } from '../../oauth/clients/client.ts'
import type { VerifyAssertion } from '../../oauth/keys/proofs.ts'
import type { AccessToken, RefreshToken } from '../../oauth/token/tokens.ts'
import { FOREIGN_TO_PAGES, isForeignToPages } from '../../platform/http/cors.ts'
import { sendJsonError } from '../../platform/http/error-handler.ts'
import { paths } from '../../platform/http/paths.ts'
import { parameterOf, readForm, repetitionIn } from '../../platform/http/request-body.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { programRoute } from '../../platform/http/router.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { answerTooMany } from '../../platform/limits/too-many-requests.ts'
import type { JudgeAnyToken } from './judge-token.ts'

export interface IntrospectionPorts {
  readonly baseUrl: string
  readonly judgeAnyToken: JudgeAnyToken
  readonly findClient: FindAuthenticatingClient
  /** Left out where no client authenticates with a key of its own. */
  readonly verifyAssertion: VerifyAssertion | undefined
  readonly requestLimits: Limits
  /** Hears of each use of a token. */
  readonly countUse: (grantId: string) => void
}

/**
 * A resource server is told of every token that it may see, a client of its own, and everybody else
 * that the token is not active (RFC 7662 §2.1; design 13).
 */
export function introspectionRoute(ports: IntrospectionPorts): Middleware {
  const answer = async (ctx: Context) => {
    const form = await readForm(ctx)
    const authorization = ctx.req.headersDistinct['authorization'] ?? []
    const credentials = readClientCredentials(form, authorization)
    if ('problem' in credentials) return demandAuthentication(ctx, credentials.problem, ports)
    // The client need not have authenticated yet: only what it did after it had is counted.
    const { clientId } = credentials
    const exceeded =
      ports.requestLimits.exceeded('unknownTokens', clientId) ??
      ports.requestLimits.exceeded('requestsOfClient', clientId)
    if (answerTooMany(ctx, exceeded, 'json')) return
    await answerCaller(ctx, { form, credentials }, ports)
  }
  return programRoute({
    path: paths.introspection,
    name: 'introspection',
    methods: ['POST'],
    answer,
  })
}

interface Question {
  readonly form: URLSearchParams
  readonly credentials: Exclude<ClientCredentials, { readonly problem: string }>
}

/**
 * The token is judged before the caller's secret is compared, because the one query of it says
 * whether what is known of the caller is still true; nothing of it is told to somebody else.
 */
async function answerCaller(
  ctx: Context,
  { form, credentials }: Question,
  ports: IntrospectionPorts,
): Promise<void> {
  const { judgeAnyToken, countUse, baseUrl } = ports
  const problem = repetitionIn(form, ['token', 'token_type_hint'])
  const value = problem === undefined ? parameterOf(form, 'token') : undefined
  const callerId = canBeClientId(credentials.clientId) ? credentials.clientId : undefined
  const judged =
    value === undefined ? undefined : await judgeAnyToken(value, likelyKind(value, form), callerId)
  const version = judged?.token?.callerVersion
  const caller = await authenticate(ctx, { credentials, version }, ports)
  if (!caller) return
  ports.requestLimits.count('requestsOfClient', caller.clientId)
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
    // Honest callers ask about tokens that were issued here once; values that never were are guesses.
    if (!judged.token) ports.requestLimits.count('unknownTokens', caller.clientId)
  } else if (mayIntrospect(caller, judged.token)) {
    fields.outcome = 'active'
    countUse(judged.token.grant.id)
    ctx.body = activeToken(judged.token, baseUrl)
  }
}

/** The kind that the hint and the form of the token say, which is looked for first (RFC 7662 §2.1). */
function likelyKind(token: string, form: URLSearchParams): 'access' | 'refresh' {
  const refreshes = parameterOf(form, 'token_type_hint') === 'refresh_token' || token.includes('.')
  return refreshes ? 'refresh' : 'access'
}

/**
 * Whether a client that authenticated may introspect a token (RFC 7662 §2.1; design 13): its own in any
 * case. A resource server that the operator of a site registered may introspect those that are for this
 * site, and one of the deployment every one.
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
 * What a token is good for (RFC 7662 §2.2): for whom it is, and with `profile` the site that it is
 * for and the roles that the person holds there now (design 15). A refresh token has no type and no
 * audience of its own.
 */
function activeToken(
  token: AccessToken | RefreshToken,
  issuer: string,
): Readonly<Record<string, unknown>> {
  const { siteId, roles, scopes } = token
  return {
    active: true,
    sub: token.personId,
    ...(scopes.includes('profile') && siteId !== undefined && { org_id: siteId, roles }),
    client_id: token.clientId,
    exp: token.expiresAt,
    iat: token.issuedAt,
    sid: token.family.token.sid,
    iss: issuer,
    aud: token.kind === 'access' ? token.audience : undefined,
    scope: scopes.join(' ') || undefined,
    ...(token.kind === 'access' && typeOf(token)),
  }
}

/** One that is bound to a key is told with the key (RFC 9449 §6.2). */
function typeOf({ jkt }: AccessToken) {
  return jkt === undefined ? { token_type: 'Bearer' } : { token_type: 'DPoP', cnf: { jkt } }
}

/** Who asks; nobody when the request was refused. */
async function authenticate(
  ctx: Context,
  {
    credentials,
    version,
  }: Pick<Question, 'credentials'> & { readonly version: number | undefined },
  { baseUrl, findClient, verifyAssertion }: IntrospectionPorts,
): Promise<AuthenticatingClient | undefined> {
  const find = async (clientId: string) => await findClient(clientId, version)
  const authentication = await authenticateClient(credentials, find, verifyAssertion)
  const client = 'client' in authentication ? authentication.client : authentication.claimed
  logFields(ctx).client = client?.clientId
  if (isForeignToPages(ctx, client)) {
    sendJsonError(ctx, 400, { error: 'invalid_request', error_description: FOREIGN_TO_PAGES })
    return undefined
  }
  const refused = 'refused' in authentication ? authentication.refused : reasonNotToAnswer(client)
  if (refused === undefined) return client
  logFields(ctx).detail = refused
  const description = CLIENT_NOT_AUTHENTICATED
  // RFC 6749 §5.2: the challenge matches the scheme that the client used.
  if (ctx.headers.authorization !== undefined) {
    const said = `error="invalid_client", error_description="${description}"`
    ctx.set('WWW-Authenticate', `Basic realm="${baseUrl}", ${said}`)
  }
  sendJsonError(ctx, 401, { error: 'invalid_client', error_description: description })
  return undefined
}

/** RFC 7662 §2.3: a caller that did not authenticate gets 401, whatever else it sent. */
function demandAuthentication(
  ctx: Context,
  problem: string,
  { baseUrl }: IntrospectionPorts,
): void {
  logFields(ctx).detail = problem
  ctx.set('WWW-Authenticate', `Basic realm="${baseUrl}"`)
  const error_description = 'introspection needs client authentication'
  sendJsonError(ctx, 401, { error: 'invalid_client', error_description })
}
