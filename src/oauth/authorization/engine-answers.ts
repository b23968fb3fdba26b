import type { Context, Middleware } from 'koa'
import type { KoaContextWithOIDC } from 'oidc-provider'

import { faultBody, RETRY_AFTER_SECONDS } from '../../platform/http/error-handler.ts'
import { logFields } from '../../platform/http/request-log.ts'
import {
  BASIC_WITHOUT_SECRET,
  CLIENT_NOT_AUTHENTICATED,
  MALFORMED_HEADER,
  NO_CLIENT_ID,
  SEVERAL_MECHANISMS,
} from '../clients/authenticate-client.ts'
import { type EngineClient, factsOfClient } from '../clients/client-metadata.ts'
import { explainRedirect } from '../clients/redirect-difference.ts'
import { explainRefusedScopes, problemOfScopes } from '../clients/refused-scopes.ts'
import type { Exchange } from '../token/authorization-code.ts'

/** Creates the middleware that changes the engine's responses where the engine's settings do not suffice. */
export function engineAnswers(firstTokens: Exchange['firstTokens']): Middleware {
  return async (ctx, next) => {
    await next()
    const { oidc } = ctx as Context & { oidc?: KoaContextWithOIDC['oidc'] }
    if (!oidc) return
    if (oidc.route === 'revocation') settleRevocation(ctx)
    // Replace the engine's token values, which are not stored, with ours (oauth/token/authorization-code.ts).
    if (ctx.status === 200 && oidc.route === 'token') {
      Object.assign(ctx.body ?? {}, firstTokens(ctx))
    }
    replaceSentences(ctx, oidc)
    settleFailure(ctx)
    adaptPolicy(ctx, oidc)
  }
}

/**
 * Responds to a successful revocation with an empty JSON object. Some libraries cannot parse an empty body. The
 * response is the same for a token that looks like a JWT, although the engine rejects it. An unknown token counts as
 * revoked (RFC 7009 §2.2; design 14).
 */
function settleRevocation(ctx: Context): void {
  if (ctx.status !== 200 && errorOf(ctx.body) !== 'unsupported_token_type') return
  ctx.status = 200
  // Koa sets the content type of the new body.
  ctx.remove('Content-Type')
  ctx.body = {}
}

