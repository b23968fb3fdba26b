import { sql } from 'kysely'

import { decideReview, decisionOf } from '../../directory/sites/review-policy.ts'
import { demandOf, MCP_CONNECTIONS } from '../../directory/sites/site-admin.ts'
import { compiled, type Valued } from '../../platform/store/compiled-queries.ts'
import type { Database } from '../../platform/store/database.ts'
import { CODE_MODEL } from '../../platform/store/oauth-state.ts'
import type { DocumentReview } from '../../platform/store/oauth-tables.ts'
import type { SiteRole } from '../../platform/store/schema.ts'
import type { EndReason } from './end-grants.ts'
import type { Family } from './family-store.ts'
import type { AccessFacts, FindGrant, Grant, PersonFacts } from './judge-access.ts'

/** The clients that the configuration allows. */
export interface AdmittedClients {
  /** The client ids of the platforms in the current configuration. */
  readonly integrations: ReadonlySet<string>
  /** Whether the configuration allows the URL of a client's metadata document; true for a client without one. */
  admitsOrigin(clientId: string): boolean
}

/** Creates the query for grants. @param now the clock of the store, which decides when codes expire */
export function makeFindGrant(
  database: Database,
  admitted: AdmittedClients,
  now: () => number,
): FindGrant {
  const byGrant = factsQuery(database, 'grant')
  const byFamily = factsQuery(database, 'family')
  const byCode = factsQuery(database, 'code')
  return async ({ grantId, familyId, codeId, callerId = '' }) => {
    const id = grantId ?? familyId ?? codeId
    if (id === undefined) return undefined
    const byOther = familyId === undefined ? byCode : byFamily
    const ask = grantId === undefined ? byOther : byGrant
    const { rows } = await ask({ id, callerId, nowMs: now() })
    return factsOf(
      rows.map(({ facts }) => factsRow(JSON.parse(facts))),
      admitted,
    )
  }
}

/** The columns of `factsQuery`, grouped by the objects of a `FactsRow`. */
const columns = {
  grant: {
    ...{ id: 'g.id', personId: 'g.person_id', clientId: 'g.client_id', siteId: 'g.site_id' },
    ...{ clientOrigin: 'g.client_origin', documentFingerprint: 'g.document_fingerprint' },
    ...{ allowed: 'g.allowed', grantedAt: 'g.granted_at', expiresAt: 'g.expires_at' },
    endedBecause: 'g.end_reason',
  },
  person: {
    ...{ id: 'p.id', name: 'p.name', email: 'p.email', emailVerifiedAt: 'p.email_verified_at' },
    ...{ picture: 'p.picture', preferredUsername: 'p.preferred_username', locale: 'p.locale' },
    ...{ timeZone: 'p.time_zone', updatedAt: 'p.updated_at' },
  },
  application: {
    ...{ clientId: 'app.client_id', siteId: 'app.site_id', endlessAt: 'app.endless_at' },
    ...{ disabledAt: 'app.disabled_at', deletedAt: 'app.deleted_at' },
  },
  document: {
    ...{ fingerprint: 'd.fingerprint', review: 'd.review', siteReview: 'ds.review' },
    ...{ reviewedFingerprint: 'd.reviewed_fingerprint', siteFingerprint: 'ds.fingerprint' },
  },
  family: {
    ...{ id: 'f.id', seed: 'f.seed', token: 'f.token', generation: 'f.generation' },
    ...{ steps: 'f.steps', startedAt: 'f.started_at', endedAt: 'f.ended_at' },
  },
  state: {
    ...{ personDisabledAt: 'p.disabled_at', role: 'r.role', featureEnabledAt: 'sf.enabled_at' },
    ...{ integrationDisabledAt: 'i.disabled_at', demandedAreas: 'sa.areas' },
    ...{ demandedMaxAge: 'sa.max_age_seconds', callerVersion: 'v.version', code: 'c.payload' },
  },
} as const

/** A row of `factsQuery`. A property is undefined if its column is null. */
interface FactsRow {
  readonly grant: Omit<Grant, 'allowed' | 'endedBecause'> & {
    readonly allowed: string
    readonly endedBecause?: EndReason
  }
  readonly person: PersonFacts
  readonly application: {
    readonly clientId?: string
    readonly siteId?: string
    readonly endlessAt?: number
    readonly disabledAt?: number
    readonly deletedAt?: number
  }
  readonly document: {
    readonly fingerprint?: string
    readonly review?: DocumentReview
    readonly reviewedFingerprint?: string
    readonly siteReview?: DocumentReview
    readonly siteFingerprint?: string
  }
  readonly family: Omit<Family, 'id' | 'token' | 'steps' | 'ended'> & {
    readonly id?: string
    readonly token: string
    readonly steps: string
    readonly endedAt?: number
  }
  readonly state: {
    readonly personDisabledAt?: number
    readonly role?: SiteRole
    readonly featureEnabledAt?: number
    readonly integrationDisabledAt?: number
    readonly demandedAreas?: string
    readonly demandedMaxAge?: number
    readonly callerVersion?: number
    readonly code?: string
  }
}

