import type { KoaContextWithOIDC } from 'oidc-provider'

import { dpopNonceWanted, invalidDpopProof, invalidGrant } from '../http/errors.ts'
import { paths } from '../http/paths.ts'
import type { CheckDpop } from '../proofs/dpop-proof.ts'

export interface BindingPorts {
  /** Left out where no token is bound to a key. */
  readonly checkDpop?: CheckDpop | undefined
}

/** What decides to which key the tokens of a refresh are bound. */
export interface RefreshBinding {
  /** The key that the family is bound to. */
  readonly bound: string | undefined
  /** The key that the request proves to have. */
  readonly proven: string | undefined
  /** A public client has nothing else that shows who holds its refresh token (RFC 9449 §5). */
  readonly isPublic: boolean
  /** Whether the client said that its tokens are always bound (RFC 9449 §5.2). */
  readonly demanded: boolean
}

export type BindingChoice =
  /** As it was: bound to no key, or to the one that was proven. */
  | { readonly kind: 'keep' }
  | { readonly kind: 'bind'; readonly jkt: string }
  | { readonly kind: 'refuse'; readonly reason: string }

/** Chooses. Pure, so that every case stands in one table of its test. */
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
 * @throws invalidDpopProof or dpopNonceWanted
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
  if (proof.kind === 'stale') throw dpopNonceWanted()
  return proof.thumbprint
}

/** @returns the key to bind to, where that changes */
export function newBinding(
  { oidc: { client } }: KoaContextWithOIDC,
  keys: Pick<RefreshBinding, 'bound' | 'proven'>,
): string | undefined {
  const choice = chooseBinding({
    ...keys,
    isPublic: client?.clientAuthMethod === 'none',
    demanded: client?.['dpopBoundAccessTokens'] === true,
  })
  if (choice.kind === 'refuse') throw invalidGrant(choice.reason)
  return choice.kind === 'bind' ? choice.jkt : undefined
}
