import type { Context } from 'koa'

import {
  type AuthenticatingClient,
  authenticateClient,
  type ClientCredentials,
  type FindAuthenticatingClient,
  readClientCredentials,
  reasonNotToAnswer,
} from '../../oauth/clients/authenticate-client.ts'
import { sendJsonError } from '../../platform/http/error-handler.ts'
import { logFields } from '../../platform/http/request-log.ts'

/** What a proxy says of itself; its caller has no part in it. */
export type ProxyCredentials = Exclude<ClientCredentials, { readonly problem: string }>

/**
 * Where the proxy says who it is. `Authorization` is the caller's, and every proxy can set a header of
 * another name, over what the caller wrote there.
 */
const CLIENT_HEADER = 'x-forward-auth-client'

/** What a proxy is told whichever fault it was. Its caller may read it too, and learns nothing of it. */
const PROXY_NOT_AUTHENTICATED =
  'the proxy in front did not authenticate as a resource server: it sends its client_id and ' +
  'client_secret in X-Forward-Auth-Client, as HTTP Basic has them'

export function readProxyCredentials(ctx: Context): ClientCredentials {
  return readClientCredentials(new URLSearchParams(), ctx.req.headersDistinct[CLIENT_HEADER] ?? [])
}

interface Claimed {
  readonly credentials: ProxyCredentials
  /** What the database said of the client in the course of this request. */
  readonly version: number | undefined
}

/** Who asks; nobody when the request was refused. */
export async function authenticateProxy(
  ctx: Context,
  { credentials, version }: Claimed,
  { findClient }: { readonly findClient: FindAuthenticatingClient },
): Promise<AuthenticatingClient | undefined> {
  const find = async (clientId: string) => await findClient(clientId, version)
  const authentication = await authenticateClient(credentials, find)
  const client = 'client' in authentication ? authentication.client : authentication.claimed
  logFields(ctx).client = client?.clientId
  const refused =
    'refused' in authentication ? authentication.refused : reasonNotToGuard(authentication.client)
  if (refused === undefined) return client
  refuseProxy(ctx, refused)
  return undefined
}

function reasonNotToGuard(client: AuthenticatingClient): string | undefined {
  return client.origin === 'resource_server'
    ? reasonNotToAnswer(client)
    : 'the client is no resource server'
}

/**
 * The fault lies between two parts of the operator. 401 would have a browser ask its person for the
 * password of the proxy, and a client for a new token.
 */
export function refuseProxy(ctx: Context, reason: string): void {
  logFields(ctx).detail = reason
  const body = { error: 'invalid_client', error_description: PROXY_NOT_AUTHENTICATED }
  sendJsonError(ctx, 400, body)
}
