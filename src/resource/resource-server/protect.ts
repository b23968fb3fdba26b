import type { Context } from 'koa'

import { MFA_ACR } from '../../directory/people/authentication.ts'
import type { ProvenRequest } from '../../oauth/clients/proofs.ts'
import type { ScopeAdvice, WantedScopes } from '../../oauth/clients/scope-advice.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'
import { sendJsonError } from '../../platform/http/error-handler.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { type BindingFault, type DpopChallenge, dpopAlgorithms } from './binding.ts'
import { TOKEN_REQUIRED, type Verdict, type VerifyBearer } from './verify-bearer.ts'

/** Challenge parameters of a protected endpoint. */
export interface Protection {
  readonly resourceMetadataUrl: string
  /** The scopes that a caller without a valid token should request. */
  readonly scopes: readonly string[]
  readonly adviseOnScopes: AdviseOnScopes
}

/** Finds the scopes that a client can get, or suggests another remedy. Queries the store. */
export type AdviseOnScopes = (clientId: string, wanted: WantedScopes) => Promise<ScopeAdvice>

/** A verdict that rejects the request. `anonymous` rejects it only if the operation requires a token. */
export type Refused = Exclude<Verdict, { kind: 'granted' }>

/**
 * Verifies the token in the Authorization header, sets DPoP-Nonce, and logs the client and the person. Ignores tokens
 * in the query or body (RFC 6750 §2).
 */
export async function verdictOf(ctx: Context, verifyBearer: VerifyBearer): Promise<Verdict> {
  // `headers.authorization` shows only the first of several headers.
  const verdict = await verifyBearer({
    authorization: ctx.req.headersDistinct['authorization'] ?? [],
    ...provenRequest(ctx),
  })
  if ('nextNonce' in verdict) setNonce(ctx, verdict.nextNonce)
  if (verdict.kind === 'granted') logToken(ctx, verdict.token)
  return verdict
}

/** Logs the client and the person of a token. */
export function logToken(ctx: Context, { clientId: client, personId: person }: AccessToken): void {
  Object.assign(logFields(ctx), { client, person })
}

/** Returns the DPoP proofs, method and URL of a request. The host is that of BASE_URL (request-target.ts). */
export function provenRequest(ctx: Context): Omit<ProvenRequest, 'accessToken'> {
  const { method, protocol, host, originalUrl, req } = ctx
  return {
    proofs: req.headersDistinct['dpop'] ?? [],
    method,
    address: `${protocol}://${host}${originalUrl}`,
  }
}

/** Sends the nonce for the next proof, if there is one (RFC 9449 §8.2). */
export function setNonce(ctx: Context, nonce: string | undefined): void {
  if (nonce !== undefined) ctx.set('DPoP-Nonce', nonce)
}

/**
 * Rejects a request with 401 or 403 and a challenge. During an outage, the response is 503 without a challenge, because
 * the token may be valid (specification, Errors 4 to 7). An endpoint with anonymous access passes `anonymous` only for
 * operations that need a token. For a known token, the challenge names obtainable scopes or a remedy (design 23).
 *
 * @throws storageUnavailable if the client of the token cannot be read
 */
export async function refuse(
  ctx: Context,
  verdict: Refused,
  protection: Protection,
): Promise<void> {
  if (verdict.kind === 'unavailable') return answerUnavailable(ctx, verdict.cause)
  const challenge = await challengeFor(verdict, protection)
  if (verdict.kind === 'invalid') {
    // Log the client, so its operator sees the reason under Refusals.
    const { reason: detail, token } = verdict
    Object.assign(logFields(ctx), { detail, ...(token && { client: token.clientId }) })
  }
  const { error, description: error_description } = challenge
  ctx.set('WWW-Authenticate', challengeHeader(challenge))
  sendJsonError(ctx, verdict.kind === 'insufficient' ? 403 : 401, { error, error_description })
}

type Demand = Challenge & Required<Pick<Challenge, 'error' | 'description'>>

async function challengeFor(
  verdict: Exclude<Refused, { kind: 'unavailable' }>,
  protection: Protection,
): Promise<Demand> {
  const { resourceMetadataUrl, scopes } = protection
  if (verdict.kind === 'insufficient') return await demandMore(verdict, protection)
  if (verdict.kind === 'step-up') return demandStepUp(verdict, protection)
  const { dpop } = verdict
  const rejected = verdict.kind === 'invalid' ? verdict : undefined
  const advice = rejected ? await adviceAfter(rejected, protection) : { scopes }
  const description = sentence(rejected?.description ?? TOKEN_REQUIRED, advice)
  const error = rejected?.error ?? 'invalid_token'
  return { resourceMetadataUrl, scopes: advice.scopes, error, description, ...(dpop && { dpop }) }
}

