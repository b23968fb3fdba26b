import type { KoaContextWithOIDC } from 'oidc-provider'

import { dpopNonceRequired, invalidDpopProof, invalidGrant } from '../../platform/http/errors.ts'
import { paths } from '../../platform/http/paths.ts'
import { callerOf, logFields } from '../../platform/http/request-log.ts'
import type { Grants } from '../grants/grants.ts'
import type { CheckDpop } from '../keys/proofs.ts'
import type { TokenRequests } from './authorization-code.ts'
import { judgeGeneration } from './refresh-token-use.ts'
import type { RefreshToken } from './tokens.ts'

/** Decides to which key the tokens of a refresh are bound. */
export interface RefreshBinding {
  /** The key that the family is bound to. */
  readonly bound: string | undefined
  /** The key that the request proves. */
  readonly proven: string | undefined
  /** Only the key shows who holds the refresh token of a public client (RFC 9449 §5). */
  readonly isPublic: boolean
  /** Whether the client registered that its tokens are always bound (RFC 9449 §5.2). */
  readonly demanded: boolean
}

export type BindingChoice =
  /** As it was: bound to no key, or to the one that was proven. */
  | { readonly kind: 'keep' }
  | { readonly kind: 'bind'; readonly jkt: string }
  | { readonly kind: 'refuse'; readonly reason: string }

/** Chooses the binding. Pure, so one table in its test has every case. */
export function chooseBinding({
  bound,
  proven,
  isPublic,
  demanded,
}: RefreshBinding): BindingChoice {
  if (proven === undefined) {
    if (bound === undefined && !demanded) return { kind: 'keep' }
    return { kind: 'refuse', reason: 'its tokens are bound to a key, and no proof of one came' }
  }
  if (bound === proven) return { kind: 'keep' }
  if (bound === undefined || !isPublic) return { kind: 'bind', jkt: proven }
  return { kind: 'refuse', reason: 'the refresh token is bound to another key' }
}

/**
 * The key that a refresh proves to have (RFC 9449 §5).
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
 * The key to bind to, if it changes. A replaced token that comes without the key of its successor has two holders,
 * and one is a thief (RFC 9700 §4.14.2).
 *
 * @throws invalidGrant
 */
export async function newBinding(
  ctx: KoaContextWithOIDC,
  { family, generation, grant }: RefreshToken,
  proven: string | undefined,
  { grants, lifetimes, platform: { now } }: TokenRequests,
): Promise<string | undefined> {
  const { client } = ctx.oidc
  const bound = family.token.jkt
  const choice = chooseBinding({
    bound,
    proven,
    isPublic: client?.clientAuthMethod === 'none',
    demanded: client?.['dpopBoundAccessTokens'] === true,
  })
  if (choice.kind === 'bind') return choice.jkt
  if (choice.kind === 'keep') return undefined
  const use = judgeGeneration(family, generation, { lifetimes, nowMs: now() })
  const comesBack = use.kind === 'reused' || (use.kind === 'retry' && bound !== undefined)
  throw comesBack ? await endReused(ctx, grant.id, grants) : invalidGrant(choice.reason)
}

/** Binds the family. If another request bound it to another key first, one of the two holders is a thief. */
export async function bindFamily(
  ctx: KoaContextWithOIDC,
  { value, family, grant }: RefreshToken & { readonly value: string },
  bindTo: string,
  { tokens, grants }: TokenRequests,
): Promise<void> {
  // Compares with the family as of the choice.
  if (await grants.families.bind(family, bindTo)) return
  const jkt = (await tokens.findRefreshToken(value))?.family.token.jkt
  if (jkt === bindTo) return
  if (ctx.oidc.client?.clientAuthMethod === 'none') throw await endReused(ctx, grant.id, grants)
  throw invalidGrant('a concurrent request bound the refresh token to another key')
}

/** Ends the grant of a replayed token: one of its two holders is a thief (RFC 9700 §4.14.2). */
export async function endReused(
  ctx: KoaContextWithOIDC,
  grantId: string,
  grants: Grants,
): Promise<Error> {
  logFields(ctx).outcome = 'reused'
  await grants.store.end({ id: grantId }, 'a used refresh token came back', callerOf(ctx))
  ctx.oidc.provider.emit('grant.revoked', ctx, grantId)
  return invalidGrant('the refresh token was used before: the grant has been ended')
}
