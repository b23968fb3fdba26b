import { parameterOf, repetitionIn } from '../../platform/http/request-body.ts'
import type { TokenScheme } from './binding.ts'

/** The access token of a request, and the scopes that it wants to see no more than. */
export type TokenOfRequest =
  | {
      readonly scheme: TokenScheme
      readonly value: string
      readonly scope: string | undefined
    }
  | 'none'
  /** In words that the caller is told. */
  | { readonly problem: string }

export interface RequestParts {
  /** The Authorization headers; a request may illegally carry several. */
  readonly authorization: readonly string[]
  readonly query: URLSearchParams
  /** What was posted; the query of a GET request. */
  readonly parameters: URLSearchParams
  /** Whether tokens are taken that are bound to a key (RFC 9449 §7.1). */
  readonly takesProofs: boolean
}

/**
 * Reads the token of a UserInfo request: by header, or by form where it is posted (RFC 6750 §2.1 and
 * §2.2; OpenID Connect Core §5.3.1), by one of them only, and never from the address, which ends in
 * logs.
 */
export function readTokenOf(parts: RequestParts): TokenOfRequest {
  const { authorization, query, parameters, takesProofs } = parts
  const repetition = repetitionIn(parameters, ['scope', 'access_token'])
  if (repetition !== undefined) return { problem: repetition }
  if (authorization.length > 1) return { problem: 'there are several Authorization headers' }
  const header = authorization[0] || undefined
  const posted = parameters === query ? undefined : parameterOf(parameters, 'access_token')
  const inAddress = parameterOf(query, 'access_token')
  const ways = [header, posted, inAddress].filter((way) => way !== undefined)
  if (ways.length > 1) return { problem: 'access token must only be provided using one mechanism' }
  if (inAddress !== undefined) {
    return { problem: 'access tokens must not be provided via query parameter' }
  }
  const scope = parameterOf(parameters, 'scope')
  if (header === undefined) {
    return posted === undefined ? 'none' : { scheme: 'Bearer', value: posted, scope }
  }
  const read = readHeader(header, takesProofs)
  return 'problem' in read ? read : { ...read, scope }
}

function readHeader(
  header: string,
  takesProofs: boolean,
): { readonly scheme: TokenScheme; readonly value: string } | { readonly problem: string } {
  // RFC 6750 §2.1: one space or more.
  const [scheme = '', value, ...more] = header.split(/ +/)
  if (value === undefined || value === '' || more.length > 0) {
    return { problem: 'invalid authorization header value format' }
  }
  if (takesProofs && scheme.toLowerCase() === 'dpop') return { scheme: 'DPoP', value }
  return scheme.toLowerCase() === 'bearer'
    ? { scheme: 'Bearer', value }
    : { problem: 'authorization header scheme must be `Bearer`' }
}
