/** Explanations of the error codes of refused requests, for operators. */
const refusalTexts: ReadonlyMap<string, string> = new Map([
  ['access_denied', 'the person declined, or has no access'],
  ['consent_required', 'the person must first allow it'],
  ['insufficient_scope', 'the app lacks a permission'],
  ['interaction_required', 'the person must first answer a question'],
  ['invalid_client', 'a wrong secret or key'],
  ['invalid_dpop_proof', 'a wrong proof of its key'],
  ['invalid_grant', 'an expired or used code or token'],
  ['invalid_redirect_uri', 'a redirect address that is not registered'],
  ['invalid_request', 'an incomplete or wrong request'],
  ['invalid_scope', 'a permission that the app may not have'],
  ['invalid_target', 'a request for another service'],
  ['invalid_token', 'an expired or unknown token'],
  ['login_required', 'the person was not signed in'],
  ['not_delivered', 'the app did not accept a sign-out notice'],
  ['server_error', 'a fault of this service'],
  ['slow_down', 'too many requests'],
  ['temporarily_unavailable', 'this service was unavailable'],
  ['too_many_requests', 'too many requests'],
  ['unauthorized_client', 'a flow that the app may not use'],
  ['unsupported_grant_type', 'a flow that does not exist'],
])

/** Describes an error code. An unknown code is shown with spaces instead of underscores. */
export function errorWords(error: string): string {
  return refusalTexts.get(error) ?? error.replaceAll('_', ' ')
}
