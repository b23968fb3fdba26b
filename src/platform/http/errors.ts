import { errors } from 'oidc-provider'

import { pages } from './paths.ts'

/** A deliberate error response, created with the engine's error classes. docs/reference/errors.md lists all errors. */
type Refusal = errors.OIDCProviderError

/** Whether an error is a deliberate response that may be sent to the caller. */
export function isRefusal(error: unknown): error is Refusal {
  return error instanceof errors.OIDCProviderError && error.expose
}

// Errors in authorization, token, sign-out and registration requests, and during sign-in.

/** The requested `resource` is not one that this service accepts (RFC 8707 §2; design 3). */
export const unknownResource = (resource: string): Refusal =>
  invalidTarget(`the requested resource is not known to this server; send resource=${resource}`)

/** Account scopes need `resource` at the authorization endpoint (specification, Authentication 5). */
export const resourceRequired = (resource: string): Refusal =>
  invalidTarget(
    `the resource parameter is required when account scopes are requested; send resource=${resource} here and at the token endpoint`,
  )

/** Tokens for account scopes need `resource` again at the token endpoint (specification, Token). */
export const resourceNotRepeated = (resource: string): Refusal =>
  invalidTarget(
    `the resource parameter must be repeated at the token endpoint; send resource=${resource} with the same code, which is still valid`,
  )

/** The `resource` at the token endpoint was not authorized (RFC 8707 §2.2). */
export const resourceNotGranted = (): Refusal =>
  invalidTarget(
    'the resource was not part of the authorization request; omit it, or authorize again with it',
  )

/** The request contains no known scope (RFC 6749 §3.3). */
export function noKnownScope(description: string): Refusal {
  const error = new errors.InvalidScope(description, '')
  // The engine would send an empty `scope`, which is invalid (RFC 6749 appendix A.4).
  Reflect.deleteProperty(error, 'scope')
  return error
}

/** A refresh request asks for scopes that were not granted (RFC 6749 §6). */
export const scopeNotGranted = (missing: readonly string[]): Refusal =>
  new errors.InvalidScope(
    'the requested scope exceeds the granted scope; request fewer scopes, or authorize again',
    missing.join(' '),
  )

/** The DPoP proof is missing or invalid (RFC 9449 §5). The detail is only logged. */
export const invalidDpopProof = (detail: string): Refusal =>
  new errors.InvalidDpopProof(
    'the DPoP proof is missing, or invalid for this request and token; sign a new one',
    detail,
  )

/** The DPoP proof must contain a current nonce, which the response provides (RFC 9449 §8). */
export const dpopNonceRequired = (): Refusal =>
  new errors.UseDpopNonce('the DPoP proof must contain the nonce from the DPoP-Nonce header')

/** A required parameter is absent (RFC 6749 §5.2). */
export const missingParameter = (name: string): Refusal =>
  new errors.InvalidRequest(`missing required parameter '${name}'`)

/** A code or refresh token is not valid (RFC 6749 §5.2). The detail is only logged. */
export const invalidGrant = (detail: string): Refusal => new errors.InvalidGrant(detail)

/** The person may not authorize this client (design 15 and 16; RFC 6749 §4.1.2.1). */
export const accessDenied = (description: string): Refusal => new errors.AccessDenied(description)

/** The person did not or cannot authenticate as the request requires (OpenID Connect Core §5.5.1.1). */
export const unmetAuthentication = (baseUrl: string): Refusal =>
  new errors.UnmetAuthenticationRequirements(
    `the person did not authenticate as the request requires; request only values listed in acr_values_supported, and let the person add a second factor or a passkey at ${baseUrl}${pages.account}`,
  )

/** An authorization or sign-out request, or one of its parameters, is too long to store. */
export const parameterTooLong = (description: string): Refusal =>
  new errors.InvalidRequest(description)
/** The id_token_hint of a sign-out request is invalid (RP-Initiated Logout §4). */
export const hintNotValid = (): Refusal =>
  new errors.InvalidRequest('could not validate id_token_hint')
export const clientSwitchedOff = (): Refusal =>
  new errors.UnauthorizedClient('this application is disabled; contact an operator of the site')
export const interactionGone = (): Refusal =>
  custom(400, 'page_expired', 'this page has expired or belongs to another browser; start again')

/** The sign-in to our own pages failed, for example because this browser did not start it. The detail is logged. */
export const signInIncomplete = (detail: string): Refusal =>
  new errors.InvalidRequest(
    'the sign-in could not be completed; allow cookies for this site, then open the page again',
    400,
    detail,
  )

/** A registration request has invalid client metadata (specification, Errors 2; RFC 7591 §3.2.2). */
export const invalidClientMetadata = (description: string): Refusal =>
  custom(400, 'invalid_client_metadata', description)

/** A redirect URI is neither a loopback URI nor a known platform's URI (specification, Errors 2; RFC 7591 §3.2.2). */
export const unregisteredRedirectUri = (description: string): Refusal =>
  custom(400, 'invalid_redirect_uri', description)

// Errors on pages.

export const foreignForm = (): Refusal =>
  invalidRequest(403, 'the form was not sent from its own page; reload the page and try again')
