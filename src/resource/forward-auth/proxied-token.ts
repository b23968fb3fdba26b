import type { Context } from 'koa'

import type { AuthenticatingClient } from '../../oauth/clients/authenticate-client.ts'
import { canBeClientId } from '../../oauth/clients/client.ts'
import type { GoodToken, JudgeToken, WorthlessToken } from '../resource-server/judge-token.ts'
import type { Refused } from '../resource-server/protect.ts'
import { isToldOf } from '../resource-server/told-of.ts'
import { ownAccessToken, readBearer, TOKEN_REFUSED, verdictOn } from '../resource-server/verdict.ts'
import type { ProxyCredentials } from './authenticate-proxy.ts'

/** What became of the request's token, whoever asks: judged, or nothing that could be. */
export type Judged =
  | GoodToken
  | WorthlessToken
  | Extract<Refused, { kind: 'anonymous' | 'invalid' }>

/**
 * The token is judged before the secret of the proxy is compared, because the one query of it says
 * whether what is known of the proxy is still true; nothing of it is told to somebody else.
 */
export async function judgeRequest(
  ctx: Context,
  { clientId: callerId }: ProxyCredentials,
  { judgeToken }: { readonly judgeToken: JudgeToken },
): Promise<Judged> {
  const bearer = readBearer(ctx.req.headersDistinct['authorization'] ?? [])
  if ('kind' in bearer) return bearer
  return await judgeToken(bearer.value, {
    ...ownAccessToken,
    ...(canBeClientId(callerId) && { callerId }),
  })
}

/** The token as far as this proxy is told of it. */
export function tokenFor(proxy: AuthenticatingClient, judged: Judged): GoodToken | Refused {
  if (judged.kind === 'worthless') return verdictOn(judged)
  if (judged.kind !== 'good') return judged
  // The proof is about the address that the caller asked, which nobody but the proxy knows (RFC 9449 §4.2).
  if (judged.record['jkt'] !== undefined) {
    return invalid('the token is bound to a key, which cannot be shown through a proxy')
  }
  if (isToldOf(proxy, judged)) return judged
  return invalid('the token is for another site than the resource server')
}

/** @param reason for the log */
export function invalid(reason: string): Refused {
  return { kind: 'invalid', reason, description: TOKEN_REFUSED }
}
