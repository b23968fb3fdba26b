import type { KoaContextWithOIDC, Provider } from 'oidc-provider'

import { type EngineClient, factsOf } from '../clients/client-metadata.ts'
import type { Access, AccessQuestion } from '../grants/access.ts'
import { accessQuestion, type TokenOfGrant } from './claims.ts'
import { siteOfGrant } from './site-of-grant.ts'

type Token = InstanceType<Provider['AccessToken']> | InstanceType<Provider['RefreshToken']>

/** Looks up whether the person may still use the client of a token. */
export type TokenJudge = (token: TokenOfGrant) => Promise<Access>

/** Standing at a use of a token. The use is counted, except where the token is of no use any more. */
export function makeJudge(
  findAccess: (question: AccessQuestion) => Promise<Access>,
  countUse: (grantId: string) => void,
): TokenJudge {
  return async (token) => {
    const access = await findAccess(accessQuestion(token))
    if (access.kind === 'good' && token.grantId) countUse(token.grantId)
    return access
  }
}

/**
 * Who may introspect a token (RFC 7662 §2.1; design 13): a registered resource server every token of
 * this origin, a client its own. For a token whose person, role or client is gone the answer is
 * `active: false`, because it works nowhere any more.
 */
export function maySeeToken(judgeToken: TokenJudge) {
  return async (ctx: KoaContextWithOIDC, client: EngineClient, token: unknown) => {
    const seen = token as Token
    if (!(await concerns(ctx, client, seen))) return false
    const access = await judgeToken(seen)
    if (access.kind === 'lost') return false
    if (seen.scopes.has('profile')) {
      // The engine copies `extra` into its answer. What it stored at issue would be out of date.
      const siteId = siteOfGrant(seen.grantId)
      Object.assign(seen, { extra: siteId && { org_id: siteId, roles: [...access.roles] } })
    }
    return true
  }
}

async function concerns(
  { oidc }: KoaContextWithOIDC,
  client: EngineClient,
  { clientId }: Token,
): Promise<boolean> {
  if (clientId === client.clientId) return true
  if (factsOf(client).origin !== 'resource_server') return false
  // The engine reads the token's client afterwards, and fails when there is none any more.
  return (await oidc.provider.Client.find(clientId ?? '')) !== undefined
}

/** Who may revoke a token (RFC 7009 §2.1; design 14): the client it was issued to, nobody else. */
export function mayRevokeToken(
  _ctx: KoaContextWithOIDC,
  client: EngineClient,
  token: { clientId?: string | undefined },
): boolean {
  return token.clientId === client.clientId
}
