import type { Context, Middleware } from 'koa'
import type { KoaContextWithOIDC } from 'oidc-provider'

import { faultBody, RETRY_AFTER_SECONDS } from '../../platform/http/error-handler.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { formTarget } from '../../platform/http/security-headers.ts'
import type { Exchange } from '../token/authorization-code.ts'
import { sentenceForClient } from './engine-sentences.ts'

/** Changes the engine's answers where no setting of it gives what the specification or a design decision demands. */
export function engineAnswers(firstTokens: Exchange['firstTokens']): Middleware {
  return async (ctx, next) => {
    await next()
    const { oidc } = ctx as Context & { oidc?: KoaContextWithOIDC['oidc'] }
    if (!oidc) return
    if (oidc.route === 'revocation') settleRevocation(ctx)
    // Replaces the engine's own token values, which no store has (oauth/token/authorization-code.ts).
    if (ctx.status === 200 && oidc.route === 'token') {
      Object.assign(ctx.body ?? {}, firstTokens(ctx))
    }
    replaceSentences(ctx, oidc)
    settleFailure(ctx)
    admitFormTarget(ctx, oidc)
  }
}

/**
 * The engine answers a revocation with an empty text, which libraries fail to read as JSON, and 400
 * where a token looks like a JWT. Such a token is unknown here, and so counts as revoked (RFC 7009 §2.2;
 * design 14).
 */
function settleRevocation(ctx: Context): void {
  if (ctx.status !== 200 && errorOf(ctx.body) !== 'unsupported_token_type') return
  ctx.status = 200
  // Koa sets the type of the new body.
  ctx.remove('Content-Type')
  ctx.body = {}
}

/** Where a description stands in an answer that goes back through the browser. */
const inAddress = /([?&#]error_description=)([^&#]*)/g
const inForm = /(name="error_description" value=")([^"]*)(?=")/

/**
 * Replaces the engine's short sentences. Their readers connect an assistant or write a client, and need to
 * know what to do (specification, Errors 3; RFC 6749 §4.1.2.1).
 */
function replaceSentences(ctx: Context, { route, client, params = {}, provider }: Oidc): void {
  const request = {
    client: /^(pushed_)?authorization/.test(route) ? client : undefined,
    params,
    baseUrl: provider.issuer,
  }
  const replace = (said: string) => {
    const sentence = sentenceForClient(said, request)
    // The operator of the application reads at least what the application was told.
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
  const replaced = location.replace(inAddress, (whole, before, words) => {
    const sentence = replace(new URLSearchParams(`said=${words}`).get('said') ?? '')
    if (sentence === undefined) return whole
    return `${before}${new URLSearchParams({ '': sentence }).toString().slice(1)}`
  })
  if (replaced !== location) ctx.set('Location', replaced)
}

function replaceInBody(ctx: Context, replace: Replace): void {
  const { body } = ctx
  if (typeof body === 'string') {
    // None of the characters of a sentence means anything in markup.
    const replaced = body.replace(
      inForm,
      (_whole, before, said) => before + (replace(said) ?? said),
    )
    if (replaced === body) return
    ctx.body = replaced
    ctx.type = 'html'
    return
  }
  if (!errorOf(body)) return
  const { error_description: said = '' } = body as { error_description?: string }
  const sentence = replace(said)
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
  // A client must not take an outage for a verdict on its token (specification, Errors 7).
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
function admitFormTarget(ctx: Context, oidc: Oidc): void {
  const address = ctx.type === 'text/html' ? checkedAddress(ctx, oidc) : undefined
  if (typeof address !== 'string') return
  const policy = ctx.response.get('Content-Security-Policy')
  ctx.set(
    'Content-Security-Policy',
    policy
      .replace("form-action 'self'", `form-action 'self' ${formTarget(address)}`)
      // Browsers complain of 'none' beside a hash.
      .replace("script-src 'none' 'sha256", "script-src 'sha256"),
  )
}

/** Where the page leads to, once the engine has found that the client registered it. */
function checkedAddress(ctx: Context, oidc: Oidc): unknown {
  const { route, params, client } = oidc
  if (route === 'end_session') {
    // The engine has removed an address that belongs to no client.
    return ctx.status === 200 ? params?.['post_logout_redirect_uri'] : undefined
  }
  if (route !== 'authorization' && route !== 'resume') return undefined
  if (oidc.redirectUriCheckPerformed) return params?.['redirect_uri']
  // An error before that check goes to the address all the same, if it is the client's.
  const { redirect_uri: address } = params ?? ctx.query
  return typeof address === 'string' && client?.redirectUriAllowed(address) ? address : undefined
}
