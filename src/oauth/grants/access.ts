import { needsOperator, needsResource, needsToChange } from '../../directory/scopes/policy.ts'
import type { ReviewState } from '../../directory/sites/review-policy.ts'
import { operates } from '../../directory/sites/site-choice.ts'
import type { SiteRole } from '../../platform/store/schema.ts'
import type { Allowed } from './allowed.ts'
import type { EndReason } from './end-grants.ts'
import type { Family } from './family-store.ts'

export type LostReason =
  | 'the grant does not exist'
  | 'the grant has expired'
  | `the grant has ended: ${EndReason}`
  | 'the account is disabled'
  | 'the person has no role at the site'
  | 'the person does not operate the site any more'
  | 'the client is disabled'
  | 'the client was deleted'
  | 'the site switched MCP connections off'
  | 'no operator of the site approved that the client changes anything'

/** A grant as its row has it. */
export interface Grant {
  readonly id: string
  readonly personId: string
  readonly clientId: string
  readonly clientOrigin: string
  readonly siteId: string | undefined
  readonly documentFingerprint: string | undefined
  readonly allowed: Allowed
  readonly grantedAt: number
  readonly expiresAt: number
  readonly endedBecause: EndReason | undefined
}

export interface PersonFacts {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly picture: string | undefined
  /** What else the platform has told of the person; what is not known is absent. */
  readonly told?: ToldOfPerson
}

export interface ToldOfPerson {
  readonly emailVerified?: true
  readonly preferredUsername?: string
  readonly locale?: string
  readonly timeZone?: string
  /** In epoch milliseconds. */
  readonly updatedAt?: number
}

/** What one query reads about a grant, before anything is concluded from it. */
export interface AccessFacts {
  readonly grant: Grant
  readonly person: PersonFacts
  readonly personDisabled: boolean
  /** The roles that the person holds now at the site of the grant. */
  readonly roles: readonly SiteRole[]
  readonly clientDisabled: boolean
  readonly clientDeleted: boolean
  /** Whether the client is an application of a site, or one of the other kinds. */
  readonly isApplication: boolean
  /** Whether the client is a site's own, and that site has its beta feature off. */
  readonly featureOff: boolean
  /** Of a client of a metadata document: what counts at the site of the grant (design 31). */
  readonly documentReview?: ReviewState | undefined
  /** The family that was asked for, if it is of this grant. */
  readonly family: Family | undefined
  /** Of the client that asks, how often it was changed (oauth/clients/find-client.ts). */
  readonly callerVersion: number
}

/** Which grant: that of an id, or that of a family. */
export interface GrantQuestion {
  readonly grantId?: string | undefined
  readonly familyId?: string | undefined
  /** The client that asks, where one has to be authenticated. */
  readonly callerId?: string | undefined
}

/** Finds a grant with what decides about its use; nothing when there is no such grant. One query. */
export type FindGrant = (question: GrantQuestion) => Promise<AccessFacts | undefined>

/**
 * Whether a grant may still be used. Codes and tokens say nothing by themselves, so this is asked at every
 * use of one, with one query (design 15 and 30). Pure, so that one table of its test has every case.
 *
 * @returns why the grant may not be used; nothing when it may
 */
export function judgeAccess(
  facts: AccessFacts | undefined,
  scopes: readonly string[],
  nowMs: number,
): LostReason | undefined {
  if (!facts) return 'the grant does not exist'
  return lossOfClient(facts, scopes) ?? lossOfGrant(facts, nowMs) ?? lossOfRole(facts, scopes)
}

function lossOfClient(facts: AccessFacts, scopes: readonly string[]): LostReason | undefined {
  if (facts.personDisabled) return 'the account is disabled'
  // Member scopes are of a site's own applications only, so that one without a row was removed.
  if (facts.clientDeleted || (needsResource(scopes) && !facts.isApplication)) {
    return 'the client was deleted'
  }
  if (facts.clientDisabled) return 'the client is disabled'
  // A document that changed since keeps what was allowed to the one before, until the next refresh.
  if (facts.documentReview === 'unreviewed' && needsToChange(scopes)) {
    return 'no operator of the site approved that the client changes anything'
  }
  return facts.featureOff ? 'the site switched MCP connections off' : undefined
}

function lossOfGrant({ grant }: AccessFacts, nowMs: number): LostReason | undefined {
  if (grant.endedBecause) return `the grant has ended: ${grant.endedBecause}`
  return grant.expiresAt <= nowMs ? 'the grant has expired' : undefined
}

function lossOfRole(
  { grant, roles }: AccessFacts,
  scopes: readonly string[],
): LostReason | undefined {
  // Only a plain sign-in is at no site: without one there is nothing to read or to operate.
  const atSite = grant.siteId !== undefined || needsResource(scopes)
  if (atSite && roles.length === 0) return 'the person has no role at the site'
  return needsOperator(scopes) && !operates(roles)
    ? 'the person does not operate the site any more'
    : undefined
}

/** What a document was approved to change, another one of the same client is not (design 31). */
export function stillApproved(
  held: readonly string[],
  { documentReview }: Pick<AccessFacts, 'documentReview'>,
): readonly string[] {
  return documentReview === 'changed' ? held.filter((scope) => !needsToChange([scope])) : held
}
