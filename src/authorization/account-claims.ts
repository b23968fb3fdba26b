import type { FindAccount, KoaContextWithOIDC } from 'oidc-provider'

import type { Person } from '../accounts/account-store.ts'
import { logFields } from '../http/request-log.ts'
import type { Standing, StandingQuestion } from '../sites/standing.ts'
import type { ConformanceProfile } from './conformance-profile.ts'
import { siteOfGrant } from './site-of-grant.ts'

/**
 * The claims of a person (specification, UserInfo / id_token claims). With a token or code the
 * person's standing is looked up at every use: where it was lost there is no account, which the
 * engine answers with invalid_grant or invalid_token, and `roles` are those held now.
 */
export const claimsByScope = {
  openid: ['sub'],
  // design 15: org_id and roles come with `profile`, not with bare `openid`.
  profile: ['name', 'picture', 'org_id', 'roles'],
  email: ['email'],
} as const

export interface AccountDependencies {
  readonly findPerson: (personId: string) => Promise<Person | undefined>
  readonly findStanding: (question: StandingQuestion) => Promise<Standing>
  readonly conformance: ConformanceProfile | undefined
  /** Hears of each use of an access token. */
  readonly countUse: (grantId: string) => void
}

/** A code or token, as far as standing is concerned. */
export interface Holding {
  readonly accountId?: string | undefined
  readonly clientId?: string | undefined
  readonly grantId?: string | undefined
  readonly scope?: string | undefined
}

/** The question to ask about a code or token. */
export function standingQuestion(holding: Holding): StandingQuestion {
  return {
    personId: holding.accountId ?? '',
    clientId: holding.clientId ?? '',
    siteId: siteOfGrant(holding.grantId),
    scopes: holding.scope?.split(' ') ?? [],
    grantId: holding.grantId,
  }
}

/** The engine's `findAccount`. One query. */
export function makeFindAccount({
  findPerson,
  findStanding,
  conformance,
  countUse,
}: AccountDependencies): FindAccount {
  return async (ctx, personId, token) => {
    if (!token || !('grantId' in token)) return await sessionAccount(personId, findPerson)
    const holding = token as Holding
    const question = standingQuestion({ ...holding, accountId: personId })
    const standing = await findStanding(forKind(question, token.kind))
    if (standing.kind === 'lost') {
      explain(ctx, standing.reason)
      return undefined
    }
    if (token.kind === 'AccessToken' && holding.grantId !== undefined) countUse(holding.grantId)
    const { person, roles } = standing
    const siteId = siteOfGrant(holding.grantId)
    const claims = {
      sub: person.id,
      name: person.name,
      email: person.email,
      ...(person.picture !== undefined && { picture: person.picture }),
      ...(siteId !== undefined && { org_id: siteId, roles: [...roles] }),
    }
    return conformance?.covers(holding.clientId)
      ? conformanceAccount(claims, conformance.claims)
      : accountOf(claims)
  }
}

/**
 * A parallel exchange of the same code ends the grant, at whatever moment. The one that used the code
 * up had its grant checked before (engine-adapter.ts), and still succeeds (design 11).
 */
function forKind(question: StandingQuestion, kind: string): StandingQuestion {
  return kind === 'AuthorizationCode' ? { ...question, grantId: undefined } : question
}

/** Whose session it is, with what tells whether it began before a sign-out everywhere. */
async function sessionAccount(personId: string, findPerson: AccountDependencies['findPerson']) {
  const person = await findPerson(personId)
  if (!person) return undefined
  const { id, name, email, signedOutAt } = person
  return { ...accountOf({ sub: id, name, email }), signedOutAt }
}

type Claims = { readonly sub: string } & Record<string, unknown>

function accountOf(claims: Claims) {
  return { accountId: claims.sub, claims: () => claims }
}

/** The suite warns of profile claims in an id_token, and wants every standard claim at UserInfo. */
function conformanceAccount(claims: Claims, standard: Readonly<Record<string, unknown>>) {
  return {
    accountId: claims.sub,
    claims: (use: string) =>
      use === 'id_token' ? { sub: claims.sub } : { ...standard, ...claims },
  }
}

/** The caller learns that the token is of no use; the log says why. */
function explain(ctx: KoaContextWithOIDC, reason: string): void {
  logFields(ctx).detail = reason
}
