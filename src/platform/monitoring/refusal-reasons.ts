/**
 * The codes of errors that are counted by name: those of docs/errors.md, whatever a client sent. What an
 * MCP message is refused with has a sentence and no code, and is `other`.
 */
export const errorCodes = [
  'access_denied',
  'account_selection_required',
  'consent_required',
  'forbidden',
  'insufficient_scope',
  'interaction_required',
  'invalid_client',
  'invalid_client_metadata',
  'invalid_dpop_proof',
  'invalid_grant',
  'invalid_redirect_uri',
  'invalid_request',
  'invalid_scope',
  'invalid_target',
  'invalid_token',
  'limit_reached',
  'login_required',
  'not_found',
  'request_not_supported',
  'request_uri_not_supported',
  'server_error',
  'signed_out',
  'temporarily_unavailable',
  'too_many_requests',
  'unauthorized_client',
  'unsupported_file',
  'unsupported_grant_type',
  'unsupported_response_type',
  'upstream_failed',
  'upstream_timeout',
  'use_dpop_nonce',
] as const

/**
 * Why something was refused, as the line of the log begins to say it, and the name under which that is
 * counted. Sentences of the log may name what a client sent, so that no other part of them is a label.
 */
export const reasonSentences = {
  account_disabled: 'the account is disabled',
  client_deleted: 'the client was deleted',
  client_disabled: 'the client is disabled',
  feature_off: 'the site switched MCP connections off',
  grant_ended: 'the grant has ended',
  grant_expired: 'the grant has expired',
  no_resource: 'the token was asked for without resource',
  no_role: 'the person has no role at the site',
  not_operator: 'the person does not operate the site any more',
  other_origin: 'the token was issued for another origin',
  token_expired: 'the token has expired',
  token_malformed: 'the token has no form of ours',
  token_revoked: 'the token was revoked with its family',
  token_unknown: 'the token is unknown',
  code_repeated: 'the code was used a moment ago',
  code_raced: 'another exchange of the same code was quicker',
  refresh_expired: 'the refresh token has expired',
  refresh_reused: 'the refresh token was used before',
  refresh_revoked: 'the refresh token was revoked',
  refresh_unknown: 'the refresh token is unknown',
  store_is_older: 'the database is older than the refresh token',
  foreign_client: 'another client holds it',
} as const

export const reasonNames = Object.keys(reasonSentences)

/** The name of a reason, or `other` where it has none. */
export function nameOfReason(detail: string | undefined): string {
  if (detail === undefined) return 'other'
  const row = Object.entries(reasonSentences).find(([, sentence]) => detail.startsWith(sentence))
  return row ? row[0] : 'other'
}
