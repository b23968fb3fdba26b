import type { Context } from 'koa'

import { RETRY_AFTER_SECONDS } from '../http/error-handler.ts'
import { logFields } from '../http/request-log.ts'
import { type Challenge, challengeHeader } from './challenge.ts'
import { TOKEN_REQUIRED, type Verdict, type VerifyBearer } from './verdict.ts'

/** How a surface speaks of itself in its challenges. */
export interface Protection {
  readonly resourceMetadataUrl: string
  /** What a caller without a good token should ask for. */
  readonly scopes: readonly string[]
}

/** A verdict that the request cannot go on with, at a surface without an anonymous mode. */
export type Refused = Exclude<Verdict, { kind: 'granted' }>

/**
 * Judges the request's Authorization header and says so in its log line. A token in the query or in
 * the body is no token (RFC 6750 §2; it would end in logs): nothing reads it from there.
 */
export async function verdictOf(ctx: Context, verifyBearer: VerifyBearer): Promise<Verdict> {
  // `headers.authorization` would show the first of several, and hide that there are more.
  const verdict = await verifyBearer(ctx.req.headersDistinct['authorization'] ?? [])
  if (verdict.kind === 'granted') {
    Object.assign(logFields(ctx), {
      client: verdict.token.clientId,
      person: verdict.token.personId,
    })
  }
  return verdict
}

/**
 * Answers a request that cannot go on: 401 or 403 with a challenge, or 503 without one, which a
 * client must not take for a verdict on its token (specification, Errors 4 to 7). A surface with an
 * anonymous mode passes `anonymous` here only for what needs a token.
 */
export function refuse(ctx: Context, verdict: Refused, protection: Protection): void {
  ctx.set('Cache-Control', 'no-store')
  if (verdict.kind === 'unavailable') {
    askForAnotherTry(ctx, verdict.cause)
    return
  }
  const challenge = challengeFor(verdict, protection)
  Object.assign(logFields(ctx), {
    error: challenge.error,
    detail: verdict.kind === 'invalid' ? verdict.reason : challenge.description,
    // The operator of the application sees its refusals with these reasons.
    ...(verdict.kind === 'invalid' && verdict.clientId && { client: verdict.clientId }),
  })
  ctx.status = verdict.kind === 'insufficient' ? 403 : 401
  ctx.set('WWW-Authenticate', challengeHeader(challenge))
  ctx.body = { error: challenge.error, error_description: challenge.description }
}

function challengeFor(
  verdict: Exclude<Refused, { kind: 'unavailable' }>,
  protection: Protection,
): Challenge & Required<Pick<Challenge, 'error' | 'description'>> {
  if (verdict.kind === 'insufficient') {
    const { needed } = verdict
    const description = `this needs the scope ${needed.join(' ')}`
    return { ...protection, error: 'insufficient_scope', description, scopes: needed }
  }
  const description = verdict.kind === 'anonymous' ? TOKEN_REQUIRED : verdict.description
  return { ...protection, error: 'invalid_token', description }
}

function askForAnotherTry(ctx: Context, cause: unknown): void {
  const error = 'temporarily_unavailable'
  Object.assign(logFields(ctx), { error, cause: String(rootOf(cause)) })
  ctx.status = 503
  ctx.set('Retry-After', RETRY_AFTER_SECONDS)
  ctx.body = { error, error_description: 'the token cannot be checked at the moment, try again' }
}

/** A store's own error lies under the refusal that was made of it. */
function rootOf(cause: unknown): unknown {
  return cause instanceof Error && cause.cause !== undefined ? cause.cause : cause
}
