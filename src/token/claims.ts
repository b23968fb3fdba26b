import type { FindAccount } from 'oidc-provider'

import type { FindAccess, PersonFacts, TokenOfGrant } from '../grants/access.ts'
import { logFields } from '../http/request-log.ts'

/**
 * The claims of a person (specification, UserInfo / id_token claims). With a token or code its access
 * is looked up at every use: where it was lost there is nobody, which the engine answers with
 * invalid_grant or invalid_token, and `roles` are those held now.
 */
export const claimsByScope = {
  openid: ['sub'],
  // design 15: org_id and roles come with `profile`, not with bare `openid`.
  profile: ['name', 'picture', 'org_id', 'roles'],
  email: ['email'],
} as const

/** A person who may sign in; sessions that began before the sign-out are over. */
type SessionPerson = Omit<PersonFacts, 'picture'> & { readonly signedOutAt?: number | undefined }

export interface ClaimsDependencies {
  readonly findPerson: (personId: string) => Promise<SessionPerson | undefined>
  readonly findAccess: FindAccess
  /** What the conformance suite's clients are told of a person besides (design 26). */
  readonly conformance: SuiteClaims | undefined
  /** Hears of each use of a token, here and at introspection. */
  readonly countUse: (grantId: string) => void
}

export interface SuiteClaims {
  /** Every standard claim, for whoever signs in through one of the suite's clients. */
  readonly claims: Readonly<Record<string, unknown>>
  covers(clientId: string | undefined): boolean
}

/** The engine's `findAccount`. One query at most. */
export function makeFindAccount(dependencies: ClaimsDependencies): FindAccount {
  const { findPerson, findAccess, conformance, countUse } = dependencies
  return async (ctx, personId, token) => {
    if (!token || !('grantId' in token)) return sessionAccount(await findPerson(personId))
    const { grantId, clientId }: TokenOfGrant = token
    const access = await findAccess({ grantId, clientId, accountId: personId }, token.scopes)
    if (access.kind === 'lost') {
      // The caller learns that the token is of no use; the log says why.
      logFields(ctx).detail = access.reason
      return undefined
    }
    const { grant, person, roles } = access
    if (token.kind === 'AccessToken') countUse(grant.id)
    const claims = {
      sub: person.id,
      name: person.name,
      email: person.email,
      ...(person.picture !== undefined && { picture: person.picture }),
      ...(grant.siteId !== undefined && { org_id: grant.siteId, roles: [...roles] }),
    }
    if (!conformance?.covers(clientId)) return accountOf(claims)
    // The suite warns of profile claims in an id_token, and wants every standard claim at UserInfo.
    return accountOf({ ...conformance.claims, ...claims }, { sub: person.id })
  }
}

/** Whose session it is, with what tells whether it began before a sign-out everywhere. */
function sessionAccount(person: SessionPerson | undefined) {
  if (!person) return undefined
  const { id, name, email, signedOutAt } = person
  return { ...accountOf({ sub: id, name, email }), signedOutAt }
}

type Claims = { readonly sub: string } & Record<string, unknown>

function accountOf(claims: Claims, inIdToken = claims) {
  return {
    accountId: claims.sub,
    claims: (use: string) => (use === 'id_token' ? inIdToken : claims),
  }
}
