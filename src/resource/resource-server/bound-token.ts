import type { Context } from 'koa'

import type { CheckDpop } from '../../oauth/proofs/dpop-proof.ts'
import { judgeBinding, type TokenOfCaller } from './binding.ts'
import { provenRequest, tellNonce } from './protect.ts'
import { type UserinfoRefusal, unprovenToken } from './userinfo-refusals.ts'

export interface BoundTokenPorts {
  /** Left out where no token is bound to a key. */
  readonly checkDpop: CheckDpop | undefined
}

/** Why a token is refused that is bound to a key (RFC 9449 §7); nothing when it may be used. */
export async function lackOfProof(
  ctx: Context,
  token: TokenOfCaller,
  { checkDpop }: BoundTokenPorts,
): Promise<UserinfoRefusal | undefined> {
  const { fault, nextNonce } = await judgeBinding(token, provenRequest(ctx), checkDpop)
  tellNonce(ctx, nextNonce)
  if (checkDpop) ctx.append('Access-Control-Expose-Headers', 'DPoP-Nonce')
  return fault && unprovenToken(ctx, fault, token.record.clientId)
}
