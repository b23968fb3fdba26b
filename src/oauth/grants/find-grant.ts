import { type Selectable, sql } from 'kysely'

import { decideReview, decisionOf, type ReviewState } from '../../directory/sites/review-policy.ts'
import { MCP_CONNECTIONS } from '../../directory/sites/site-admin.ts'
import { compiled, type Valued } from '../../platform/store/compiled.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { Allowed } from './allowed-scopes.ts'
import type { EndReason } from './end-grants.ts'
import type { Family } from './family-store.ts'
import type { AccessFacts, FindGrant, Grant, OptionalClaims } from './judge-access.ts'

/** The clients that the configuration allows. */
export interface AdmittedClients {
  /** Client ids of the platforms in the current configuration. */
  readonly integrations: ReadonlySet<string>
  /** Whether the configuration allows the host of a client's metadata document; true for other clients. */
  admitsOrigin(clientId: string): boolean
}

export function makeFindGrant(database: Database, admitted: AdmittedClients): FindGrant {
  const ask = {
    byGrant: factsQuery(database, 'grantId'),
    byFamily: factsQuery(database, 'familyId'),
  }
  return async ({ grantId, familyId = '', callerId = '' }) => {
    if (grantId === undefined && familyId === '') return undefined
    const rows =
      grantId === undefined
        ? await ask.byFamily({ grantId: '', familyId, callerId })
        : await ask.byGrant({ grantId, familyId, callerId })
    return factsOf(rows, admitted)
  }
}

function factsOf(rows: readonly FactsRow[], admitted: AdmittedClients): AccessFacts | undefined {
  const [row] = rows
  if (!row) return undefined
  const review = reviewOf(row)
  const listed = row.client_origin !== 'integration' || admitted.integrations.has(row.client_id)
  return {
    grant: grantOf(row),
    person: {
      id: row.person_id,
      name: row.name,
      email: row.email,
      picture: row.picture ?? undefined,
      optionalClaims: optionalClaimsOf(row),
    },
    personDisabled: row.disabled_at !== null,
    roles: rows.flatMap(({ role }) => role ?? []).sort(),
    isApplication: row.app_client_id !== null,
    clientDisabled:
      row.app_disabled_at !== null ||
      row.integration_disabled_at !== null ||
      review === 'blocked' ||
      !admitted.admitsOrigin(row.client_id),
    // Platforms exist only in the configuration, and applications only as rows. If either is missing, it was removed.
    clientDeleted:
      row.app_deleted_at !== null ||
      !listed ||
      (row.client_origin === 'site' && row.app_client_id === null),
    featureOff: row.app_site_id !== null && row.feature_enabled_at === null,
    documentReview: row.client_origin === 'document' ? review : undefined,
    family: familyOf(row),
    callerVersion: row.caller_version ?? 0,
  }
}

function reviewOf(row: FactsRow): ReviewState {
  const platform = decisionOf(row.document_review, row.document_reviewed_fingerprint)
  const site = decisionOf(row.site_review, row.site_review_fingerprint)
  return decideReview({ platform, site }, row.document_fingerprint_now ?? '')
}

function optionalClaimsOf(row: FactsRow): OptionalClaims {
  return {
    ...(row.email_verified_at !== null && { emailVerified: true }),
    ...(row.preferred_username !== null && { preferredUsername: row.preferred_username }),
    ...(row.locale !== null && { locale: row.locale }),
    ...(row.time_zone !== null && { timeZone: row.time_zone }),
    ...(row.updated_at !== null && { updatedAt: row.updated_at }),
  }
}

function grantOf(row: FactsRow): Grant {
  return {
    id: row.id,
    personId: row.person_id,
    clientId: row.client_id,
    clientOrigin: row.client_origin,
    siteId: row.site_id ?? undefined,
    documentFingerprint: row.document_fingerprint ?? undefined,
    allowed: JSON.parse(row.allowed) as Allowed,
    grantedAt: row.granted_at,
    expiresAt: row.expires_at,
    endedBecause: row.ended_at === null ? undefined : (row.end_reason as EndReason),
  }
}

function familyOf(row: FactsRow): Family | undefined {
  if (row.family_id === null) return undefined
  return {
    id: row.family_id,
    seed: row.family_seed ?? '',
    token: JSON.parse(row.family_token ?? '{}'),
    generation: row.family_generation ?? 0,
    steps: (row.family_steps ?? '').split(' ').map(Number),
    startedAt: row.family_started_at ?? 0,
    ended: row.family_ended_at !== null,
  }
}

