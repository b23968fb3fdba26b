import { errors } from 'oidc-provider'

/**
 * Every refusal that our own code raises, one named function each, made of the engine's error
 * classes, so that an error raised in a hook of the engine and one raised in a route leave alike.
 * `docs/errors.md` lists them with the errors that the engine raises by itself.
 */

/** Anything that the service answers on purpose; every other error is a fault. */
export function isRefusal(error: unknown): error is errors.OIDCProviderError {
  return error instanceof errors.OIDCProviderError && error.expose
}

/** Storage gave no answer in time. 503, never invalid_grant (specification, Errors 7; design 24). */
export function storageUnavailable(cause: unknown): errors.OIDCProviderError {
  const error = new errors.TemporarilyUnavailable(
    'the service cannot reach its storage at the moment, try again',
  )
  error.cause = cause
  // The engine's own status for this class is 400; 503 is what tells a client to come back.
  return withStatus(error, 503)
}

/** `resource` names nothing that this origin protects (RFC 8707 §2; design 3). */
export function unknownResource(resource: string): errors.OIDCProviderError {
  return new errors.InvalidTarget(
    `the requested resource is not one of this service: send resource=${resource}`,
  )
}

/** Member scopes need `resource` at the authorization endpoint (specification, Authentication 5). */
export function resourceRequired(resource: string): errors.OIDCProviderError {
  return new errors.InvalidTarget(
    `resource is required when account scopes are requested: send resource=${resource} here and at the token endpoint`,
  )
}

/** Member tokens need `resource` again at the token endpoint (specification, Token). */
export function resourceNotRepeated(resource: string): errors.OIDCProviderError {
  return new errors.InvalidTarget(
    `resource must be repeated at the token endpoint: send resource=${resource} with the same code, which is still good`,
  )
}

/** `resource` at the token endpoint was not part of the authorization (RFC 8707 §2.2). */
export function resourceNotGranted(): errors.OIDCProviderError {
  return new errors.InvalidTarget('the resource was not part of the authorization')
}

/** No requested scope is known (RFC 6749 §3.3); the description says which ones there are. */
export function noKnownScope(description: string): errors.OIDCProviderError {
  const error = new errors.InvalidScope(description, '')
  // It would stand in the answer, where no scope is no value (RFC 6749 appendix A.4).
  Reflect.deleteProperty(error, 'scope')
  return error
}

/** A refresh asked for more than was granted (RFC 6749 §6). */
export function scopeNotGranted(missing: readonly string[]): errors.OIDCProviderError {
  return new errors.InvalidScope('the scope exceeds what was granted', missing.join(' '))
}

/** The proof of a key is missing or not good (RFC 9449 §5); why is for the log. */
export function invalidDpopProof(detail: string): errors.OIDCProviderError {
  const description = 'the DPoP proof is missing, or is not one for this request and this token'
  return withDetail(new errors.InvalidDpopProof(description), detail)
}

/** The proof must carry the nonce that goes with this answer (RFC 9449 §8). */
export function dpopNonceWanted(): errors.OIDCProviderError {
  return new errors.UseDpopNonce('the DPoP proof must carry the nonce of the header DPoP-Nonce')
}

/** A required parameter is absent (RFC 6749 §5.2). */
export function missingParameter(name: string): errors.OIDCProviderError {
  return new errors.InvalidRequest(`missing required parameter '${name}'`)
}

/** A code or refresh token is of no use any more; why is for the log only (RFC 6749 §5.2). */
export function invalidGrant(detail: string): errors.OIDCProviderError {
  return new errors.InvalidGrant(detail)
}

/** The person may not authorize this client, or said no (design 15 and 16; RFC 6749 §4.1.2.1). */
export function accessDenied(description: string): errors.OIDCProviderError {
  return new errors.AccessDenied(description)
}

/** A parameter of an authorization request, or all of them, is longer than what is kept for strangers. */
export function parameterTooLong(description: string): errors.OIDCProviderError {
  return new errors.InvalidRequest(description)
}

/** The client may not ask any more: it was disabled, or its site switched the feature off. */
export function clientSwitchedOff(): errors.OIDCProviderError {
  return new errors.UnauthorizedClient(
    'this application has been switched off; ask the operator of the site',
  )
}

/** The interaction is over, expired, or belongs to another browser. */
export function interactionGone(): errors.OIDCProviderError {
  return new errors.SessionNotFound(
    'this page has expired or belongs to another browser; go back to the application and start again',
  )
}

/** A form came without the token that its page carried, or from another site. 403. */
export function foreignForm(): errors.OIDCProviderError {
  return invalidRequest(403, 'the form was not sent from its own page')
}

/** A script of a page asks for somebody who has signed out meanwhile. 401. */
export function signedOut(): errors.OIDCProviderError {
  return custom(401, 'signed_out', 'you are signed out; load the page again to sign in')
}

