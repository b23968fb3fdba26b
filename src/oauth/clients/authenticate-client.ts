import { parameterOf, repetitionIn } from '../../platform/http/request-body.ts'
import type { Client } from './client.ts'
import { demandsFapi } from './optional-protocols.ts'
import { unverifiedClaims, type VerifyAssertion } from './proofs.ts'
import { matchesSecret } from './secret.ts'

/** Client properties that an endpoint needs to authenticate the client and to judge its request. */
export type AuthenticatingClient = Pick<
  Client,
  | ('clientId' | 'origin' | 'authMethod' | 'state' | 'secretDigests' | 'siteId')
  | ('pushesRequests' | 'bindsTokens')
>

/** The client credentials of a request, not yet verified (RFC 6749 §2.3 and §3.2.1). */
export type ClientCredentials =
  | {
      readonly clientId: string
      readonly secret: string | undefined
      /** A JWT signed by the client (RFC 7523 §2.2). */
      readonly assertion?: string | undefined
    }
  /** The problem with the credentials, for the log. Quotes nothing from the request. */
  | { readonly problem: string }

/** The error description for wrong credentials. Reveals neither which clients exist nor which have a secret. */
export const CLIENT_NOT_AUTHENTICATED =
  'client authentication failed: send client_id alone for a public client, client_secret in the form or with ' +
  'HTTP Basic for a confidential one, or a client_assertion for a client with a key; site operators can see ' +
  'the exact reason under Refusals on the page of the application or resource server'

/**
 * The error description for a request that authenticates the client in more than one way. Some libraries send the
 * secret both in the form and in the header. A few do so only when they refresh a token.
 */
export const SEVERAL_MECHANISMS =
  'use only one method of client authentication: send the client_secret either in the form, ' +
  'without any Authorization header, or with HTTP Basic'

/** The error description for a malformed Authorization header. Some libraries send only a client_id, or a token. */
export const MALFORMED_HEADER =
  'the Authorization header is malformed: send Basic followed by the base64 encoding of ' +
  'client_id:client_secret; for a public client, send client_id in the form and no Authorization header'

/** The error description for a Basic header with an empty secret. Some libraries send such a header by default. */
export const BASIC_WITHOUT_SECRET =
  'the Authorization header has no secret: for a public client, send client_id in the form and no Authorization ' +
  'header; for a confidential client, include the client_secret'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export const NO_CLIENT_ID =
  'client authentication is missing: send client_id, and client_secret if the client has one'

/**
 * Reads the client credentials from the form or from HTTP Basic. Returns a problem if they are missing, malformed,
 * repeated, contradictory, or sent in more than one way. `authorization` has the values of all Authorization headers.
 */
export function readClientCredentials(
  form: URLSearchParams,
  authorization: readonly string[],
): ClientCredentials {
  const repetition = repetitionIn(form, ['client_id', 'client_secret', 'client_assertion'])
  if (repetition !== undefined) return { problem: repetition }
  const clientId = parameterOf(form, 'client_id')
  const secret = parameterOf(form, 'client_secret')
  const assertion = parameterOf(form, 'client_assertion')
  const header = authorization.join(',')
  const sent = [secret !== undefined, header !== '', assertion !== undefined].filter(Boolean)
  if (sent.length > 1) return { problem: SEVERAL_MECHANISMS }
  if (assertion !== undefined) {
    const type = parameterOf(form, 'client_assertion_type')
    return readAssertion(assertion, type, clientId)
  }
  if (header === '')
    return clientId === undefined ? { problem: NO_CLIENT_ID } : { clientId, secret }
  const basic = readBasic(header)
  if ('problem' in basic || clientId === undefined || clientId === basic.clientId) return basic
  return { problem: 'client_id differs from the one in the Authorization header' }
}

/** Reads an unverified assertion. Its subject must equal the `client_id` parameter, if there is one (RFC 7521 §4.2). */
function readAssertion(
  assertion: string,
  type: string | undefined,
  named: string | undefined,
): ClientCredentials {
  if (type !== ASSERTION_TYPE) return { problem: `client_assertion_type must be ${ASSERTION_TYPE}` }
  const clientId: unknown = unverifiedClaims(assertion)?.sub
  if (typeof clientId !== 'string')
    return { problem: 'the client_assertion must be a JWT with a subject' }
  if (named !== undefined && named !== clientId)
    return { problem: 'client_id differs from the subject of the client_assertion' }
  return { clientId, secret: undefined, assertion }
}

/** Reads HTTP Basic credentials, which are form-encoded before the base64 encoding (RFC 6749 §2.3.1). */
function readBasic(header: string): ClientCredentials {
  const [, encoded = ''] = /^basic ([A-Za-z0-9+/]+={0,2})$/i.exec(header) ?? []
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  if (id === undefined || secret === undefined) return { problem: MALFORMED_HEADER }
  const [clientId, decoded] = [formDecoded(id), formDecoded(secret)]
  if (clientId === undefined || decoded === undefined) {
    return {
      problem: 'HTTP Basic credentials must be form-encoded before they are base64-encoded',
    }
  }
  if (clientId === '') return { problem: NO_CLIENT_ID }
  return decoded === '' ? { problem: BASIC_WITHOUT_SECRET } : { clientId, secret: decoded }
}

/** Decodes a form-encoded value. Returns undefined unless the result is printable ASCII (RFC 6749 appendix A). */
function formDecoded(value: string): string | undefined {
  try {
    const decoded = decodeURIComponent(value.replaceAll('+', '%20'))
    return /^[\x20-\x7e]*$/.test(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}

/**
 * Authenticates a client by its secret or assertion (RFC 6749 §2.3). A public client needs only its client_id. Also
 * authenticates deleted and disabled clients, because each endpoint decides about their requests. `refused` is the
 * reason for a failure, for the log.
 */
export async function authenticateClient(
  { clientId, secret, assertion }: Exclude<ClientCredentials, { readonly problem: string }>,
  findClient: (clientId: string) => Promise<AuthenticatingClient | undefined>,
  verifyAssertion?: VerifyAssertion,
): Promise<{ readonly client: AuthenticatingClient | undefined; readonly refused?: string }> {
  const client = await findClient(clientId)
  if (!client) return { client, refused: 'client not found' }
  const method = secret === undefined ? 'none' : 'client_secret_post'
  if (client.authMethod !== (assertion === undefined ? method : 'private_key_jwt')) {
    return {
      client,
      refused: `the client is registered for the authentication method ${client.authMethod}, but used another; use the registered one, or change the registration`,
    }
  }
  if (assertion !== undefined) {
    if (!verifyAssertion)
      return { client, refused: 'this service does not support client_assertion; use a secret' }
    const choseFapi = demandsFapi(client)
    const refused = await verifyAssertion({ clientId, assertion, choseFapi })
    if (refused !== undefined) return { client, refused }
  }
  if (secret !== undefined && !matchesSecret(secret, client.secretDigests ?? [])) {
    return { client, refused: 'invalid secret provided' }
  }
  return { client }
}

/**
 * Returns why an authenticated client may not introspect tokens, or undefined. A disabled application may still
 * introspect its own tokens. A disabled resource server may not introspect any.
 */
export function reasonNotToCheckTokens(
  client: AuthenticatingClient | undefined,
): string | undefined {
  if (client?.state === 'deleted') return 'the client was deleted'
  const isDisabled = client?.origin === 'resource_server' && client.state === 'off'
  return isDisabled ? 'the resource server is disabled' : undefined
}