// These patterns match the error description in a redirect and in a self-submitting form.
const inAddress = /([?&#]error_description=)([^&#]*)/g
const inForm = /(name="error_description" value=")([^"]*)(?=")/
// Some of the engine's errors have no description. Insert the error code as a description, which `toClient` replaces.
const bareInAddress = /[?&#]error=(\w+_not_supported)(?!.*error_description=)/
const bareInForm = /<input[^>]* name="error" value="(\w+_not_supported)"\/>(?!.*error_description)/s

/** Replaces the engine's short error descriptions with instructions (specification, Errors 1; RFC 6749 §4.1.2.1). */
function replaceSentences(ctx: Context, { route, client, params = {}, provider }: Oidc): void {
  const request = {
    client: /^(pushed_)?authorization/.test(route) ? client : undefined,
    params,
    baseUrl: provider.issuer,
  }
  const replace = (said: string) => {
    const sentence = toClient(said, request)
    // If the log has no better reason, log the description that the client gets.
    if (sentence !== undefined && logFields(ctx).detail === said) logFields(ctx).detail = sentence
    return sentence
  }
  replaceInAddress(ctx, replace)
  replaceInBody(ctx, replace)
}

type Replace = (said: string) => string | undefined

function replaceInAddress(ctx: Context, replace: Replace): void {
  const location = ctx.response.get('Location')
  if (!location) return
  const described = location.replace(bareInAddress, '$&&error_description=$1')
  const replaced = described.replace(inAddress, (whole, before, words) => {
    const sentence = replace(new URLSearchParams(`said=${words}`).get('said') ?? '')
    if (sentence === undefined) return whole
    return `${before}${new URLSearchParams({ '': sentence }).toString().slice(1)}`
  })
  if (replaced !== location) ctx.set('Location', replaced)
}

function replaceInBody(ctx: Context, replace: Replace): void {
  const { body } = ctx
  if (typeof body === 'string') {
    // Our descriptions contain no special HTML characters, so they need no escaping.
    const described = body.replace(
      bareInForm,
      '$&<input type="hidden" name="error_description" value="$1"/>',
    )
    const replaced = described.replace(
      inForm,
      (_whole, before, said) => before + (replace(said) ?? said),
    )
    if (replaced === body) return
    ctx.body = replaced
    ctx.type = 'html'
    return
  }
  const code = errorOf(body)
  if (!code) return
  const { error_description: said = code } = body as { error_description?: string }
  const sentence = replace(said)
  if (sentence === undefined) return
  const challenge = ctx.response.get('WWW-Authenticate')
  if (challenge) ctx.set('WWW-Authenticate', challenge.replace(said, sentence))
  Object.assign(body as object, { error_description: sentence })
}

type Oidc = KoaContextWithOIDC['oidc']

const GRANT_TYPE_NOT_ALLOWED = 'requested grant type is not allowed for this client'

function settleFailure(ctx: Context): void {
  const { error_description: said } = (ctx.body ?? {}) as { error_description?: string }
  // The engine sends invalid_request, but RFC 6749 §5.2 defines unauthorized_client for this case.
  if (said === GRANT_TYPE_NOT_ALLOWED)
    Object.assign(ctx.body as object, { error: 'unauthorized_client' })
  const error = errorOf(ctx.body)
  if (error) {
    logFields(ctx).error = error
    // The engine sets Cache-Control only at some endpoints (RFC 6749 §5.2).
    ctx.set('Cache-Control', 'no-store')
  }
  if (error === 'server_error') ctx.body = faultBody(ctx)
  if (ctx.status !== 503) return
  ctx.set('Retry-After', RETRY_AFTER_SECONDS)
  // A client must not mistake an outage for a rejected token (specification, Errors 7).
  ctx.remove('WWW-Authenticate')
}

function errorOf(body: unknown): string | undefined {
  return typeof body === 'object' && body && 'error' in body ? String(body.error) : undefined
}

/** Routes whose pages send the browser to a client: the response_mode=form_post form and the sign-out page. */
const leadsToClient: ReadonlySet<string> = new Set(['authorization', 'resume', 'end_session'])

/**
 * Adapts the Content-Security-Policy of the engine's pages. Removes form-action from pages that send the browser to a
 * client (decision 4), and allows the engine's script.
 */
function adaptPolicy(ctx: Context, { route }: Oidc): void {
  if (ctx.type !== 'text/html' || !leadsToClient.has(route)) return
  const policy = ctx.response.get('Content-Security-Policy')
  ctx.set(
    'Content-Security-Policy',
    // The engine adds a hash, and removes the spaces between directives. Browsers warn about 'none' next to a hash.
    policy
      .replace(/ ?form-action 'self';/, '')
      .replace("script-src 'none' 'sha256", "script-src 'sha256"),
  )
}

/** Parts of a rejected request that affect the error description. */
export interface RefusedRequest {
  /** The client, if known. In responses to the client, set only for authorization requests. */
  readonly client: EngineClient | undefined
  readonly params: Readonly<Record<string, unknown>>
  readonly baseUrl: string
}

type Sentence = string | ((request: RefusedRequest) => string | undefined)

const UNDER_REFUSALS =
  'site operators can see the reason under Refusals on the page of this application'

const SEND_S256 =
  'send code_challenge_method=S256 and, as code_challenge, the base64url-encoded SHA-256 hash of your code_verifier'

/**
 * Replacements for the engine's unhelpful error descriptions. They use only characters allowed by RFC 6749 §4.1.2.1 and
 * §5.2. They quote nothing from the request except known scopes and the encoded client_id of a known client.
 */
const toClient = sentences({
  'client authentication failed': CLIENT_NOT_AUTHENTICATED,
  'client_secret must be provided in the Authorization header': BASIC_WITHOUT_SECRET,
  'grant request is invalid': explainInvalidGrant,
  'no client authentication mechanism provided': NO_CLIENT_ID,
  'client authentication must only be provided using one mechanism': SEVERAL_MECHANISMS,
  'invalid authorization header value format': MALFORMED_HEADER,
  ...Object.fromEntries(
    ['acr_values', 'claims', 'id_token_hint', 'max_age', 'nonce'].map((parameter) => {
      const said = `openid scope must be requested when using the ${parameter} parameter`
      // The engine requires `openid` before we check `scope`, so explain commas and unknown names here too.
      const cure = (request: RefusedRequest) =>
        explainUnknownScopes(request) ?? `add openid to the scope parameter, or omit ${parameter}`
      return [said, (request: RefusedRequest) => `${said}: ${cure(request)}`]
    }),
  ),
  'requested scope is not allowed': ({ client, params, baseUrl }) =>
    client && explainRefusedScopes(describedClient(client), scopeOf(params), baseUrl),
  'not supported value of code_challenge_method': `only S256 is supported as code_challenge_method: ${SEND_S256}`,
  'code_challenge_method must be provided': `code_challenge_method is missing: ${SEND_S256}`,
  'Authorization Server policy requires PKCE to be used for this request': `PKCE is required for every client: ${SEND_S256}`,
  'unsupported grant_type requested':
    'unsupported grant_type requested: send authorization_code or refresh_token; tokens are issued only for a ' +
    'person who signs in',
  'unsupported response_type requested':
    'unsupported response_type requested: send response_type=code',
  request_not_supported:
    'request objects are not supported: send each parameter separately, and omit the request parameter',
  request_uri_not_supported:
    'this use of request_uri is not supported: send each parameter separately, and omit request_uri',
  registration_not_supported: 'the registration parameter is not supported: omit it',
})

/** The engine's error description for an unregistered post-logout redirect URI. */
export const UNREGISTERED_AFTER_SIGN_OUT = 'post_logout_redirect_uri not registered'

/** Replacements for the engine's vague reasons, in the log and under Refusals. */
const toOperator = sentences({
  "redirect_uri did not match any of the client's registered redirect_uris": ({ client, params }) =>
    client && explainRedirect(String(params['redirect_uri'] ?? ''), client.redirectUris ?? []),
  [UNREGISTERED_AFTER_SIGN_OUT]: ({ client, params: { post_logout_redirect_uri: sent } }) =>
    client &&
    explainRedirect(String(sent), client.postLogoutRedirectUris ?? [], 'post_logout_redirect_uri'),
  'the provided authentication mechanism does not match the registered client authentication method':
    ({ client }) =>
      client &&
      `the client is registered for the authentication method ${client.clientAuthMethod}, but used another; use the registered one, or change the registration`,
  // The store does not return expired codes, so the engine reports them as not found.
  'authorization code not found':
    'the code is unknown: it has expired, is truncated, or comes from another service; start the authorization again',
})

/** Returns the reason to show to operators of the application. Replaces the engine's vague reasons. */
export function reasonForOperator(said: string, request: RefusedRequest): string {
  return toOperator(said, request) ?? said
}

/** Creates the lookup of replacements for the engine's descriptions. It returns undefined if there is none. */
function sentences(table: Readonly<Record<string, Sentence>>) {
  const byDescription = new Map(Object.entries(table))
  return (said: string, request: RefusedRequest) => {
    const sentence = byDescription.get(said)
    return typeof sentence === 'function' ? sentence(request) : sentence
  }
}

/**
 * Explains `invalid_grant`. One text for each grant type covers most reasons, so the text does not reveal whether a
 * code is valid. A missing verifier has a separate text, which reveals nothing about the code.
 */
function explainInvalidGrant({ params }: RefusedRequest): string {
  if (params['grant_type'] === 'refresh_token') {
    return `the grant request is invalid: the refresh token was used or revoked, has expired or belongs to another client; ${UNDER_REFUSALS}. Start the authorization again, and after each refresh replace the stored refresh token with the new one`
  }
  return params['code_verifier'] === undefined
    ? 'the grant request is invalid: code_verifier is missing. Start the authorization again and send the code_verifier that matches its code_challenge'
    : `the grant request is invalid: the code was used, has expired or belongs to another client, or redirect_uri or code_verifier does not match the authorization request; ${UNDER_REFUSALS}. Start the authorization again, store the code_verifier of each request with its state, and send it with the same redirect_uri`
}

/** Explains why the requested scopes are wrong for every client. Returns undefined if they are not. */
export function explainUnknownScopes({ client, params, baseUrl }: RefusedRequest) {
  return client && problemOfScopes(scopeOf(params), describedClient(client), baseUrl)
}

function scopeOf(params: RefusedRequest['params']): string {
  return String(params['scope'] ?? '')
}

function describedClient(client: EngineClient) {
  return { ...factsOfClient(client), open: client.scope?.split(' ') ?? [] }
}
