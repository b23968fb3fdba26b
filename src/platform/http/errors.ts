import { errors } from 'oidc-provider'

/**
 * A refusal of our own code. Refusals use the engine's error classes, so that errors raised in its hooks and in our
 * routes produce the same answer. docs/reference/errors.md lists them, and those of the engine.
 */
type Refusal = errors.OIDCProviderError

/** Whether an error is a deliberate answer; every other error is a fault. */
export function isRefusal(error: unknown): error is Refusal {
  return error instanceof errors.OIDCProviderError && error.expose
}

// The authorization endpoint, the token endpoint and registration.

/** `resource` is not protected by this origin (RFC 8707 §2; design 3). */
export const unknownResource = (resource: string): Refusal =>
  invalidTarget(`the requested resource is unknown here; send resource=${resource}`)

/** Member scopes need `resource` at the authorization endpoint (specification, Authentication 5). */
export const resourceRequired = (resource: string): Refusal =>
  invalidTarget(
    `resource is required when account scopes are requested; send resource=${resource} here and at the token endpoint`,
  )

/** Member tokens need `resource` again at the token endpoint (specification, Token). */
export const resourceNotRepeated = (resource: string): Refusal =>
  invalidTarget(
    `resource must be repeated at the token endpoint; send resource=${resource} with the same code, which is still valid`,
  )

/** `resource` at the token endpoint was not part of the authorization (RFC 8707 §2.2). */
export const resourceNotGranted = (): Refusal =>
  invalidTarget(
    'the resource was not part of the authorization; omit it, or authorize again with it',
  )

/** No requested scope is known (RFC 6749 §3.3); the description lists the known ones. */
export function noKnownScope(description: string): Refusal {
  const error = new errors.InvalidScope(description, '')
  // The answer must not contain an empty scope, which is invalid (RFC 6749 appendix A.4).
  Reflect.deleteProperty(error, 'scope')
  return error
}

/** A refresh requested more than the granted scope (RFC 6749 §6). */
export const scopeNotGranted = (missing: readonly string[]): Refusal =>
  new errors.InvalidScope('the scope exceeds the granted scope; authorize again', missing.join(' '))

/** The DPoP proof is missing or invalid (RFC 9449 §5); the detail is for the log. */
export const invalidDpopProof = (detail: string): Refusal =>
  new errors.InvalidDpopProof(
    'the DPoP proof is missing or invalid for this request and token; sign a new one',
    detail,
  )

/** The proof must contain the nonce of this answer (RFC 9449 §8). */
export const dpopNonceRequired = (): Refusal =>
  new errors.UseDpopNonce('the DPoP proof must contain the nonce of the header DPoP-Nonce')

/** A required parameter is absent (RFC 6749 §5.2). */
export const missingParameter = (name: string): Refusal =>
  new errors.InvalidRequest(`missing required parameter '${name}'`)

/** A code or refresh token is no longer valid; the detail is for the log (RFC 6749 §5.2). */
export const invalidGrant = (detail: string): Refusal => new errors.InvalidGrant(detail)

/** The person may not authorize this client, or denied the request (design 15 and 16; RFC 6749 §4.1.2.1). */
export const accessDenied = (description: string): Refusal => new errors.AccessDenied(description)

/** An authorization request, or one of its parameters, is longer than the service stores. */
export const parameterTooLong = (description: string): Refusal =>
  new errors.InvalidRequest(description)
export const clientSwitchedOff = (): Refusal =>
  new errors.UnauthorizedClient('this application is disabled; ask an operator of the site')
export const interactionGone = (): Refusal =>
  new errors.SessionNotFound(
    'this page has expired or belongs to another browser; go back to the application and start again',
  )

/** The browser returned from a sign-in that this service did not start. */
export const signInIncomplete = (detail: string): Refusal =>
  new errors.InvalidRequest(
    'the sign-in could not be completed; open the page again, and allow cookies for it',
    400,
    detail,
  )

/** A registration has invalid client metadata (specification, Errors 2; RFC 7591 §3.2.2). */
export const invalidClientMetadata = (description: string): Refusal =>
  custom(400, 'invalid_client_metadata', description)

