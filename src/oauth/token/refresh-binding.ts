import type { KoaContextWithOIDC } from 'oidc-provider'

import { dpopNonceRequired, invalidDpopProof, invalidGrant } from '../../platform/http/errors.ts'
import { paths } from '../../platform/http/paths.ts'
import { callerOf, logFields } from '../../platform/http/request-log.ts'
import type { CheckDpop } from '../clients/proofs.ts'
import type { Grants } from '../grants/grants.ts'
import type { TokenRequests } from './authorization-code.ts'
import { judgeGeneration } from './refresh-token-use.ts'
import type { RefreshToken } from './tokens.ts'

/** The facts that decide which key the tokens from a refresh are bound to. */
interface RefreshBinding {
  /** The thumbprint of the key that the family is bound to, if any. */
  readonly bound: string | undefined
  /** The thumbprint of the key in the request's proof; undefined if there is no proof. */
  readonly proven: string | undefined
  /** Whether the client is public. If so, its refresh tokens are bound to the key too (RFC 9449 §5). */
  readonly isPublic: boolean
  /** Whether the client is registered for bound tokens only (RFC 9449 §5.2). */
  readonly demanded: boolean
}

export type BindingChoice =
  | { readonly kind: 'keep' }
  | { readonly kind: 'bind'; readonly jkt: string }
  | { readonly kind: 'refuse'; readonly reason: string }

/** Decides whether a refresh keeps or changes the binding, or is rejected. */
function chooseBinding({ bound, proven, isPublic, demanded }: RefreshBinding): BindingChoice {
  if (proven === undefined) {
    if (bound === undefined && !demanded) return { kind: 'keep' }
    return { kind: 'refuse', reason: 'tokens must be bound to a key, but a DPoP proof is missing' }
  }
  if (bound === proven) return { kind: 'keep' }
  if (bound === undefined || !isPublic) return { kind: 'bind', jkt: proven }
  return { kind: 'refuse', reason: 'the refresh token is bound to another key' }
}

/**
 * Returns the thumbprint of the key in the request's proof (RFC 9449 §5); undefined without a proof, or if DPoP is off.
 *
 * @throws invalidDpopProof or dpopNonceRequired
 */
export async function provenKey(
  ctx: KoaContextWithOIDC,
  checkDpop: CheckDpop | undefined,
): Promise<string | undefined> {
  if (!checkDpop) return undefined
  const { method, req, oidc } = ctx
  const proof = await checkDpop({
    proofs: req.headersDistinct['dpop'] ?? [],
    method,
    address: oidc.issuer + paths.token,
  })
  if (proof.kind === 'none') return undefined
  if (proof.kind === 'bad') throw invalidDpopProof(proof.reason)
  if (proof.nextNonce !== undefined) ctx.set('DPoP-Nonce', proof.nextNonce)
  if (proof.kind === 'stale') throw dpopNonceRequired()
  return proof.thumbprint
}

/**
 * Returns the key to bind the family to; undefined if the binding does not change. Rejects a missing proof if one is
 * required, and a public client that changes the key. If the rejected token was already replaced, it was probably
 * stolen, so the grant ends (RFC 9700 §4.14.2). A retry for an unbound family does not end the grant.
 *
 * @throws invalidGrant
 */
export async function newBinding(
  ctx: KoaContextWithOIDC,
  token: RefreshToken,
  proven: string | undefined,
  { grants, lifetimes, platform: { now } }: TokenRequests,
): Promise<string | undefined> {
  const { client } = ctx.oidc
  const bound = token.family.token.jkt
  const choice = chooseBinding({
    bound,
    proven,
    isPublic: client?.clientAuthMethod === 'none',
    demanded: client?.['dpopBoundAccessTokens'] === true,
  })
  if (choice.kind === 'bind') return choice.jkt
  if (choice.kind === 'keep') return undefined
  const use = judgeGeneration(token, { lifetimes, nowMs: now() })
  const comesBack = use.kind === 'reused' || (use.kind === 'retry' && bound !== undefined)
  throw comesBack ? await endReused(ctx, token.grant.id, grants) : invalidGrant(choice.reason)
}

/**
 * Binds the family to a key. If a concurrent request has bound it to another key, throws invalidGrant, and ends the
 * grant of a public client.
 */
export async function bindFamily(
  ctx: KoaContextWithOIDC,
  { value, family, grant }: RefreshToken & { readonly value: string },
  bindTo: string,
  { tokens, grants }: TokenRequests,
): Promise<void> {
  // `bind` returns false if the binding has changed since the family was read.
  if (await grants.families.bind(family, bindTo)) return
  const jkt = (await tokens.findRefreshToken(value))?.family.token.jkt
  if (jkt === bindTo) return
  if (ctx.oidc.client?.clientAuthMethod === 'none') throw await endReused(ctx, grant.id, grants)
  throw invalidGrant('a concurrent request bound the refresh token to another key')
}

/** Ends the grant of a replayed token, which was probably stolen (RFC 9700 §4.14.2). @returns the error to throw */
export async function endReused(
  ctx: KoaContextWithOIDC,
  grantId: string,
  grants: Grants,
): Promise<Error> {
  logFields(ctx).outcome = 'reused'
  await grants.store.end(grantId, 'a replaced refresh token was used again', callerOf(ctx))
  return invalidGrant('the refresh token was used before, so the grant was ended')
}
