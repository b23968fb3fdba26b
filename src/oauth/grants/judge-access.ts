import type { AdapterPayload } from 'oidc-provider'

import { needsOperator, needsResource, needsToChange } from '../../directory/scopes/policy.ts'
import type { AssuranceDemand } from '../../directory/scopes/sensitive-operations.ts'
import type { ReviewState } from '../../directory/sites/review-policy.ts'
import { operates } from '../../directory/sites/site-choice.ts'
import type { SiteRole } from '../../platform/store/schema.ts'
import type { Allowed } from './allowed-scopes.ts'
import type { EndReason } from './end-grants.ts'
import type { Family } from './family-store.ts'

export type LostReason =
  | 'the grant does not exist'
  | 'the grant has expired'
  | `the grant has ended: ${EndReason}`
  | 'the account is disabled'
  | 'the person has no role at the site'
  | 'the person is no longer an operator of the site'
  | 'the person is no longer an owner of the site'
  | 'the client is disabled'
  | 'the client was deleted'
  | 'the site has disabled MCP connections'
  | 'the client is not approved for write access at the site'

/** A grant as read from the database. */
export interface Grant {
  readonly id: string
  readonly personId: string
  readonly clientId: string
  readonly clientOrigin: string
  readonly siteId: string | undefined
  /** The fingerprint of the client's metadata document at the time of consent; undefined if there was no document. */
  readonly documentFingerprint: string | undefined
  readonly allowed: Allowed
  readonly grantedAt: number
  readonly expiresAt: number
  readonly endedBecause: EndReason | undefined
}

/** A person's data, from which claims are made. */
export interface PersonFacts {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly emailVerifiedAt?: number
  readonly picture?: string | undefined
  readonly preferredUsername?: string
  readonly locale?: string
  readonly timeZone?: string
  /** When the person's data last changed, in epoch milliseconds. */
  readonly updatedAt?: number
}

/** A grant with all facts that decide whether it may be used. */
export interface AccessFacts {
  readonly grant: Grant
  readonly person: PersonFacts
  readonly personDisabled: boolean
  /** The person's current roles at the site of the grant. */
  readonly roles: readonly SiteRole[]
  readonly clientDisabled: boolean
  readonly clientDeleted: boolean
  /** Whether the client is an application of a site. */
  readonly isApplication: boolean
  /** Whether the grant lasts as long as the client keeps refreshing its tokens (design 9). */
  readonly isEndless?: boolean
  /** Whether MCP connections are off at the client's site; false for a client without a site. */
  readonly featureOff: boolean
  /** The review state of the client's metadata document at the site of the grant (design 31). */
  readonly documentReview?: ReviewState | undefined
  /** The site's requirements for sensitive operations, if any. */
  readonly assuranceDemand?: AssuranceDemand | undefined
  /** The family that was looked up, or that belongs to the code that was looked up; undefined if there is none. */
  readonly family: Family | undefined
  /** The engine's record of the code that was looked up. */
  readonly code?: AdapterPayload | undefined
  /** The version of the client that sent the request (oauth/clients/find-client.ts); 0 if none is stored. */
  readonly callerVersion: number
}

/**
 * Reads a grant by its id, the id of one of its families, or the digest of an unexpired code. Includes all facts that
 * decide whether it may be used.
 */
export type FindGrant = (question: {
  readonly grantId?: string | undefined
  readonly familyId?: string | undefined
  readonly codeId?: string | undefined
  /** The client that sent the request. Its version is read with the grant. */
  readonly callerId?: string | undefined
}) => Promise<AccessFacts | undefined>

/**
 * Decides whether a grant may still be used with these scopes. Called at every use of a code or token (design 15 and
 * 30). A pure function, tested with a table of cases.
 *
 * @returns why the grant may not be used, or undefined
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
  // Only applications of a site can have member scopes. If the application is missing, it was deleted.
  if (facts.clientDeleted || (needsResource(scopes) && !facts.isApplication)) {
    return 'the client was deleted'
  }
  if (facts.clientDisabled) return 'the client is disabled'
  // If the document has changed since its approval, write scopes still work until the next refresh (`dropUnapproved`).
  if (facts.documentReview === 'unreviewed' && needsToChange(scopes)) {
    return 'the client is not approved for write access at the site'
  }
  return facts.featureOff ? 'the site has disabled MCP connections' : undefined
}

function lossOfGrant({ grant }: AccessFacts, nowMs: number): LostReason | undefined {
  if (grant.endedBecause) return `the grant has ended: ${grant.endedBecause}`
  return grant.expiresAt <= nowMs ? 'the grant has expired' : undefined
}

function lossOfRole(
  { grant, roles }: AccessFacts,
  scopes: readonly string[],
): LostReason | undefined {
  // A grant without a site is only for signing in, which needs no role. Member scopes always need a role.
  const atSite = grant.siteId !== undefined || needsResource(scopes)
  if (atSite && roles.length === 0) return 'the person has no role at the site'
  if (grant.clientOrigin === 'operator' && !roles.includes('owner')) {
    return 'the person is no longer an owner of the site'
  }
  return needsOperator(scopes) && !operates(roles)
    ? 'the person is no longer an operator of the site'
    : undefined
}

/** Drops write scopes if the metadata document has changed since its approval (design 31). */
export function dropUnapproved(
  held: readonly string[],
  { documentReview }: Pick<AccessFacts, 'documentReview'>,
): readonly string[] {
  return documentReview === 'changed' ? held.filter((scope) => !needsToChange([scope])) : held
}
