import type { FindAccount } from 'oidc-provider'

import { logFields } from '../../platform/http/request-log.ts'
import type {
  Access,
  FindAccess,
  PersonFacts,
  TokenOfGrant,
  ToldOfPerson,
} from '../grants/access.ts'

/**
 * The claims of a person (specification, UserInfo / id_token claims), by the scope that releases each.
 */
export const claimsByScope = {
  openid: ['sub'],
  // design 15: org_id and roles come with `profile`, not with bare `openid`.
  profile: [
    ...['name', 'picture', 'preferred_username', 'locale', 'zoneinfo', 'updated_at'],
    ...['org_id', 'roles'],
  ],
  email: ['email', 'email_verified'],
}

/** A person who may sign in; sessions that began before the sign-out are over. */
type SessionPerson = Omit<PersonFacts, 'picture' | 'told'> & {
  readonly signedOutAt?: number | undefined
  readonly sessionEnded?: boolean | undefined
}

export interface ClaimsDependencies {
  readonly findPerson: (personId: string, sessionId?: string) => Promise<SessionPerson | undefined>
  readonly findAccess: FindAccess
  /** What the conformance suite's clients are told of a person besides (design 26). */
  readonly conformance: SuiteClaims | undefined
}

export interface SuiteClaims {
  /** Every standard claim, for whoever signs in through one of the suite's clients. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly claimsByScope: Readonly<Record<string, readonly string[]>>
  covers(clientId: string | undefined): boolean
}

export type Claims = { readonly sub: string } & Readonly<Record<string, unknown>>

/** All that may be said of the person of a grant; `roles` are those held now. */
export function claimsOf({ grant, person, roles }: Extract<Access, { kind: 'good' }>): Claims {
  return {
    sub: person.id,
    name: person.name,
    email: person.email,
    ...(person.picture !== undefined && { picture: person.picture }),
    ...standardClaims(person.told ?? {}),
    ...(grant.siteId !== undefined && { org_id: grant.siteId, roles: [...roles] }),
  }
}

/** OpenID Connect Core §5.1; a time is in seconds there. What is not known is not claimed. */
function standardClaims({
  emailVerified,
  preferredUsername,
  locale,
  timeZone,
  updatedAt,
}: ToldOfPerson) {
  return {
    ...(emailVerified && { email_verified: true }),
    ...(preferredUsername !== undefined && { preferred_username: preferredUsername }),
    ...(locale !== undefined && { locale }),
    ...(timeZone !== undefined && { zoneinfo: timeZone }),
    ...(updatedAt !== undefined && { updated_at: Math.floor(updatedAt / 1000) }),
  }
}

/**
 * The engine's `findAccount`, for sessions and id_tokens. With a code its access is looked up, and
 * where it was lost there is nobody, which the engine answers with invalid_grant. One query at most.
 */
export function makeFindAccount(dependencies: ClaimsDependencies): FindAccount {
  const { findPerson, findAccess, conformance } = dependencies
  return async (ctx, personId, token) => {
    if (!token || !('grantId' in token)) {
      return sessionAccount(await findPerson(personId, ctx.oidc.session?.jti))
    }
    const { grantId, clientId }: TokenOfGrant = token
    const access = await findAccess({ grantId, clientId, accountId: personId }, token.scopes)
    if (access.kind === 'lost') {
      // The caller learns that the code is of no use; the log says why.
      logFields(ctx).detail = access.reason
      return undefined
    }
    // The suite warns of profile claims in an id_token, and asks UserInfo for them.
    const bare = conformance?.covers(clientId)
    return accountOf(bare ? { sub: access.person.id } : claimsOf(access))
  }
}

/** Whose session it is, with what tells whether it began before a sign-out everywhere. */
function sessionAccount(person: SessionPerson | undefined) {
  if (!person) return undefined
  const { id, name, email, signedOutAt, sessionEnded } = person
  return { ...accountOf({ sub: id, name, email }), signedOutAt, sessionEnded }
}

function accountOf(claims: Claims) {
  return { accountId: claims.sub, claims: () => claims }
}
