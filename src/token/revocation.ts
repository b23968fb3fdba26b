import type { KoaContextWithOIDC } from 'oidc-provider'

import type { EngineClient } from '../clients/client-metadata.ts'

/** Who may revoke a token (RFC 7009 §2.1; design 14): the client it was issued to, nobody else. */
export function mayRevokeToken(
  _ctx: KoaContextWithOIDC,
  client: EngineClient,
  { clientId }: { readonly clientId?: string | undefined },
): boolean {
  return clientId === client.clientId
}