/** The page belongs to the operators of a site, and the person is none (design 15). 403. */
export function notAnOperator(): errors.OIDCProviderError {
  return custom(403, 'forbidden', 'this page is for the owners and admins of the site only')
}

/** To decide for every site takes the platform's role (design 31). 403. */
export function notThePlatform(): errors.OIDCProviderError {
  return custom(403, 'forbidden', 'only people with the role of the platform decide for every site')
}

/** What the address names does not exist, or not at this site. 404. */
export function nothingHere(): errors.OIDCProviderError {
  return custom(404, 'not_found', 'there is nothing at this address')
}

/** No part of the platform's own API is mapped to the address. 404. */
export function nothingMapped(): errors.OIDCProviderError {
  return custom(404, 'not_found', 'this deployment serves nothing at this address')
}

/** An address that servers could read in several ways. 400. */
export function foreignSpelling(): errors.OIDCProviderError {
  return invalidRequest(400, 'the address is not spelled in the one way that is answered here')
}

/** A text of a request holds a NUL, which no store keeps or looks for. 400. */
export function nulInRequest(): errors.OIDCProviderError {
  return invalidRequest(400, 'the request holds a NUL character; send it without')
}

/** The platform's own API cannot be reached, or answered what does not come out. 502; why is for the log. */
export function upstreamFailed(detail: string): errors.OIDCProviderError {
  const description =
    'the part of the platform behind this address gave no answer that can be passed on'
  return withDetail(custom(502, 'upstream_failed', description), detail)
}

/** The platform's own API did not answer in time; whether the request was carried out is not known. 504. */
export function upstreamTooSlow(): errors.OIDCProviderError {
  const description = 'the part of the platform behind this address did not answer in time'
  return custom(504, 'upstream_timeout', description)
}

/** The browser came back from the sign-in with something that this service did not send it for. */
export function signInIncomplete(detail: string): errors.OIDCProviderError {
  const error = new errors.InvalidRequest(
    'the sign-in could not be completed; open the page again, and allow cookies for it',
  )
  return withDetail(error, detail)
}

/** A request body is of the wrong kind. 415. */
export function unsupportedBody(expected: string): errors.OIDCProviderError {
  return invalidRequest(415, `the request body must be ${expected}`)
}

/** A request body is larger than the endpoint reads. 413. */
export function bodyTooLarge(bytesMax: number): errors.OIDCProviderError {
  return invalidRequest(413, `the request body is larger than ${bytesMax} bytes`)
}

/** A file is of a kind that is not kept, or not of the kind that its sender says. 415. */
export function unsupportedFile(why: string): errors.OIDCProviderError {
  return custom(415, 'unsupported_file', `the file is not kept: ${why}`)
}

/** An upload that is not as it must be: its name, its length. 400. */
export function badUpload(description: string): errors.OIDCProviderError {
  return invalidRequest(400, description)
}

/** The site has as many files, or bytes of them, as it may have. 413. */
export function noRoomForFile(description: string): errors.OIDCProviderError {
  return custom(413, 'limit_reached', description)
}

/** An upload took too long. 408. */
export function uploadTooSlow(seconds: number): errors.OIDCProviderError {
  return invalidRequest(408, `the upload took longer than ${seconds} seconds`)
}

/** The endpoint knows no such method; the route sets `Allow`. 405. */
export function methodNotAllowed(allowed: string): errors.OIDCProviderError {
  return invalidRequest(405, `only ${allowed} is answered here`)
}

/** A query in an address that is longer than one may be. 414. */
export function addressTooLong(charactersMax: number): errors.OIDCProviderError {
  const description = `an address has at most ${charactersMax} characters; send the query by POST`
  return invalidRequest(414, description)
}

/** One address, client or person asked too often; `Retry-After` is set already. 429. */
export function tooManyRequests(): errors.OIDCProviderError {
  const description = 'too many requests, try again after the time that Retry-After says'
  return custom(429, 'too_many_requests', description)
}

/** A registration that describes no client which may exist (specification, Errors 2; RFC 7591 §3.2.2). */
export function invalidClientMetadata(description: string): errors.OIDCProviderError {
  return custom(400, 'invalid_client_metadata', description)
}

/** A callback that needs a registered integration (specification, Errors 2; RFC 7591 §3.2.2). */
export function unregisteredRedirectUri(description: string): errors.OIDCProviderError {
  return custom(400, 'invalid_redirect_uri', description)
}

function invalidRequest(status: number, description: string): errors.OIDCProviderError {
  return withStatus(new errors.InvalidRequest(description), status)
}

function withDetail(error: errors.OIDCProviderError, detail: string): errors.OIDCProviderError {
  error.error_detail = detail
  return error
}

/** An error that the engine has no class for. */
function custom(status: number, error: string, description: string): errors.OIDCProviderError {
  return withStatus(new errors.CustomOIDCProviderError(error, description), status)
}

function withStatus(error: errors.OIDCProviderError, status: number): errors.OIDCProviderError {
  error.status = error.statusCode = status
  return error
}