/** The tables of the query, by alias. */
interface Tables {
  readonly g: 'oauth_grant'
  readonly p: 'person'
  readonly r: 'site_role'
  readonly app: 'oauth_application'
  readonly i: 'integration_override'
  readonly sf: 'site_feature'
  readonly d: 'document_client'
  readonly ds: 'document_site_review'
  readonly f: 'refresh_token_family'
  readonly v: 'client_version'
}

const columns = {
  id: 'g.id',
  person_id: 'g.person_id',
  client_id: 'g.client_id',
  client_origin: 'g.client_origin',
  site_id: 'g.site_id',
  document_fingerprint: 'g.document_fingerprint',
  allowed: 'g.allowed',
  granted_at: 'g.granted_at',
  expires_at: 'g.expires_at',
  ended_at: 'g.ended_at',
  end_reason: 'g.end_reason',
  name: 'p.name',
  email: 'p.email',
  picture: 'p.picture',
  email_verified_at: 'p.email_verified_at',
  preferred_username: 'p.preferred_username',
  locale: 'p.locale',
  time_zone: 'p.time_zone',
  updated_at: 'p.updated_at',
  disabled_at: 'p.disabled_at',
  role: 'r.role',
  app_client_id: 'app.client_id',
  app_site_id: 'app.site_id',
  app_disabled_at: 'app.disabled_at',
  app_deleted_at: 'app.deleted_at',
  integration_disabled_at: 'i.disabled_at',
  feature_enabled_at: 'sf.enabled_at',
  document_review: 'd.review',
  document_fingerprint_now: 'd.fingerprint',
  document_reviewed_fingerprint: 'd.reviewed_fingerprint',
  site_review: 'ds.review',
  site_review_fingerprint: 'ds.fingerprint',
  family_id: 'f.id',
  family_seed: 'f.seed',
  family_token: 'f.token',
  family_generation: 'f.generation',
  family_steps: 'f.steps',
  family_started_at: 'f.started_at',
  family_ended_at: 'f.ended_at',
  caller_version: 'v.version',
} as const

type FactsRow = { readonly [Name in keyof typeof columns]: ValueOf<(typeof columns)[Name]> }

/** The type of a column. Only the grant and the person always exist, so columns of other tables may be null. */
type ValueOf<Column> = Column extends `${infer Alias extends keyof Tables}.${infer Name}`
  ? Cell<Tables[Alias], Name> | (Alias extends 'g' | 'p' ? never : null)
  : never

type Cell<Table extends keyof Schema, Name> = Name extends keyof Selectable<Schema[Table]>
  ? Selectable<Schema[Table]>[Name]
  : never

/**
 * Creates the query for a grant and the facts that decide whether it may be used. It returns one row per role of the
 * person at the grant's site, or one row if there is no role. Every use of a token runs this query. Each row is one
 * JSON object, because drivers would spend more time on forty columns than on the rest of the query.
 */
function factsQuery({ kysely, engine }: Database, by: 'grantId' | 'familyId') {
  const pairs = Object.entries(columns).map(([name, column]) => `'${name}', ${column}`)
  const facts = {
    sqlite: sql.raw<string>(`json_object(${pairs.join(', ')})`),
    postgres: sql.raw<string>(`json_build_object(${pairs.join(', ')})::text`),
  }[engine]
  const ask = compiled(kysely, (value: Valued<Asked>) => {
    const id = {
      grantId: sql`${value('grantId')}`,
      familyId: sql`(select grant_id from refresh_token_family where id = ${value('familyId')})`,
    }[by]
    const query = sql<{ readonly facts: string }>`
      select ${facts} as facts
      from oauth_grant g
      join person p on p.id = g.person_id
      left join site_role r on r.person_id = g.person_id and r.site_id = g.site_id
      left join oauth_application app on app.client_id = g.client_id
      left join integration_override i on i.client_id = g.client_id
      left join site_feature sf on sf.site_id = app.site_id and sf.feature = ${MCP_CONNECTIONS}
      left join document_client d on d.client_id = g.client_id
      left join document_site_review ds on ds.client_id = g.client_id and ds.site_id = g.site_id
      left join refresh_token_family f on f.grant_id = g.id and f.id = ${value('familyId')}
      left join client_version v on v.client_id = ${value('callerId')}
      where g.id = ${id}`
    return { compile: () => query.compile(kysely) }
  })
  return async (asked: Asked): Promise<FactsRow[]> => {
    const { rows } = await ask(asked)
    return rows.map((row) => JSON.parse(row.facts) as FactsRow)
  }
}

interface Asked {
  readonly grantId: string
  readonly familyId: string
  readonly callerId: string
}
