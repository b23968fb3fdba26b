import { type Claims, claimsByScope, claimsOf, releasedClaims } from '../../oauth/token/claims.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'

/**
 * Headers for the application behind a proxy, each with the claim that it contains. Every 200 response has all these
 * headers, some with an empty value. So a proxy that copies the list always overwrites headers from its caller.
 */
export const identityHeaders = {
  'X-Auth-Subject': 'sub',
  'X-Auth-Client': 'client_id',
  'X-Auth-Scope': 'scope',
  'X-Auth-Org': 'org_id',
  'X-Auth-Roles': 'roles',
  'X-Auth-Name': 'name',
  'X-Auth-Email': 'email',
} as const

/** The maximum length of an encoded name. nginx accepts 4 KiB of headers by default, and people choose their names. */
const NAME_BYTES_MAX = 512

/** Returns the header values for a token: its client, its scopes and its UserInfo claims. */
export function identityOf(token: AccessToken): Readonly<Record<string, string>> {
  const { clientId, grant, scopes } = token
  const released = { scopes, requested: [], allowed: grant.allowed, claimsByScope }
  const claims = releasedClaims(claimsOf(token), released)
  return headersOf({ ...claims, client_id: clientId, scope: scopes })
}

/**
 * Formats claims as headers, and cuts a long name. Items of a list are separated by one space. The characters `%`, `"`
 * and `,`, and all characters outside visible ASCII, are percent-encoded as UTF-8. So no value can end a header, start
 * another one, or look like two values.
 */
export function headersOf(claims: Claims): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(identityHeaders).map(([header, claim]) => {
      const items = [claims[claim] ?? []].flat().map(String)
      return [header, claim === 'name' ? shortened(items) : items.map(encoded).join(' ')]
    }),
  )
}

function encoded(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\x21\x23\x24\x26-\x2b\x2d-\x7e]+/g, (others) => encodeURIComponent(others))
}

/** Encodes a name, cut at a character boundary. Ids are never cut, because part of an id could be another id. */
function shortened([name = '']: readonly string[]): string {
  let value = ''
  for (const character of name) {
    const more = encoded(character)
    if (value.length + more.length > NAME_BYTES_MAX) break
    value += more
  }
  return value
}
