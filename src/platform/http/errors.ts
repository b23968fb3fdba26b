import { errors } from 'oidc-provider'

/**
 * Every refusal that our own code raises, made of the engine's error classes, so that an error raised in a hook
 * of the engine and one raised in a route leave alike. docs/reference/errors.md lists them, and those of the engine.
 */
type Refusal = errors.OIDCProviderError

/** Whether an error is an answer on purpose; every other error is a fault. */
export function isRefusal(error: unknown): error is Refusal {
  return error instanceof errors.OIDCProviderError && error.expose
}

// The authorization endpoint, the token endpoint and registration.

/** `resource` names nothing that this origin protects (RFC 8707 §2; design 3). */
export const unknownResource = (resource: string): Refusal =>
  invalidTarget(`the requested resource is not one of this service: send resource=${resource}`)

/** Member scopes need `resource` at the authorization endpoint (specification, Authentication 5). */
export const resourceRequired = (resource: string): Refusal =>
  invalidTarget(
    `resource is required when account scopes are requested: send resource=${resource} here and at the token endpoint`,
  )

/** Member tokens need `resource` again at the token endpoint (specification, Token). */
export const resourceNotRepeated = (resource: string): Refusal =>
  invalidTarget(
    `resource must be repeated at the token endpoint: send resource=${resource} with the same code, which is still good`,
  )

/** `resource` at the token endpoint was not part of the authorization (RFC 8707 §2.2). */
export const resourceNotGranted = (): Refusal =>
  invalidTarget('the resource was not part of the authorization')

/** No requested scope is known (RFC 6749 §3.3); the description lists the known ones. */
export function noKnownScope(description: string): Refusal {
  const error = new errors.InvalidScope(description, '')
  // The answer would have it, and an empty scope is no valid value (RFC 6749 appendix A.4).
  Reflect.deleteProperty(error, 'scope')
  return error
}

/** A refresh asked for more than was granted (RFC 6749 §6). */
export const scopeNotGranted = (missing: readonly string[]): Refusal =>
  new errors.InvalidScope('the scope exceeds what was granted', missing.join(' '))

/** The proof of a key is missing or not valid (RFC 9449 §5); the detail is for the log. */
export const invalidDpopProof = (detail: string): Refusal =>
  withDetail(
    new errors.InvalidDpopProof(
      'the DPoP proof is missing, or is not one for this request and this token',
    ),
    detail,
  )

/** The proof must carry the nonce that goes with this answer (RFC 9449 §8). */
export const dpopNonceWanted = (): Refusal =>
  new errors.UseDpopNonce('the DPoP proof must carry the nonce of the header DPoP-Nonce')

/** A required parameter is absent (RFC 6749 §5.2). */
export const missingParameter = (name: string): Refusal =>
  new errors.InvalidRequest(`missing required parameter '${name}'`)

/** A code or refresh token is not valid any more; the detail is for the log (RFC 6749 §5.2). */
export const invalidGrant = (detail: string): Refusal => new errors.InvalidGrant(detail)

/** The person may not authorize this client, or denied it (design 15 and 16; RFC 6749 §4.1.2.1). */
export const accessDenied = (description: string): Refusal => new errors.AccessDenied(description)

/** A parameter of an authorization request, or all of them, is longer than what is stored for strangers. */
export const parameterTooLong = (description: string): Refusal =>
  new errors.InvalidRequest(description)
export const clientSwitchedOff = (): Refusal =>
  new errors.UnauthorizedClient(
    'this application has been switched off; ask the operator of the site',
  )
export const interactionGone = (): Refusal =>
  new errors.SessionNotFound(
    'this page has expired or belongs to another browser; go back to the application and start again',
  )

/** The browser came back from the sign-in with something that this service did not send it for. */
export const signInIncomplete = (detail: string): Refusal =>
  withDetail(
    new errors.InvalidRequest(
      'the sign-in could not be completed; open the page again, and allow cookies for it',
    ),
    detail,
  )

/** A registration describes no client that may exist (specification, Errors 2; RFC 7591 §3.2.2). */
export const invalidClientMetadata = (description: string): Refusal =>
  custom(400, 'invalid_client_metadata', description)

