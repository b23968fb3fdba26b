import {
  BASIC_WITHOUT_SECRET,
  CLIENT_NOT_AUTHENTICATED,
  MALFORMED_HEADER,
  SEVERAL_MECHANISMS,
} from '../clients/authenticate-client.ts'
import { type EngineClient, factsOf } from '../clients/client-metadata.ts'
import { explainRedirect } from '../clients/redirect-difference.ts'
import { explainRefusedScopes, problemOfScopes } from '../clients/scope-advice.ts'

/** The request that a sentence is about. */
export interface RefusedRequest {
  /** Undefined while it is not known, or where it did not ask for an authorization itself. */
  readonly client: EngineClient | undefined
  readonly params: Readonly<Record<string, unknown>>
  readonly baseUrl: string
}

type Sentence = string | ((request: RefusedRequest) => string | undefined)

const UNDER_REFUSALS =
  'which of these it was stands under Refusals on the page of the application, for the operators of its site'

const SEND_S256 =
  'send code_challenge_method=S256 and, as code_challenge, the base64url of the SHA-256 of your code_verifier'

/**
 * The engine's sentences that do not help a client, and what replaces them. Only characters of RFC 6749
 * §4.1.2.1 and §5.2 come out, and nothing that was sent.
 */
const toClient = sentences({
  'client authentication failed': CLIENT_NOT_AUTHENTICATED,
  'client_secret must be provided in the Authorization header': BASIC_WITHOUT_SECRET,
  'grant request is invalid': explainInvalidGrant,
  'client authentication must only be provided using one mechanism': SEVERAL_MECHANISMS,
  'invalid authorization header value format': MALFORMED_HEADER,
  ...Object.fromEntries(
    ['acr_values', 'claims', 'id_token_hint', 'max_age', 'nonce'].map((parameter) => {
      const said = `openid scope must be requested when using the ${parameter} parameter`
      // The engine looks for `openid` before our check of how the scopes are joined.
      const cure = (request: RefusedRequest) =>
        explainUnknownScopes(request) ?? `add openid to scope, or leave ${parameter} out`
      return [said, (request: RefusedRequest) => `${said}: ${cure(request)}`]
    }),
  ),
  'requested scope is not allowed': ({ client, params, baseUrl }) =>
    client && explainRefusedScopes(refusedClient(client), scopeOf(params), baseUrl),
  'not supported value of code_challenge_method': `only S256 is supported as code_challenge_method: ${SEND_S256}`,
  'code_challenge_method must be provided': `code_challenge_method is missing: ${SEND_S256}`,
  'Authorization Server policy requires PKCE to be used for this request': `PKCE is required of every client: ${SEND_S256}`,
  'unsupported grant_type requested':
    'unsupported grant_type requested: send authorization_code or refresh_token; there is no token ' +
    'without a person who signs in',
  'unsupported response_type requested':
    'unsupported response_type requested: send response_type=code',
})

/** The engine's reasons that leave open what exactly was wrong, and what the log and Refusals say instead. */
const toOperator = sentences({
  "redirect_uri did not match any of the client's registered redirect_uris": ({ client, params }) =>
    client && explainRedirect(String(params['redirect_uri'] ?? ''), client.redirectUris ?? []),
  'the provided authentication mechanism does not match the registered client authentication method':
    ({ client }) =>
      client && `the client did not authenticate by ${client.clientAuthMethod}, which it must`,
  // The stores find no record that has expired.
  'authorization code not found':
    'there is no such code now: it was not exchanged within its short life, or not sent in full, or is of ' +
    'another service',
})

/** The sentence that the client gets in place of one of the engine's; undefined where that says enough. */
export function sentenceForClient(said: string, request: RefusedRequest): string | undefined {
  return written(toClient.get(said), request)
}

/** The reason that the operator of the application reads. */
export function reasonForOperator(said: string, request: RefusedRequest): string {
  return written(toOperator.get(said), request) ?? said
}

function sentences(table: Readonly<Record<string, Sentence>>): ReadonlyMap<string, Sentence> {
  return new Map(Object.entries(table))
}

function written(sentence: Sentence | undefined, request: RefusedRequest): string | undefined {
  return typeof sentence === 'function' ? sentence(request) : sentence
}

/** The same for a wrong verifier and for a stolen code (RFC 6749 §5.2); a missing one says nothing of the code. */
function explainInvalidGrant({ params }: RefusedRequest): string {
  if (params['grant_type'] === 'refresh_token') {
    return `grant request is invalid: the refresh token was used or revoked, has expired or is of another client; ${UNDER_REFUSALS}. Start the authorization again, and keep the new refresh token of each answer in the place of the one before`
  }
  return params['code_verifier'] === undefined
    ? 'grant request is invalid: it has no code_verifier. Send the one whose challenge went into the authorization request, which has to be started again'
    : `grant request is invalid: the code was used, has expired or is of another client, or redirect_uri or code_verifier is not that of its authorization request; ${UNDER_REFUSALS}. Start the authorization again, keep the code_verifier of each request with its state, and send it with the same redirect_uri`
}

/** The fault of the scopes of an authorization request, whatever its client may have. */
export function explainUnknownScopes({ client, params, baseUrl }: RefusedRequest) {
  return client && problemOfScopes(scopeOf(params), refusedClient(client), baseUrl)
}

function scopeOf(params: RefusedRequest['params']): string {
  return String(params['scope'] ?? '')
}

function refusedClient(client: EngineClient) {
  return { ...factsOf(client), open: client.scope?.split(' ') ?? [] }
}
