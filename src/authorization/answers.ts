import type { Context, Middleware } from 'koa'
import type { KoaContextWithOIDC } from 'oidc-provider'

import { faultBody, RETRY_AFTER_SECONDS } from '../http/error-door.ts'
import { logFields } from '../http/request-log.ts'
import { formTarget } from '../http/security-headers.ts'

/**
 * What changes in the engine's answers on their way out: where the specification or a design decision
 * wants something that no setting of the engine gives.
 */
export interface AnswerDependencies {
  /** Address of the protected-resource metadata, for challenges (RFC 9728 §5.1). */
  readonly resourceMetadataUrl: string
}

export function engineAnswers({ resourceMetadataUrl }: AnswerDependencies): Middleware {
  return async (ctx, next) => {
    await next()
    const { oidc } = ctx as Context & { oidc?: KoaContextWithOIDC['oidc'] }
    if (!oidc) return
    settleFailure(ctx)
    if (oidc.route === 'userinfo') pointToMetadata(ctx, resourceMetadataUrl)
    if (oidc.route === 'introspection') demandAuthentication(ctx, oidc)
    if (oidc.route === 'authorization' || oidc.route === 'resume') admitFormTarget(ctx, oidc)
  }
}

function settleFailure(ctx: Context): void {
  const error = errorOf(ctx.body)
  if (error) logFields(ctx).error = error
  if (error === 'server_error') ctx.body = faultBody(ctx)
  if (ctx.status !== 503) return
  ctx.set('Retry-After', RETRY_AFTER_SECONDS)
  // A client must not take a fault of ours for a verdict on its token (specification, Errors 7).
  ctx.remove('WWW-Authenticate')
}

function errorOf(body: unknown): string | undefined {
  return typeof body === 'object' && body && 'error' in body ? String(body.error) : undefined
}

function pointToMetadata(ctx: Context, resourceMetadataUrl: string): void {
  const challenge = ctx.response.get('WWW-Authenticate')
  if (challenge)
    ctx.set('WWW-Authenticate', `${challenge}, resource_metadata="${resourceMetadataUrl}"`)
}

/** RFC 7662 §2.3: without client authentication the answer is 401; the engine says 400. */
function demandAuthentication(ctx: Context, oidc: KoaContextWithOIDC['oidc']): void {
  if (ctx.status !== 400 || oidc.client) return
  ctx.status = 401
  ctx.set('WWW-Authenticate', `Basic realm="${oidc.issuer}"`)
  ctx.body = {
    error: 'invalid_client',
    error_description: 'introspection needs client authentication',
  }
}

/**
 * The engine's self-submitting page (response_mode=form_post) posts to the client's address, which
 * the policy of our own pages forbids. The hash of its script, which the engine added, is kept.
 */
function admitFormTarget(ctx: Context, oidc: KoaContextWithOIDC['oidc']): void {
  const redirectUri = oidc.params?.['redirect_uri']
  if (ctx.type !== 'text/html' || !oidc.redirectUriCheckPerformed) return
  if (typeof redirectUri !== 'string') return
  const policy = ctx.response.get('Content-Security-Policy')
  const target = formTarget(redirectUri)
  ctx.set(
    'Content-Security-Policy',
    policy.replace("form-action 'self'", `form-action 'self' ${target}`),
  )
}
