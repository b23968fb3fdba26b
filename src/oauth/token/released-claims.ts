import { type Allowed, allowedScopes } from '../grants/allowed.ts'
import type { Claims } from './claims.ts'

/** What decides which claims a token releases. */
export interface Release {
  /** Of the token, or fewer, where the request names some of them. */
  readonly scopes: Iterable<string>
  /** Names that the authorization request asked for, `claims.userinfo` (OpenID Connect Core §5.5). */
  readonly requested: readonly string[]
  /** What the person allowed, and what they refused. */
  readonly allowed: Allowed
  readonly claimsByScope: Readonly<Record<string, readonly string[]>>
}

/**
 * The claims that a token releases: those of its scopes that the person granted, and those which were
 * asked for by name and granted so, without what the person refused. `sub` is always among them
 * (OpenID Connect Core §5.3.2).
 */
export function releasedClaims(
  known: Claims,
  { scopes, requested, allowed, claimsByScope }: Release,
): Claims {
  const { openid, rejected } = allowed
  const granted = allowedScopes(allowed)
  const released = new Set<string>()
  for (const scope of scopes) {
    if (!granted.includes(scope)) continue
    for (const name of claimsByScope[scope] ?? []) released.add(name)
  }
  for (const name of requested) {
    if (openid?.claims?.includes(name)) released.add(name)
  }
  for (const name of rejected?.openid?.claims ?? []) released.delete(name)
  const named = [...released].filter((name) => Object.hasOwn(known, name))
  return { sub: known.sub, ...Object.fromEntries(named.map((name) => [name, known[name]])) }
}