/** A callback needs a registered integration (specification, Errors 2; RFC 7591 §3.2.2). */
export const unregisteredRedirectUri = (description: string): Refusal =>
  custom(400, 'invalid_redirect_uri', description)

// Pages.

export const foreignForm = (): Refusal =>
  invalidRequest(403, 'the form was not sent from its own page; open the page again')
export const signedOut = (): Refusal =>
  custom(401, 'signed_out', 'you are signed out; load the page again to sign in')

/** Only operators of the site may open the page (design 15). */
export const notAnOperator = (): Refusal =>
  custom(403, 'forbidden', 'this page is for the owners and admins of the site only')

/** A review for every site requires the role of the platform (design 31). */
export const notPlatformReviewer = (): Refusal =>
  custom(403, 'forbidden', 'only platform reviewers may decide for every site')

// Any address.

export const nothingHere = (): Refusal =>
  custom(404, 'not_found', 'there is nothing at this address')
export const methodNotAllowed = (allowed: string): Refusal =>
  invalidRequest(405, `this endpoint accepts only ${allowed}`)

/** The request contains a NUL, which the stores cannot store or search. */
export const nulInRequest = (): Refusal =>
  invalidRequest(400, 'the request contains a NUL character; remove it')
export const unsupportedBody = (expected: string): Refusal =>
  invalidRequest(415, `the request body must be ${expected}`)
export const bodyTooLarge = (bytesMax: number): Refusal =>
  invalidRequest(413, `the request body is larger than ${bytesMax} bytes`)
export const addressTooLong = (charactersMax: number): Refusal =>
  invalidRequest(414, `the URL is longer than ${charactersMax} characters; send the query by POST`)

/** The headers of the limit are set already. */
export const tooManyRequests = (): Refusal =>
  custom(429, 'too_many_requests', 'too many requests; retry after the time in Retry-After')

/** Storage did not answer in time. 503, never invalid_grant (specification, Errors 7; design 24). */
export function storageUnavailable(cause: unknown): Refusal {
  const error = new errors.TemporarilyUnavailable(
    'the service cannot reach its storage at the moment; retry',
  )
  error.cause = cause
  // The engine's own status for this class is 400; 503 tells a client to come back.
  return withStatus(error, 503)
}

// Files, and the platform's own API.

export const unsupportedFile = (why: string): Refusal =>
  custom(415, 'unsupported_file', `the file was rejected: ${why}`)
export const badUpload = (description: string): Refusal => invalidRequest(400, description)
export const noRoomForFile = (description: string): Refusal =>
  custom(413, 'limit_reached', description)
export const uploadTooSlow = (seconds: number): Refusal =>
  invalidRequest(408, `the upload took longer than ${seconds} seconds`)
export const nothingMapped = (): Refusal =>
  custom(404, 'not_found', 'this deployment serves nothing at this address')
export const nonCanonicalPath = (): Refusal =>
  invalidRequest(400, 'the path must be in canonical form')

/** The platform's own API failed, or its answer cannot be forwarded; the detail is for the log. */
export function upstreamFailed(detail: string): Refusal {
  const description = 'the platform API behind this address failed; try again later'
  return custom(502, 'upstream_failed', description, { detail })
}

/** The platform's own API did not answer in time. The request may still have been executed. */
export const upstreamTooSlow = (): Refusal =>
  custom(
    504,
    'upstream_timeout',
    'the platform API behind this address did not answer in time; check whether a write succeeded',
  )

function invalidTarget(description: string): Refusal {
  return new errors.InvalidTarget(description)
}

function invalidRequest(status: number, description: string): Refusal {
  return new errors.InvalidRequest(description, status)
}

/** An error that the engine has no class for. */
function custom(
  status: number,
  error: string,
  description: string,
  options?: { readonly detail: string },
): Refusal {
  return withStatus(new errors.CustomOIDCProviderError(error, description, options), status)
}

function withStatus(error: Refusal, status: number): Refusal {
  error.status = error.statusCode = status
  return error
}
