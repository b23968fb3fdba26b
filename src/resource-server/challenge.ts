/** What a protected resource demands, in the words of RFC 6750 §3. */
export interface Challenge {
  readonly error: 'invalid_token' | 'insufficient_scope'
  readonly description: string
  /** Every scope that the operation needs; left out where the caller is not told one. */
  readonly scopes?: readonly string[]
  /** Address of the protected-resource metadata (RFC 9728 §5.1). */
  readonly resourceMetadataUrl: string
}

/**
 * The value of `WWW-Authenticate`. The values are sentences, scopes and addresses of our own, none
 * of which holds a quotation mark or a backslash; one that did would break the header, and throws.
 */
export function challengeHeader(challenge: Challenge): string {
  const { error, description, scopes = [], resourceMetadataUrl } = challenge
  const attributes = [
    ['error', error],
    ['error_description', description],
    ...(scopes.length > 0 ? [['scope', scopes.join(' ')]] : []),
    ['resource_metadata', resourceMetadataUrl],
  ]
  return `Bearer ${attributes.map(([name, value]) => `${name}="${quotable(value)}"`).join(', ')}`
}

/** RFC 6750 §3: the characters that the value of `error_description` may have. */
function quotable(value = ''): string {
  if (!/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/.test(value)) {
    throw new Error('a challenge holds a character that RFC 6750 does not allow')
  }
  return value
}
