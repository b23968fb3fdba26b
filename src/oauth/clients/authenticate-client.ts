import type { VerifyAssertion } from '../proofs/client-assertion.ts'
import type { Client } from './client.ts'
import type { ClientCredentials } from './client-credentials.ts'
import { demandsFapi } from './further-plans.ts'
import { matchesSecret } from './secret.ts'

/** What of a client decides whether it is who it says, and what it may ask. */
export type AuthenticatingClient = Pick<
  Client,
  | ('clientId' | 'origin' | 'authMethod' | 'state' | 'secretDigests' | 'siteId')
  | ('pushesRequests' | 'bindsTokens')
>

/** @param version what the database said of the client in the course of this request */
export type FindAuthenticatingClient = (
  clientId: string,
  version?: number,
) => Promise<AuthenticatingClient | undefined>

export type Authentication =
  | { readonly client: AuthenticatingClient }
  /** For the log; the caller is told `invalid_client` whatever it was. */
  | { readonly refused: string; readonly claimed: AuthenticatingClient | undefined }

/**
 * What a caller is told whichever fault it was: a stranger must not learn whether an id exists or has a
 * secret, and the maker of the client finds the exact reason where the sentence says.
 */
export const CLIENT_NOT_AUTHENTICATED =
  'client authentication failed: a confidential client sends its client_secret in the form or by HTTP ' +
  'Basic, a public client sends client_id and no secret, one that has a key of its own signs a ' +
  'client_assertion; the exact reason is under Refusals on the page of the application or resource server'

/**
 * Why a client that is who it says is told of no token all the same. A disabled application has tokens
 * that its maker may ask about; a resource server is there for asking only.
 */
export function reasonNotToAnswer(client: AuthenticatingClient | undefined): string | undefined {
  if (client?.state === 'deleted') return 'the client was deleted'
  const isDisabled = client?.origin === 'resource_server' && client.state === 'off'
  return isDisabled ? 'the resource server is disabled' : undefined
}

/**
 * Whether a client is who it says it is (RFC 6749 §2.3). A client without a secret only names itself,
 * one with a secret must send it, by post or by HTTP Basic, and one with a key a statement that it
 * signed. A deleted client still is who it is:
 * what it is answered is for the endpoint to decide.
 */
export async function authenticateClient(
  { clientId, secret, assertion }: Exclude<ClientCredentials, { readonly problem: string }>,
  findClient: FindAuthenticatingClient,
  verifyAssertion?: VerifyAssertion,
): Promise<Authentication> {
  const claimed = await findClient(clientId)
  if (!claimed) return { refused: 'client not found', claimed }
  if (claimed.authMethod !== methodOf({ secret, assertion })) {
    const refused = `the client did not authenticate by ${claimed.authMethod}, which it must`
    return { refused, claimed }
  }
  if (assertion !== undefined) {
    const choseFapi = demandsFapi(claimed)
    const refused = await verifyAssertion?.({ clientId, assertion, choseFapi })
    if (!verifyAssertion) return { refused: 'no assertion is taken here', claimed }
    if (refused !== undefined) return { refused, claimed }
  }
  if (secret !== undefined && !matchesSecret(secret, claimed.secretDigests ?? [])) {
    return { refused: 'invalid secret provided', claimed }
  }
  return { client: claimed }
}

/** The method of which the credentials are. */
function methodOf({
  secret,
  assertion,
}: Pick<Extract<ClientCredentials, { clientId: string }>, 'secret' | 'assertion'>) {
  if (assertion !== undefined) return 'private_key_jwt'
  return secret === undefined ? 'none' : 'client_secret_post'
}
