import { type BindingFault, dpopAlgorithms } from './binding.ts'

/** What a protected resource demands, in the words of RFC 6750 §3. */
export interface Challenge {
  /** Who protects the resource, where that is said. */
  readonly realm?: string
  /** Left out when no token came with the request (RFC 6750 §3.1). */
  readonly error?:
    | ('invalid_request' | 'invalid_token' | 'insufficient_scope')
    | BindingFault['error']
  readonly description?: string
  /** Every scope that the operation needs; left out where the caller is not told one. */
  readonly scopes?: readonly string[]
  /** Address of the protected-resource metadata (RFC 9728 §5.1). */
  readonly resourceMetadataUrl: string
  /** Whether a token that is bound to a key is taken beside a bearer token, or nothing else. */
  readonly dpop?: DpopChallenge | undefined
}

/** RFC 9449 §7.1. */
export type DpopChallenge = 'offered' | 'demanded'

/**
 * The value of `WWW-Authenticate`. The values are sentences, scopes and addresses of our own, none
 * of which holds a quotation mark or a backslash; one that did would break the header, and throws.
 */
export function challengeHeader(challenge: Challenge): string {
  const { realm, error, description, scopes = [], resourceMetadataUrl, dpop } = challenge
  const attributes = Object.entries({
    realm,
    error,
    error_description: description,
    scope: scopes.length > 0 ? scopes.join(' ') : undefined,
    resource_metadata: resourceMetadataUrl,
    algs: dpop === 'demanded' ? dpopAlgorithms : undefined,
  })
  const said = attributes.filter(([, value]) => value !== undefined)
  const words = said.map(([name, value]) => `${name}="${quotable(value)}"`).join(', ')
  if (dpop === 'demanded') return `DPoP ${words}`
  return dpop === 'offered' ? `Bearer ${words}, DPoP algs="${dpopAlgorithms}"` : `Bearer ${words}`
}

/** RFC 6750 §3: the characters that the value of `error_description` may have. */
function quotable(value = ''): string {
  if (!/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/.test(value)) {
    throw new Error('a challenge holds a character that RFC 6750 does not allow')
  }
  return value
}
