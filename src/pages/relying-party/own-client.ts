import type { Client } from '../../oauth/clients/client.ts'
import { pages } from '../../platform/http/paths.ts'

/** The client_id under which /admin and /account sign people in. */
export const OWN_CLIENT_ID = 'gatehouse-pages'

/**
 * This service's own pages as a client: a relying party of this very service, so that there is one
 * password form, one session and one sign-out (docs/decisions/0008-own-pages-are-a-client.md).
 *
 * It is a public client. A secret would prove nothing: the code comes to an address of this origin,
 * is redeemed inside this process with its PKCE verifier, and the token is never kept.
 */
export function ownClient(baseUrl: string, serviceName: string): Client {
  return {
    clientId: OWN_CLIENT_ID,
    origin: 'first_party',
    name: serviceName,
    siteId: undefined,
    siteName: undefined,
    redirectUris: [baseUrl + pages.signedIn],
    postLogoutRedirectUris: [],
    authMethod: 'none',
    applicationType: 'web',
    secretDigests: [],
    chosenScopes: undefined,
    state: 'active',
  }
}