/** A callback needs a registered integration (specification, Errors 2; RFC 7591 §3.2.2). */
export const unregisteredRedirectUri = (description: string): Refusal =>
  custom(400, 'invalid_redirect_uri', description)

// Pages.

export const foreignForm = (): Refusal =>
  invalidRequest(403, 'the form was not sent from its own page')
export const signedOut = (): Refusal =>
  custom(401, 'signed_out', 'you are signed out; load the page again to sign in')

/** The page belongs to the operators of a site (design 15). */
export const notAnOperator = (): Refusal =>
  custom(403, 'forbidden', 'this page is for the owners and admins of the site only')

/** Deciding for every site takes the platform's role (design 31). */
export const notThePlatform = (): Refusal =>
  custom(403, 'forbidden', 'only people with the role of the platform decide for every site')

// Any address.

export const nothingHere = (): Refusal =>
  custom(404, 'not_found', 'there is nothing at this address')
export const methodNotAllowed = (allowed: string): Refusal =>
  invalidRequest(405, `only ${allowed} is answered here`)

/** A text of a request holds a NUL, which no store keeps or looks for. */
export const nulInRequest = (): Refusal =>
  invalidRequest(400, 'the request holds a NUL character; send it without')
export const unsupportedBody = (expected: string): Refusal =>
  invalidRequest(415, `the request body must be ${expected}`)
export const bodyTooLarge = (bytesMax: number): Refusal =>
  invalidRequest(413, `the request body is larger than ${bytesMax} bytes`)
export const addressTooLong = (charactersMax: number): Refusal =>
  invalidRequest(414, `an address has at most ${charactersMax} characters; send the query by POST`)

/** The headers of the limit are set already. */
export const tooManyRequests = (): Refusal =>
  custom(
    429,
    'too_many_requests',
    'too many requests, try again after the time that Retry-After says',
  )

/** Storage did not answer in time. 503, never invalid_grant (specification, Errors 7; design 24). */
export function storageUnavailable(cause: unknown): Refusal {
  const error = new errors.TemporarilyUnavailable(
    'the service cannot reach its storage at the moment, try again',
  )
  error.cause = cause
  // The engine's own status for this class is 400; 503 tells a client to come back.
  return withStatus(error, 503)
}

// Files, and the platform's own API.

export const unsupportedFile = (why: string): Refusal =>
  custom(415, 'unsupported_file', `the file is not kept: ${why}`)
export const badUpload = (description: string): Refusal => invalidRequest(400, description)
export const noRoomForFile = (description: string): Refusal =>
  custom(413, 'limit_reached', description)
export const uploadTooSlow = (seconds: number): Refusal =>
  invalidRequest(408, `the upload took longer than ${seconds} seconds`)
export const nothingMapped = (): Refusal =>
  custom(404, 'not_found', 'this deployment serves nothing at this address')
export const foreignSpelling = (): Refusal =>
  invalidRequest(400, 'the address is not spelled in the one way that is answered here')

/** The platform's own API cannot be reached, or its answer may not be passed on; the detail is for the log. */
export const upstreamFailed = (detail: string): Refusal =>
  withDetail(
    custom(
      502,
      'upstream_failed',
      'the part of the platform behind this address gave no answer that can be passed on',
    ),
    detail,
  )

/** The platform's own API did not answer in time; whether the request was carried out is not known. */
export const upstreamTooSlow = (): Refusal =>
  custom(
    504,
    'upstream_timeout',
    'the part of the platform behind this address did not answer in time',
  )

function invalidTarget(description: string): Refusal {
  return new errors.InvalidTarget(description)
}

function invalidRequest(status: number, description: string): Refusal {
  return withStatus(new errors.InvalidRequest(description), status)
}

/** An error that the engine has no class for. */
function custom(status: number, error: string, description: string): Refusal {
  return withStatus(new errors.CustomOIDCProviderError(error, description), status)
}

function withDetail(error: Refusal, detail: string): Refusal {
  error.error_detail = detail
  return error
}

function withStatus(error: Refusal, status: number): Refusal {
  error.status = error.statusCode = status
  return error
}
