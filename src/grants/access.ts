import { needsOperator, needsResource } from '../scopes/policy.ts'
import { MCP_CONNECTIONS } from '../sites/feature.ts'
import { operates } from '../sites/roles.ts'
import { compiled, type Valued } from '../store/compiled.ts'
import type { Database } from '../store/database.ts'
import type { SiteRole } from '../store/schema.ts'
import type { EndReason } from './end-grants.ts'
import type { Allowed } from './grant-store.ts'

/**
 * Access: whether a grant may still be used, by whom, and with which roles. Codes and tokens say
 * nothing by themselves, so this is asked at every use of one, with one query (design 15 and 30).
 */
export type Access =
  | {
      readonly kind: 'good'
      readonly grant: Grant
      readonly person: PersonFacts
      /** The roles that the person holds now at the site of the grant. */
      readonly roles: readonly SiteRole[]
    }
  | { readonly kind: 'lost'; readonly reason: LostReason }

export type LostReason =
  | 'the grant does not exist'
  | 'the grant is of another person or client'
  | 'the grant has expired'
  | `the grant has ended: ${EndReason}`
  | 'the account is disabled'
  | 'the person has no role at the site'
  | 'the person does not operate the site any more'
  | 'the client is disabled'
  | 'the client was deleted'
  | 'the site switched MCP connections off'

/** A code or token, as far as access is concerned: the engine's own are such, and so is a record. */
export interface TokenOfGrant {
  readonly grantId?: string | undefined
  readonly accountId?: string | undefined
  readonly clientId?: string | undefined
}

/** A grant as its row has it. */
export interface Grant {
  readonly id: string
  readonly personId: string
  readonly clientId: string
  readonly clientOrigin: string
  readonly siteId: string | undefined
  readonly documentFingerprint: string | undefined
  /** Undefined while the OAuth state still has it, from the version before. */
  readonly allowed: Allowed | undefined
  readonly grantedAt: number
  readonly expiresAt: number
  readonly endedBecause: EndReason | undefined
}

export interface PersonFacts {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly picture: string | undefined
}

/** What one query knows of a grant, before anything is concluded from it. */
export interface AccessFacts {
  readonly grant: Grant
  readonly person: PersonFacts
  readonly personDisabled: boolean
  readonly roles: readonly SiteRole[]
  readonly clientDisabled: boolean
  readonly clientDeleted: boolean
  /** Whether the client is an application of a site, or one of the other kinds. */
  readonly isApplication: boolean
  /** Whether the client is a site's own, and that site has its beta feature off. */
  readonly featureOff: boolean
}

/** Finds a grant with what decides about its use; nothing when there is no such grant. One query. */
export type FindGrant = (grantId: string | undefined) => Promise<AccessFacts | undefined>

/** Concludes from the facts. Pure, so that every case stands in one table of its test. */
export function judgeAccess(
  facts: AccessFacts | undefined,
  scopes: Iterable<string>,
  nowMs: number,
): Access {
  if (!facts) return { kind: 'lost', reason: 'the grant does not exist' }
  const reason =
    lossOfClient(facts, scopes) ?? lossOfGrant(facts, nowMs) ?? lossOfRole(facts, scopes)
  if (reason !== undefined) return { kind: 'lost', reason }
  const { grant, person, roles } = facts
  return { kind: 'good', grant, person, roles }
}

function lossOfClient(facts: AccessFacts, scopes: Iterable<string>): LostReason | undefined {
  if (facts.personDisabled) return 'the account is disabled'
  // Member scopes are of a site's own applications only, so that one without a row was removed.
  if (facts.clientDeleted || (needsResource(scopes) && !facts.isApplication)) {
    return 'the client was deleted'
  }
  if (facts.clientDisabled) return 'the client is disabled'
  return facts.featureOff ? 'the site switched MCP connections off' : undefined
}

function lossOfGrant({ grant }: AccessFacts, nowMs: number): LostReason | undefined {
  if (grant.endedBecause) return `the grant has ended: ${grant.endedBecause}`
  return grant.expiresAt <= nowMs ? 'the grant has expired' : undefined
}

function lossOfRole(
  { grant, roles }: AccessFacts,
  scopes: Iterable<string>,
): LostReason | undefined {
  // Only a plain sign-in is at no site: without one there is nothing to read or to operate.
  const atSite = grant.siteId !== undefined || needsResource(scopes)
  if (atSite && roles.length === 0) return 'the person has no role at the site'
  return needsOperator(scopes) && !operates(roles)
    ? 'the person does not operate the site any more'
    : undefined
}

