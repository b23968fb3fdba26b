import type { Context, Middleware } from 'koa'
import type { KoaContextWithOIDC } from 'oidc-provider'

import { faultBody, RETRY_AFTER_SECONDS } from '../../platform/http/error-handler.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { formTarget } from '../../platform/http/security-headers.ts'
import type { Exchange } from '../token/authorization-code.ts'
import { curedSentence } from './engine-cures.ts'
import { explainRefusedScopes, problemOfScopes } from './scope-refusal.ts'

/**
 * What changes in the engine's answers on their way out: where the specification or a design decision
 * wants something that no setting of the engine gives.
 */
export function engineAnswers(firstTokens: Exchange['firstTokens']): Middleware {
  return async (ctx, next) => {
    await next()
    const { oidc } = ctx as Context & { oidc?: KoaContextWithOIDC['oidc'] }
    if (!oidc) return
    if (oidc.route === 'revocation') settleRevocation(ctx)
    // The engine's own values are known to nobody (oauth/token/authorization-code.ts).
    if (ctx.status === 200 && oidc.route === 'token') {
      Object.assign(ctx.body ?? {}, firstTokens(ctx))
    }
    sayTheCure(ctx, oidc)
    settleFailure(ctx)
    admitFormTarget(ctx, oidc)
  }
}

/**
 * The engine answers a revocation with an empty text, which libraries fail to read as JSON, and 400
 * where a token looks like a JWT. Our tokens are opaque, so that such a one is unknown here, and revoked
 * already (RFC 7009 §2.2; design 14).
 */
function settleRevocation(ctx: Context): void {
  if (ctx.status !== 200 && errorOf(ctx.body) !== 'unsupported_token_type') return
  ctx.status = 200
  // What the body is follows from the new one.
  ctx.remove('Content-Type')
  ctx.body = {}
}

/** Where a description stands in an answer that goes back through the browser. */
const inAddress = /([?&#]error_description=)([^&#]*)/g
const inForm = /(name="error_description" value=")([^"]*)(?=")/

/**
 * The engine says in few words what is wrong. Who reads them connects an assistant or writes a client,
 * and needs to know what to do (specification, Errors 3; RFC 6749 §4.1.2.1).
 */
function sayTheCure(ctx: Context, { route, client, params, provider }: Oidc): void {
  const asker = /^(pushed_)?authorization/.test(route) ? client : undefined
  const scope = String(params?.['scope'] ?? '')
  const facts = {
    grantType: params?.['grant_type'],
    hasVerifier: params?.['code_verifier'] !== undefined,
    explainScopes: asker && (() => explainRefusedScopes(asker, scope, provider.issuer)),
    problemOfScopes: asker && (() => problemOfScopes(scope, asker, provider.issuer)),
  }
  const cure = (sentence: string) => {
    const cured = curedSentence(sentence, facts)
    // The operator of the application reads at least what the application was told.
    if (cured !== undefined && logFields(ctx).detail === sentence) logFields(ctx).detail = cured
    return cured
  }
  cureAddress(ctx, cure)
  cureBody(ctx, cure)
}

type Cure = (sentence: string) => string | undefined

function cureAddress(ctx: Context, cure: Cure): void {
  const location = ctx.response.get('Location')
  if (!location) return
  const cured = location.replace(inAddress, (said, before, words) => {
    const sentence = cure(new URLSearchParams(`said=${words}`).get('said') ?? '')
    if (sentence === undefined) return said
    return `${before}${new URLSearchParams({ '': sentence }).toString().slice(1)}`
  })
  if (cured !== location) ctx.set('Location', cured)
}

function cureBody(ctx: Context, cure: Cure): void {
  const { body } = ctx
  if (typeof body === 'string') {
    const cured = body.replace(inForm, (said, before, words) => {
      const sentence = cure(words)
      // None of its characters means anything in markup.
      return sentence === undefined ? said : `${before}${sentence}`
    })
    if (cured === body) return
    ctx.body = cured
    ctx.type = 'html'
    return
  }
  if (!errorOf(body)) return
  const { error_description: said = '' } = body as { error_description?: string }
  const sentence = cure(said)
  if (sentence === undefined) return
  const challenge = ctx.response.get('WWW-Authenticate')
  if (challenge) ctx.set('WWW-Authenticate', challenge.replace(said, sentence))
  Object.assign(body as object, { error_description: sentence })
}

type Oidc = KoaContextWithOIDC['oidc']

function settleFailure(ctx: Context): void {
  const error = errorOf(ctx.body)
  if (error) {
    logFields(ctx).error = error
    // The engine says so at the token endpoint only (RFC 6749 §5.2).
    ctx.set('Cache-Control', 'no-store')
  }
  if (error === 'server_error') ctx.body = faultBody(ctx)
  if (ctx.status !== 503) return
  ctx.set('Retry-After', RETRY_AFTER_SECONDS)
  // A client must not take a fault of ours for a verdict on its token (specification, Errors 7).
  ctx.remove('WWW-Authenticate')
}

function errorOf(body: unknown): string | undefined {
  return typeof body === 'object' && body && 'error' in body ? String(body.error) : undefined
}

/**
 * The engine's self-submitting page (response_mode=form_post) posts to the client's address, and the
 * form on the sign-out page is redirected there, both of which the policy of our own pages forbids.
 * The hash of a script, which the engine added, is kept.
 */
function admitFormTarget(ctx: Context, oidc: KoaContextWithOIDC['oidc']): void {
  const address = ctx.type === 'text/html' ? checkedAddress(ctx, oidc) : undefined
  if (typeof address !== 'string') return
  const policy = ctx.response.get('Content-Security-Policy')
  ctx.set(
    'Content-Security-Policy',
    policy
      .replace("form-action 'self'", `form-action 'self' ${formTarget(address)}`)
      // Beside a hash the word is an error, which a browser complains of.
      .replace("script-src 'none' 'sha256", "script-src 'sha256"),
  )
}

/** Where the page leads to, once the engine has found that the client registered it. */
function checkedAddress(ctx: Context, oidc: KoaContextWithOIDC['oidc']): unknown {
  if (oidc.route === 'end_session') {
    // The engine has removed an address that belongs to no client.
    return ctx.status === 200 ? oidc.params?.['post_logout_redirect_uri'] : undefined
  }
  const returns = oidc.route === 'authorization' || oidc.route === 'resume'
  if (!returns) return undefined
  if (oidc.redirectUriCheckPerformed) return oidc.params?.['redirect_uri']
  // An error that was raised before that check goes to the address all the same, if it is the client's.
  const { redirect_uri: address } = oidc.params ?? ctx.query
  return typeof address === 'string' && oidc.client?.redirectUriAllowed(address)
    ? address
    : undefined
}
