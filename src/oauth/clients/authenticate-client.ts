import { decodeJwt } from 'jose'

import { parameterOf, repetitionIn } from '../../platform/http/request-body.ts'
import type { VerifyAssertion } from '../keys/proofs.ts'
import type { Client } from './client.ts'
import { demandsFapi } from './further-plans.ts'
import { matchesSecret } from './secret.ts'

/** What decides whether a client is who it says, and what it may ask. */
export type AuthenticatingClient = Pick<
  Client,
  | ('clientId' | 'origin' | 'authMethod' | 'state' | 'secretDigests' | 'siteId')
  | ('pushesRequests' | 'bindsTokens')
>

/** @param version the version of the client that a query of this request found */
export type FindAuthenticatingClient = (
  clientId: string,
  version?: number,
) => Promise<AuthenticatingClient | undefined>

/** What a request says of its client, before anything is compared (RFC 6749 §2.3 and §3.2.1). */
export type ClientCredentials =
  | {
      readonly clientId: string
      /** Undefined for a client that only names itself, as a public one does. */
      readonly secret: string | undefined
      /** A statement that the client signed (RFC 7523 §2.2). */
      readonly assertion?: string | undefined
    }
  /** In words that may be logged: none of them is a value that was sent. */
  | { readonly problem: string }

export type Authentication =
  | { readonly client: AuthenticatingClient }
  /** For the log; the caller gets `invalid_client` in every case. */
  | { readonly refused: string; readonly claimed: AuthenticatingClient | undefined }

/**
 * The same for every fault: a stranger must not learn whether an id exists or has a secret, and the maker of
 * the client finds the exact reason where the sentence says.
 */
export const CLIENT_NOT_AUTHENTICATED =
  'client authentication failed: a confidential client sends its client_secret in the form or by HTTP ' +
  'Basic, a public client sends client_id and no secret, one that has a key of its own signs a ' +
  'client_assertion; the exact reason is under Refusals on the page of the application or resource server'

/** Some libraries send the secret both ways, and some do at a refresh only. */
export const SEVERAL_MECHANISMS =
  'client authentication must only be provided using one mechanism: send the client_secret in the form ' +
  'or by HTTP Basic, and not both'

/** Some libraries send the client_id alone, and some a token. */
export const MALFORMED_HEADER =
  'invalid authorization header value format: here it is Basic and the base64 of client_id:client_secret; ' +
  'a public client sends client_id in the form and no such header'

/** What some libraries do by default for a client without a secret. */
export const BASIC_WITHOUT_SECRET =
  'the Authorization header has no secret: a public client sends client_id in the form and no such ' +
  'header, a confidential one its client_secret'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const NO_CREDENTIALS = { problem: 'no client authentication mechanism provided' }

/**
 * Reads the credentials of a request: of the form, or HTTP Basic, and not both. Pure, so that it serves every
 * endpoint at which a client authenticates.
 *
 * @param authorization the Authorization headers; a request may illegally carry several
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
  if (header === '') return clientId === undefined ? NO_CREDENTIALS : { clientId, secret }
  const basic = readBasic(header)
  if ('problem' in basic || clientId === undefined || clientId === basic.clientId) return basic
  return { problem: 'client_id mismatch' }
}

/** RFC 7523 §2.2: the assertion names the client, and `client_id` beside it may only say the same. */
function readAssertion(
  assertion: string,
  type: string | undefined,
  named: string | undefined,
): ClientCredentials {
  if (type !== ASSERTION_TYPE) return { problem: 'client_assertion_type must be that of RFC 7523' }
  const clientId = subjectOf(assertion)
  if (clientId === undefined) return { problem: 'the client_assertion is no JWT with a subject' }
  if (named !== undefined && named !== clientId) return { problem: 'client_id mismatch' }
  return { clientId, secret: undefined, assertion }
}

function subjectOf(assertion: string): string | undefined {
  try {
    // Not verified yet, so that it may be anything.
    const { sub }: { readonly sub?: unknown } = decodeJwt(assertion)
    return typeof sub === 'string' ? sub : undefined
  } catch {
    return undefined
  }
}

/** RFC 6749 §2.3.1: both halves are encoded as in a form, before they become Basic credentials. */
function readBasic(header: string): ClientCredentials {
  const [, encoded = ''] = /^basic ([A-Za-z0-9+/]+={0,2})$/i.exec(header) ?? []
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  if (id === undefined || secret === undefined) return { problem: MALFORMED_HEADER }
  const [clientId, decoded] = [formDecoded(id), formDecoded(secret)]
  if (clientId === undefined || decoded === undefined) {
    return {
      problem: 'client_id and client_secret in the authorization header are not properly encoded',
    }
  }
  if (clientId === '') return NO_CREDENTIALS
  return decoded === '' ? { problem: BASIC_WITHOUT_SECRET } : { clientId, secret: decoded }
}

/** RFC 6749 appendix A: an id and a secret have visible characters and spaces only. */
function formDecoded(value: string): string | undefined {
  try {
    const decoded = decodeURIComponent(value.replaceAll('+', '%20'))
    return /^[\x20-\x7e]*$/.test(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether a client is who it says it is (RFC 6749 §2.3). A client without a secret only names itself, one
 * with a secret must send it, by post or by HTTP Basic, and one with a key must sign an assertion. A deleted
 * client authenticates too: what it gets is for the endpoint to decide.
 */
export async function authenticateClient(
  { clientId, secret, assertion }: Exclude<ClientCredentials, { readonly problem: string }>,
  findClient: FindAuthenticatingClient,
  verifyAssertion?: VerifyAssertion,
): Promise<Authentication> {
  const claimed = await findClient(clientId)
  if (!claimed) return { refused: 'client not found', claimed }
  const method = secret === undefined ? 'none' : 'client_secret_post'
  if (claimed.authMethod !== (assertion === undefined ? method : 'private_key_jwt')) {
    const refused = `the client did not authenticate by ${claimed.authMethod}, which it must`
    return { refused, claimed }
  }
  if (assertion !== undefined) {
    if (!verifyAssertion) return { refused: 'no assertion is taken here', claimed }
    const choseFapi = demandsFapi(claimed)
    const refused = await verifyAssertion({ clientId, assertion, choseFapi })
    if (refused !== undefined) return { refused, claimed }
  }
  if (secret !== undefined && !matchesSecret(secret, claimed.secretDigests ?? [])) {
    return { refused: 'invalid secret provided', claimed }
  }
  return { client: claimed }
}

/**
 * Why an authenticated client gets no answer about tokens. A disabled application has tokens that its maker
 * may ask about; a resource server exists for asking only.
 */
export function reasonNotToAnswer(client: AuthenticatingClient | undefined): string | undefined {
  if (client?.state === 'deleted') return 'the client was deleted'
  const isDisabled = client?.origin === 'resource_server' && client.state === 'off'
  return isDisabled ? 'the resource server is disabled' : undefined
}
