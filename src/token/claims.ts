import type { FindAccount, KoaContextWithOIDC } from 'oidc-provider'

import type { Access, AccessQuestion } from '../grants/access.ts'
import { logFields } from '../http/request-log.ts'
import type { Person } from '../people/person-store.ts'
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
  readonly findAccess: (question: AccessQuestion) => Promise<Access>
  /** What the conformance suite's clients are told of a person besides (design 26). */
  readonly conformance: SuiteClaims | undefined
  /** Hears of each use of an access token. */
  readonly countUse: (grantId: string) => void
}

export interface SuiteClaims {
  readonly claims: Readonly<Record<string, unknown>>
  covers(clientId: string | undefined): boolean
}

/** A code or token, as far as standing is concerned. */
export interface TokenOfGrant {
  readonly accountId?: string | undefined
  readonly clientId?: string | undefined
  readonly grantId?: string | undefined
  readonly scope?: string | undefined
}

/** The question to ask about a code or token. */
export function accessQuestion(holding: TokenOfGrant): AccessQuestion {
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
  findAccess,
  conformance,
  countUse,
}: AccountDependencies): FindAccount {
  return async (ctx, personId, token) => {
    if (!token || !('grantId' in token)) return await sessionAccount(personId, findPerson)
    const holding = token as TokenOfGrant
    const question = accessQuestion({ ...holding, accountId: personId })
    const access = await findAccess(forKind(question, token.kind))
    if (access.kind === 'lost') {
      explain(ctx, access.reason)
      return undefined
    }
    if (token.kind === 'AccessToken' && holding.grantId !== undefined) countUse(holding.grantId)
    const { person, roles } = access
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
function forKind(question: AccessQuestion, kind: string): AccessQuestion {
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