/** Looks up whether a code or token with these scopes may be used. */
export type FindAccess = (token: TokenOfGrant, scopes: Iterable<string>) => Promise<Access>

export function makeFindAccess(findGrant: FindGrant, now: () => number): FindAccess {
  return async ({ grantId, accountId, clientId }, scopes) => {
    const facts = await findGrant(grantId)
    const { grant } = facts ?? {}
    if (grant && (grant.personId !== accountId || grant.clientId !== clientId)) {
      return { kind: 'lost', reason: 'the grant is of another person or client' }
    }
    return judgeAccess(facts, scopes, now())
  }
}

/** Which clients the configuration admits, besides what the database says of them. */
export interface AdmittedClients {
  /** Client ids of the vendor platforms that are listed now. */
  readonly integrations: ReadonlySet<string>
  /** Whether clients of this id's origin are admitted at all. */
  admitsOrigin(clientId: string): boolean
}

export function makeFindGrant({ kysely }: Database, admitted: AdmittedClients): FindGrant {
  const ask = grantQuery(kysely)
  return async (grantId) => {
    if (grantId === undefined) return undefined
    const { rows } = await ask({ grantId })
    const [row] = rows
    if (!row) return undefined
    const listed = row.client_origin !== 'integration' || admitted.integrations.has(row.client_id)
    return {
      grant: grantOf(row),
      person: {
        id: row.person_id,
        name: row.name,
        email: row.email,
        picture: row.picture ?? undefined,
      },
      personDisabled: row.disabled_at !== null,
      roles: rows.flatMap(({ role }) => role ?? []).sort(),
      isApplication: row.app_client_id !== null,
      clientDisabled:
        row.app_disabled_at !== null ||
        row.integration_disabled_at !== null ||
        row.document_review === 'blocked' ||
        !admitted.admitsOrigin(row.client_id),
      // A platform exists in the configuration only, so that one which is not listed was removed.
      clientDeleted: row.app_deleted_at !== null || !listed,
      featureOff: row.app_site_id !== null && row.feature_enabled_at === null,
    }
  }
}

type GrantRow = Awaited<ReturnType<ReturnType<typeof grantQuery>>>['rows'][number]

function grantOf(row: GrantRow): Grant {
  return {
    id: row.id,
    personId: row.person_id,
    clientId: row.client_id,
    clientOrigin: row.client_origin,
    siteId: row.site_id ?? undefined,
    documentFingerprint: row.document_fingerprint ?? undefined,
    allowed: row.allowed === null ? undefined : (JSON.parse(row.allowed) as Allowed),
    grantedAt: row.granted_at,
    expiresAt: row.expires_at,
    endedBecause: row.ended_at === null ? undefined : (row.end_reason as EndReason),
  }
}

/** One row for each role of the person at the grant's site, or one without a role. */
function grantQuery(kysely: Database['kysely']) {
  return compiled(kysely, (value: Valued<{ readonly grantId: string }>) =>
    kysely
      .selectFrom('oauth_grant as g')
      .innerJoin('person', 'person.id', 'g.person_id')
      .leftJoin('site_role', (join) =>
        join
          .onRef('site_role.person_id', '=', 'g.person_id')
          .onRef('site_role.site_id', '=', 'g.site_id'),
      )
      .leftJoin('oauth_application as app', 'app.client_id', 'g.client_id')
      .leftJoin('integration_override', 'integration_override.client_id', 'g.client_id')
      .leftJoin('site_feature', (join) =>
        join
          .onRef('site_feature.site_id', '=', 'app.site_id')
          .on('site_feature.feature', '=', MCP_CONNECTIONS),
      )
      .leftJoin('document_client', 'document_client.client_id', 'g.client_id')
      .select([
        ...(['g.id', 'g.person_id', 'g.client_id', 'g.client_origin', 'g.site_id'] as const),
        ...(['g.document_fingerprint', 'g.allowed', 'g.granted_at', 'g.expires_at'] as const),
        ...(['g.ended_at', 'g.end_reason'] as const),
        ...(['person.name', 'person.email', 'person.picture', 'person.disabled_at'] as const),
        'site_role.role',
        'app.client_id as app_client_id',
        'app.site_id as app_site_id',
        'app.disabled_at as app_disabled_at',
        'app.deleted_at as app_deleted_at',
        'integration_override.disabled_at as integration_disabled_at',
        'site_feature.enabled_at as feature_enabled_at',
        'document_client.review as document_review',
      ])
      .where('g.id', '=', value('grantId')),
  )
}
