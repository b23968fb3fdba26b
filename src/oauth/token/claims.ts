import type { FindAccount, KoaContextWithOIDC } from 'oidc-provider'

import type { Person } from '../../directory/people/person-store.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { type Allowed, allowedScopes } from '../grants/allowed-scopes.ts'
import { type AccessFacts, type FindGrant, judgeAccess } from '../grants/judge-access.ts'

/** Claims about a person, grouped by the scope that releases them (specification, UserInfo / id_token claims). */
export const claimsByScope = {
  openid: ['sub'],
  // org_id and roles require `profile`, not only `openid` (design 15).
  profile: [
    ...['name', 'picture', 'preferred_username', 'locale', 'zoneinfo', 'updated_at'],
    ...['org_id', 'roles'],
  ],
  email: ['email', 'email_verified'],
}

/** Additional claims for the conformance suite's clients (design 26). */
export interface SuiteClaims {
  /** Values of all standard claims, for UserInfo responses to the suite's clients. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly claimsByScope: Readonly<Record<string, readonly string[]>>
  covers(clientId: string | undefined): boolean
}

export type Claims = { readonly sub: string } & Readonly<Record<string, unknown>>

/**
 * Returns all claims about the person who gave a grant, regardless of scopes. Except for `org_id` and `roles`, the
 * names and units are those of OpenID Connect Core §5.1. Omits claims without a value.
 */
export function claimsOf(facts: Pick<AccessFacts, 'grant' | 'person' | 'roles'>): Claims {
  const { grant, person, roles } = facts
  const { id: sub, name, email, picture, locale, updatedAt } = person
  const claims = {
    ...{ sub, name, email, picture, locale },
    email_verified: person.emailVerifiedAt !== undefined,
    preferred_username: person.preferredUsername,
    zoneinfo: person.timeZone,
    updated_at: updatedAt && Math.floor(updatedAt / 1000),
    ...(grant.siteId !== undefined && { org_id: grant.siteId, roles: [...roles] }),
  }
  const known = Object.entries(claims).filter(([, value]) => value !== undefined)
  return { sub, ...Object.fromEntries(known) }
}

/**
 * Creates the engine's `findAccount`. For a session, it finds the person. For a code, it finds the claims of the
 * id_token. If the grant may no longer be used, it returns undefined, and the engine responds with invalid_grant.
 */
export function makeFindAccount(
  findSessionPerson: (ctx: KoaContextWithOIDC, personId: string) => Promise<Person | undefined>,
  findGrant: FindGrant,
  conformance: SuiteClaims | undefined,
  now: () => number,
): FindAccount {
  return async (ctx, personId, token) => {
    if (!token || !('grantId' in token)) {
      const person = await findSessionPerson(ctx, personId)
      if (!person) return undefined
      const { id, name, email, session } = person
      return { ...engineAccount({ sub: id, name, email }), session }
    }
    const { grantId, clientId, scopes } = token
    const facts = await findGrant({ grantId })
    const isOfGrant =
      !facts || (facts.grant.personId === personId && facts.grant.clientId === clientId)
    const lost = isOfGrant
      ? judgeAccess(facts, [...scopes], now())
      : 'the grant belongs to another person or client'
    if (!facts || lost !== undefined) {
      // The caller gets only invalid_grant, so log the reason.
      logFields(ctx).detail = lost
      return undefined
    }
    // The conformance suite warns about profile claims in an id_token, and requests them from UserInfo.
    const bare = conformance?.covers(clientId)
    return engineAccount(bare ? { sub: facts.person.id } : claimsOf(facts))
  }
}

function engineAccount(claims: Claims) {
  return { accountId: claims.sub, claims: () => claims }
}

/** The facts that decide which claims a token releases. */
export interface Release {
  /** The scopes of the token. */
  readonly scopes: readonly string[]
  /** Claims requested by name in `claims.userinfo` (OpenID Connect Core §5.5). */
  readonly requested: readonly string[]
  /** The person's consent. */
  readonly allowed: Allowed
  readonly claimsByScope: Readonly<Record<string, readonly string[]>>
}

/**
 * Selects the claims that a token releases. These are the claims of its granted scopes, and claims requested and
 * granted by name. Always includes `sub` (OpenID Connect Core §5.3.2).
 */
export function releasedClaims(
  known: Claims,
  { scopes, requested, allowed, claimsByScope }: Release,
): Claims {
  const granted = allowedScopes(allowed)
  const ofScopes = scopes
    .filter((scope) => granted.includes(scope))
    .flatMap((scope) => claimsByScope[scope] ?? [])
  const released = new Set(
    ofScopes.concat(requested.filter((name) => allowed.openid?.claims?.includes(name))),
  )
  const named = [...released].filter((name) => Object.hasOwn(known, name))
  return { sub: known.sub, ...Object.fromEntries(named.map((name) => [name, known[name]])) }
}
