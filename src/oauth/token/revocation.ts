import type { KoaContextWithOIDC } from 'oidc-provider'

import type { EngineClient } from '../clients/client-metadata.ts'

/**
 * Who may revoke a token (RFC 7009 §2.1; design 14): the client it was issued to, nobody else. The
 * engine answers the request; what revoking does to an access token is `access-token.ts`, to a grant
 * `oauth/consent/engine-grant.ts`, and what the answer looks like `oauth/authorization/engine-answers.ts`.
 */
export function mayRevokeToken(
  _ctx: KoaContextWithOIDC,
  client: EngineClient,
  { clientId }: { readonly clientId?: string | undefined },
): boolean {
  return clientId === client.clientId
}