async function demandMore(
  { token, needed, oneIsEnough }: Extract<Verdict, { kind: 'insufficient' }>,
  { resourceMetadataUrl, adviseOnScopes }: Protection,
): Promise<Demand> {
  const advice = await adviseOnScopes(token.clientId, { needed, held: token.scopes, oneIsEnough })
  const noun = needed.length > 1 ? 'scopes' : 'scope'
  const which = oneIsEnough && needed.length > 1 ? 'one of the scopes' : `the ${noun}`
  const description = sentence(`this request needs ${which} ${needed.join(' ')}`, advice)
  const { scopes } = advice
  const dpop = token.jkt !== undefined && ({ dpop: 'demanded' } as const)
  return { resourceMetadataUrl, scopes, error: 'insufficient_scope', description, ...dpop }
}

/** Returns the challenge for a new sign-in with two factors and the same scopes (RFC 9470 §3). */
function demandStepUp(
  { token, demand: { maxAgeSeconds } }: Extract<Verdict, { kind: 'step-up' }>,
  { resourceMetadataUrl }: Protection,
): Demand {
  const age = maxAgeSeconds === undefined ? '' : ` and max_age=${maxAgeSeconds}`
  return {
    ...{ resourceMetadataUrl, scopes: token.scopes, acrValues: MFA_ACR, maxAgeSeconds },
    error: 'insufficient_user_authentication',
    description: `the site requires two-factor sign-in for this request; authorize again with acr_values=${MFA_ACR}${age}`,
    ...(token.jkt !== undefined && { dpop: 'demanded' }),
  }
}

/** Finds the scopes that the client of a rejected token should request next. */
async function adviceAfter(
  { token }: Extract<Verdict, { kind: 'invalid' }>,
  { scopes, adviseOnScopes }: Pick<Protection, 'scopes' | 'adviseOnScopes'>,
): Promise<ScopeAdvice> {
  if (!token || scopes.length === 0) return { scopes }
  const { clientId, scopes: held } = token
  return await adviseOnScopes(clientId, { needed: scopes, held, oneIsEnough: true })
}

function sentence(description: string, { remedy }: ScopeAdvice): string {
  return remedy === undefined ? description : `${description}; ${remedy}`
}

function answerUnavailable(ctx: Context, cause: unknown): void {
  // Log the store's own error as the cause.
  const root = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause
  logFields(ctx).cause = String(root)
  const error_description = 'the token cannot be checked at the moment; try again later'
  sendJsonError(ctx, 503, { error: 'temporarily_unavailable', error_description })
}

/** The parameters of a challenge (RFC 6750 §3). */
export interface Challenge {
  readonly realm?: string
  /** The error code. UserInfo omits it if the request has no token (RFC 6750 §3.1). */
  readonly error?:
    | ('invalid_request' | 'invalid_token' | 'insufficient_scope')
    | 'insufficient_user_authentication'
    | BindingFault['error']
  readonly description?: string
  readonly scopes?: readonly string[]
  /** The authentication to request (RFC 9470 §3). */
  readonly acrValues?: string
  readonly maxAgeSeconds?: number | undefined
  readonly resourceMetadataUrl: string
  readonly dpop?: DpopChallenge | undefined
}

/** Formats the value of `WWW-Authenticate`. @throws if a value has a character that RFC 6750 §3 forbids */
export function challengeHeader(challenge: Challenge): string {
  const { realm, error, description, scopes = [], resourceMetadataUrl, dpop } = challenge
  const { acrValues, maxAgeSeconds } = challenge
  const attributes = Object.entries({
    realm,
    error,
    error_description: description,
    scope: scopes.length > 0 ? scopes.join(' ') : undefined,
    acr_values: acrValues,
    max_age: maxAgeSeconds?.toString(),
    resource_metadata: resourceMetadataUrl,
    algs: dpop === 'demanded' ? dpopAlgorithms : undefined,
  })
  const present = attributes.filter(([, value]) => value !== undefined)
  const text = present.map(([name, value]) => `${name}="${quotable(value)}"`).join(', ')
  if (dpop === 'demanded') return `DPoP ${text}`
  return dpop === 'offered' ? `Bearer ${text}, DPoP algs="${dpopAlgorithms}"` : `Bearer ${text}`
}

function quotable(value = ''): string {
  if (!/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/.test(value)) {
    throw new Error('a challenge contains a character that RFC 6750 does not allow')
  }
  return value
}