export const unknownAnswer = (): Refusal =>
  invalidRequest(400, 'the form contains no valid choice; press one of its buttons')
export const signedOut = (): Refusal =>
  custom(401, 'signed_out', 'you are signed out; reload the page to sign in')

/** The page is only for operators of the site (design 15). */
export const notAnOperator = (): Refusal =>
  custom(403, 'forbidden', 'only owners and admins of the school can open this page')

/** An upload needs an approval (design 37). The description names the approval page. */
export const notApproved = (description: string): Refusal => custom(403, 'forbidden', description)

/** Only owners may open some admin pages, or change an application that acts for an owner (design 40). */
export const notAnOwner = (): Refusal =>
  custom(403, 'forbidden', 'only owners of the school can open this page or make this change')

/** A platform-wide review requires a platform reviewer (design 31). */
export const notPlatformReviewer = (): Refusal =>
  custom(403, 'forbidden', 'only platform reviewers can review clients for every school')

// Errors at any endpoint.

export const nothingHere = (remedy = 'check the URL'): Refusal =>
  custom(404, 'not_found', `no page or endpoint exists at this URL; ${remedy}`)
/** The URL of a tool endpoint names an area that cannot be changed, or areas out of canonical order (design 38). */
export const unknownAreas = (problem: string): Refusal => custom(404, 'not_found', problem)
export const methodNotAllowed = (allowed: string): Refusal =>
  invalidRequest(405, `this endpoint accepts only ${allowed}`)

/** The request contains a NUL character, which PostgreSQL cannot store. */
export const nulInRequest = (): Refusal =>
  invalidRequest(400, 'the request contains a NUL character; remove it')
/** The body is not a form (RFC 6749 §5.2). */
export const notAForm = (): Refusal =>
  invalidRequest(400, 'the request body must be application/x-www-form-urlencoded')
export const unsupportedBody = (expected: string): Refusal =>
  invalidRequest(415, `the request body must be ${expected}`)
export const bodyTooLarge = (bytesMax: number): Refusal =>
  invalidRequest(413, `the request body is larger than ${bytesMax} bytes; send less`)
export const addressTooLong = (charactersMax: number): Refusal =>
  invalidRequest(
    414,
    `the URL is longer than ${charactersMax} characters; send the query with POST`,
  )

/** A limit was exceeded. `refuseTooMany` sets the headers that describe the limit. */
export const tooManyRequests = (): Refusal =>
  custom(429, 'too_many_requests', 'too many requests; retry after the delay in Retry-After')

/** Storage is unavailable. The error is never reported as invalid_grant (specification, Errors 7; design 24). */
export function storageUnavailable(cause: unknown): Refusal {
  const error = new errors.TemporarilyUnavailable(
    'the service cannot reach its storage right now; retry later',
  )
  error.cause = cause
  // The engine's class uses status 400; 503 tells clients to retry.
  return withStatus(error, 503)
}

/** The JWT that authenticates a request from the platform is missing or invalid. */
export const invalidAssertion = (problem: string): Refusal =>
  custom(401, 'invalid_token', `${problem}; sign a new JWT for each request`)
export const tooManyRecords = (max: number): Refusal =>
  custom(413, 'limit_reached', `the request has more than ${max} records; send several requests`)

// Errors from file uploads and from the platform API.

/** This host does not share the files folder of the other hosts. */
export const otherFilesFolder = (): Refusal =>
  custom(
    503,
    'temporarily_unavailable',
    'the hosts of this service do not share a folder for files; the operator must mount one folder on all hosts, or set FILES_S3_*',
  )
export const unsupportedFile = (why: string): Refusal =>
  custom(415, 'unsupported_file', `the file was rejected: ${why}`)
export const badUpload = (description: string): Refusal => invalidRequest(400, description)
export const uploadLinkGone = (): Refusal =>
  invalidRequest(410, 'the upload link was used or has expired; request another one')
export const noRoomForFile = (description: string): Refusal =>
  custom(413, 'limit_reached', description)
export const uploadTooSlow = (seconds: number): Refusal =>
  invalidRequest(408, `the upload took longer than ${seconds} seconds; use a faster connection`)
export const nothingMapped = (): Refusal =>
  custom(404, 'not_found', 'no platform API has this path; ask the operator of this service')
export const nonCanonicalPath = (): Refusal =>
  invalidRequest(
    400,
    'the path must not contain empty or dot segments, a trailing slash, a semicolon or encoded separators; percent-encode only what a URL requires, with upper-case hexadecimal digits',
  )

/** The platform API failed, or its response cannot be forwarded. The detail is only logged. */
export function upstreamFailed(detail: string): Refusal {
  const description = 'the platform API behind this path failed; try again later'
  return custom(502, 'upstream_failed', description, { detail })
}

/** The platform API did not respond in time. It may still have executed the request. */
export const upstreamTooSlow = (): Refusal =>
  custom(
    504,
    'upstream_timeout',
    'the platform API behind this path did not respond in time; check whether a write succeeded',
  )

function invalidTarget(description: string): Refusal {
  return new errors.InvalidTarget(description)
}

function invalidRequest(status: number, description: string): Refusal {
  return new errors.InvalidRequest(description, status)
}

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
