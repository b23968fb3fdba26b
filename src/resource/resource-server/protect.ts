import type { Context } from 'koa'

import type { ScopeAdvice, WantedScopes } from '../../oauth/clients/scope-advice.ts'
import type { ProvenRequest } from '../../oauth/keys/proofs.ts'
import { RETRY_AFTER_SECONDS } from '../../platform/http/error-handler.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { type BindingFault, type DpopChallenge, dpopAlgorithms } from './binding.ts'
import { TOKEN_REQUIRED, type Verdict, type VerifyBearer } from './verify-bearer.ts'

/** The challenge parameters of a surface. */
export interface Protection {
  readonly resourceMetadataUrl: string
  /** The scopes that a caller without a valid token should request. */
  readonly scopes: readonly string[]
  /** Advises which scopes a client can get, or what to do instead. */
  readonly adviseOnScopes: AdviseOnScopes
}

/** Advises the client of a token; queries the store. */
export type AdviseOnScopes = (clientId: string, wanted: WantedScopes) => Promise<ScopeAdvice>

/** A verdict that ends the request at a surface without an anonymous mode. */
export type Refused = Exclude<Verdict, { kind: 'granted' }>

/**
 * Judges the request's Authorization header and logs client and person. Tokens in the query or body are ignored,
 * because they would end up in logs (RFC 6750 §2).
 */
export async function verdictOf(ctx: Context, verifyBearer: VerifyBearer): Promise<Verdict> {
  // `headers.authorization` would show the first of several, and hide that there are more.
  const verdict = await verifyBearer({
    authorization: ctx.req.headersDistinct['authorization'] ?? [],
    ...provenRequest(ctx),
  })
  if ('nextNonce' in verdict) tellNonce(ctx, verdict.nextNonce)
  if (verdict.kind === 'granted') {
    Object.assign(logFields(ctx), {
      client: verdict.token.clientId,
      person: verdict.token.personId,
    })
  }
  return verdict
}

/** What a proof of a key must be for. The address of the service is pinned (platform/http/request-target.ts). */
export function provenRequest(ctx: Context): Omit<ProvenRequest, 'accessToken'> {
  const { method, protocol, host, originalUrl, req } = ctx
  return {
    proofs: req.headersDistinct['dpop'] ?? [],
    method,
    address: `${protocol}://${host}${originalUrl}`,
  }
}

/** The next proof should carry it (RFC 9449 §8.2). */
export function tellNonce(ctx: Context, nonce: string | undefined): void {
  if (nonce !== undefined) ctx.set('DPoP-Nonce', nonce)
}

/**
 * Answers a request that cannot go on: 401 or 403 with a challenge, or 503 without one, which a
 * client must not take for a verdict on its token (specification, Errors 4 to 7). A surface with an
 * anonymous mode passes `anonymous` here only for what needs a token.
 *
 * A challenge names scopes that this client can get, and where it can get none it says what to do
 * (design 23).
 *
 * @throws storageUnavailable when the client of the token cannot be read
 */
export async function refuse(
  ctx: Context,
  verdict: Refused,
  protection: Protection,
): Promise<void> {
  ctx.set('Cache-Control', 'no-store')
  if (verdict.kind === 'unavailable') {
    askForAnotherTry(ctx, verdict.cause)
    return
  }
  const challenge = await challengeFor(verdict, protection)
  Object.assign(logFields(ctx), {
    error: challenge.error,
    detail: verdict.kind === 'invalid' ? verdict.reason : challenge.description,
    // The operator of the application sees its refusals with these reasons.
    ...(verdict.kind === 'invalid' && verdict.token && { client: verdict.token.clientId }),
  })
  ctx.status = verdict.kind === 'insufficient' ? 403 : 401
  ctx.set('WWW-Authenticate', challengeHeader(challenge))
  ctx.body = { error: challenge.error, error_description: challenge.description }
}

type Demand = Challenge & Required<Pick<Challenge, 'error' | 'description'>>

async function challengeFor(
  verdict: Exclude<Refused, { kind: 'unavailable' }>,
  protection: Protection,
): Promise<Demand> {
  const { resourceMetadataUrl, scopes } = protection
  if (verdict.kind === 'insufficient') return await demandMore(verdict, protection)
  const advice = verdict.kind === 'invalid' ? await adviceAfter(verdict, protection) : { scopes }
  const said = verdict.kind === 'invalid' ? verdict.description : TOKEN_REQUIRED
  const description = sentence(said, advice)
  const { dpop } = verdict
  const error = verdict.kind === 'invalid' ? (verdict.error ?? 'invalid_token') : 'invalid_token'
  return { resourceMetadataUrl, scopes: advice.scopes, error, description, ...(dpop && { dpop }) }
}

async function demandMore(
  { token, needed, oneIsEnough }: Extract<Verdict, { kind: 'insufficient' }>,
  { resourceMetadataUrl, adviseOnScopes }: Protection,
): Promise<Demand> {
  const advice = await adviseOnScopes(token.clientId, { needed, held: token.scopes, oneIsEnough })
  const which = oneIsEnough && needed.length > 1 ? 'one of the scopes' : 'the scope'
  const description = sentence(`this needs ${which} ${needed.join(' ')}`, advice)
  const { scopes } = advice
  const dpop = token.jkt !== undefined && ({ dpop: 'demanded' } as const)
  return { resourceMetadataUrl, scopes, error: 'insufficient_scope', description, ...dpop }
}

/** A token that was good once is replaced by one that opens the same. */
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

/** What a protected resource demands, in the words of RFC 6750 §3. */
export interface Challenge {
  /** Who protects the resource, where that is said. */
  readonly realm?: string
  /** Left out when no token came with the request (RFC 6750 §3.1). */
  readonly error?:
    | ('invalid_request' | 'invalid_token' | 'insufficient_scope')
    | BindingFault['error']
  readonly description?: string
  /** Every scope that the operation needs; left out where the caller is not told one. */
  readonly scopes?: readonly string[]
  /** Address of the protected-resource metadata (RFC 9728 §5.1). */
  readonly resourceMetadataUrl: string
  /** Whether a token that is bound to a key is taken beside a bearer token, or nothing else. */
  readonly dpop?: DpopChallenge | undefined
}

/**
 * The value of `WWW-Authenticate`. The values are sentences, scopes and addresses of our own, none
 * of which holds a quotation mark or a backslash; one that did would break the header, and throws.
 */
export function challengeHeader(challenge: Challenge): string {
  const { realm, error, description, scopes = [], resourceMetadataUrl, dpop } = challenge
  const attributes = Object.entries({
    realm,
    error,
    error_description: description,
    scope: scopes.length > 0 ? scopes.join(' ') : undefined,
    resource_metadata: resourceMetadataUrl,
    algs: dpop === 'demanded' ? dpopAlgorithms : undefined,
  })
  const said = attributes.filter(([, value]) => value !== undefined)
  const words = said.map(([name, value]) => `${name}="${quotable(value)}"`).join(', ')
  if (dpop === 'demanded') return `DPoP ${words}`
  return dpop === 'offered' ? `Bearer ${words}, DPoP algs="${dpopAlgorithms}"` : `Bearer ${words}`
}

/** RFC 6750 §3: the characters that the value of `error_description` may have. */
function quotable(value = ''): string {
  if (!/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/.test(value)) {
    throw new Error('a challenge holds a character that RFC 6750 does not allow')
  }
  return value
}