const shape = Object.entries(columns).map(([object, of]) => [object, Object.keys(of)] as const)

/** @param values the values of all columns, in the order of `columns` */
function factsRow(values: readonly unknown[]): FactsRow {
  const row: Record<string, Record<string, unknown>> = {}
  let position = 0
  for (const [object, names] of shape) {
    const properties: Record<string, unknown> = {}
    for (const name of names) properties[name] = values[position++] ?? undefined
    row[object] = properties
  }
  return row as unknown as FactsRow
}

function factsOf(rows: readonly FactsRow[], admitted: AdmittedClients): AccessFacts | undefined {
  const [row] = rows
  if (!row) return undefined
  const { grant, person, application, document, family, state } = row
  const platform = decisionOf(document.review, document.reviewedFingerprint)
  const site = decisionOf(document.siteReview, document.siteFingerprint)
  const review = decideReview({ platform, site }, document.fingerprint ?? '')
  const listed = grant.clientOrigin !== 'integration' || admitted.integrations.has(grant.clientId)
  return {
    grant: { ...grant, allowed: JSON.parse(grant.allowed), endedBecause: grant.endedBecause },
    person,
    personDisabled: state.personDisabledAt !== undefined,
    roles: rows.flatMap(({ state: { role } }) => role ?? []).sort(),
    isApplication: application.clientId !== undefined,
    isEndless: application.endlessAt !== undefined,
    clientDisabled:
      application.disabledAt !== undefined ||
      state.integrationDisabledAt !== undefined ||
      review === 'blocked' ||
      !admitted.admitsOrigin(grant.clientId),
    // Platforms exist only in the configuration, applications only as rows. If one is missing, it was removed.
    clientDeleted:
      application.deletedAt !== undefined ||
      !listed ||
      (['site', 'operator'].includes(grant.clientOrigin) && application.clientId === undefined),
    featureOff: application.siteId !== undefined && state.featureEnabledAt === undefined,
    documentReview: grant.clientOrigin === 'document' ? review : undefined,
    assuranceDemand: demandOf(state.demandedAreas, state.demandedMaxAge),
    family:
      family.id === undefined
        ? undefined
        : {
            ...family,
            id: family.id,
            token: JSON.parse(family.token),
            steps: family.steps.split(' ').map(Number),
            ended: family.endedAt !== undefined,
          },
    code: state.code === undefined ? undefined : JSON.parse(state.code),
    callerVersion: state.callerVersion ?? 0,
  }
}

/**
 * Creates the query for a grant, with the facts that decide whether it may be used. For a known grant, it returns one
 * row per role of the person at the grant's site, or one row without a role. Every use of a token or code runs this
 * query. The record and the family of a code have the same id, the digest of the code. Each row is one JSON array,
 * because reading more than forty columns would take the drivers longer than the rest of the query.
 */
function factsQuery({ kysely, engine }: Database, by: 'grant' | 'family' | 'code') {
  const isAbsent = { grant: /^[fc]\./, family: /^c\./, code: /^$/ }[by]
  const names = Object.values(columns).flatMap((of) => Object.values(of))
  const values = sql.raw(names.map((name) => (isAbsent.test(name) ? 'null' : name)).join(', '))
  const facts = {
    sqlite: sql`json_array(${values})`,
    postgres: sql`json_build_array(${values})::text`,
  }[engine]
  const payload = sql.raw(engine === 'sqlite' ? 'c.payload' : 'c.payload::json')
  type Values = { readonly id: string; readonly callerId: string; readonly nowMs: number }
  return compiled(kysely, (value: Valued<Values>) => {
    const { tables, where } = {
      grant: { tables: sql`oauth_grant g`, where: sql`g.id = ${value('id')}` },
      family: {
        tables: sql`refresh_token_family f join oauth_grant g on g.id = f.grant_id`,
        where: sql`f.id = ${value('id')}`,
      },
      code: {
        tables: sql`oauth_state c join oauth_grant g on g.id = ${payload} ->> 'grantId'
          left join refresh_token_family f on f.id = c.id`,
        where: sql`c.model = ${CODE_MODEL} and c.id = ${value('id')}
          and c.expires_at > ${value('nowMs')}`,
      },
    }[by]
    const query = sql<{ readonly facts: string }>`
      select ${facts} as facts
      from ${tables}
      join person p on p.id = g.person_id
      left join site_role r on r.person_id = g.person_id and r.site_id = g.site_id
      left join oauth_application app on app.client_id = g.client_id
      left join integration_override i on i.client_id = g.client_id
      left join site_feature sf on sf.site_id = app.site_id and sf.feature = ${MCP_CONNECTIONS}
      left join document_client d on d.client_id = g.client_id
      left join document_site_review ds on ds.client_id = g.client_id and ds.site_id = g.site_id
      left join site_assurance sa on sa.site_id = g.site_id
      left join client_version v on v.client_id = ${value('callerId')}
      where ${where}`
    return { compile: () => query.compile(kysely) }
  })
}
