import type { Context } from 'koa'

import { sendJsonError } from '../../platform/http/error-handler.ts'
import { logFields } from '../../platform/http/request-log.ts'
import type { BindingFault } from './binding.ts'
import { type Challenge, challengeHeader, type DpopChallenge } from './challenge.ts'

/** How a UserInfo request is refused, in the words that the engine's own endpoint has. */
export interface UserinfoRefusal extends Pick<Challenge, 'error' | 'description' | 'scopes'> {
  readonly status: 400 | 401 | 403
  readonly dpop?: DpopChallenge | undefined
}

/** No token came with the request: the challenge names no fault (RFC 6750 §3.1). */
export const withoutToken: UserinfoRefusal = { status: 401 }

/** @param description is sent in a header: a sentence of ours, without what the caller sent */
export function malformedRequest(description: string): UserinfoRefusal {
  return { status: 400, error: 'invalid_request', description }
}

export function lackingScope(description: string, scopes: readonly string[]): UserinfoRefusal {
  return { status: 403, error: 'insufficient_scope', description, scopes }
}

/** The caller is told one sentence; the log and the operator of the client learn which fault it is. */
export function invalidToken(
  ctx: Context,
  { reason, clientId }: { readonly reason: string; readonly clientId?: string | undefined },
): UserinfoRefusal {
  Object.assign(logFields(ctx), { client: clientId, detail: reason })
  return { status: 401, error: 'invalid_token', description: 'invalid token provided' }
}

/** The token works together with a key only, and did not come so (RFC 9449 §7.1). */
export function unprovenToken(
  ctx: Context,
  { error, description, reason }: BindingFault,
  clientId: string | undefined,
): UserinfoRefusal {
  Object.assign(logFields(ctx), { client: clientId, detail: reason })
  return { status: 401, error, description, dpop: 'demanded' }
}

export function refuseUserinfo(
  ctx: Context,
  { status, ...demand }: UserinfoRefusal,
  protection: Pick<Challenge, 'realm' | 'resourceMetadataUrl' | 'dpop'>,
): void {
  ctx.set('WWW-Authenticate', challengeHeader({ ...protection, ...demand }))
  const { error = 'invalid_token', description = 'no access token provided', scopes } = demand
  sendJsonError(ctx, status, {
    error,
    error_description: description,
    ...(scopes && { scope: scopes.join(' ') }),
  })
}
