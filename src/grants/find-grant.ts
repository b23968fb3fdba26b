import { type Selectable, sql } from 'kysely'

import { MCP_CONNECTIONS } from '../sites/feature.ts'
import { compiled, type Valued } from '../store/compiled.ts'
import type { Database } from '../store/database.ts'
import type { Schema, SiteRole } from '../store/schema.ts'
import type { AccessFacts, FindGrant, Grant } from './access.ts'
import type { Allowed } from './allowed.ts'
import type { EndReason } from './end-grants.ts'
import { type FamilyColumns, familyOf } from './family-store.ts'

/** Which clients the configuration admits, besides what the database says of them. */
export interface AdmittedClients {
  /** Client ids of the vendor platforms that are listed now. */
  readonly integrations: ReadonlySet<string>
  /** Whether clients of this id's origin are admitted at all. */
  admitsOrigin(clientId: string): boolean
}

export function makeFindGrant(database: Database, admitted: AdmittedClients): FindGrant {
  const ask = {
    byGrant: factsQuery(database, 'grantId'),
    byFamily: factsQuery(database, 'familyId'),
  }
  return async ({ grantId, familyId = '', callerId = '' }) => {
    if (grantId === undefined && familyId === '') return undefined
    const { rows } =
      grantId === undefined
        ? await ask.byFamily({ grantId: '', familyId, callerId })
        : await ask.byGrant({ grantId, familyId, callerId })
    return factsOf(rows, admitted)
  }
}

function factsOf(rows: readonly FactsRow[], admitted: AdmittedClients): AccessFacts | undefined {
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
    // A platform exists in the configuration only, so that one which is not listed was removed; an
    // application exists as a row.
    clientDeleted:
      row.app_deleted_at !== null ||
      !listed ||
      (row.client_origin === 'site' && row.app_client_id === null),
    featureOff: row.app_site_id !== null && row.feature_enabled_at === null,
    family: familyOf(row),
    callerVersion: row.caller_version ?? 0,
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
    allowed: row.allowed === null ? undefined : (JSON.parse(row.allowed) as Allowed),
    grantedAt: row.granted_at,
    expiresAt: row.expires_at,
    endedBecause: row.ended_at === null ? undefined : (row.end_reason as EndReason),
  }
}

/**
 * One row for each role of the person at the grant's site, or one without a role. It is the query of
 * every use of a token, and is written as the databases read it.
 */
function factsQuery({ kysely }: Database, by: 'grantId' | 'familyId') {
  return compiled(kysely, (value: Valued<Asked>) => {
    const id = {
      grantId: sql`${value('grantId')}`,
      familyId: sql`(select grant_id from refresh_token_family where id = ${value('familyId')})`,
    }[by]
    const query = sql<FactsRow>`
      select
        g.id, g.person_id, g.client_id, g.client_origin, g.site_id, g.document_fingerprint, g.allowed,
        g.granted_at, g.expires_at, g.ended_at, g.end_reason,
        p.name, p.email, p.picture, p.disabled_at,
        r.role,
        app.client_id as app_client_id, app.site_id as app_site_id,
        app.disabled_at as app_disabled_at, app.deleted_at as app_deleted_at,
        i.disabled_at as integration_disabled_at,
        sf.enabled_at as feature_enabled_at,
        d.review as document_review,
        f.id as family_id, f.seed as family_seed, f.token as family_token,
        f.generation as family_generation, f.steps as family_steps,
        f.started_at as family_started_at, f.ended_at as family_ended_at,
        v.version as caller_version
      from oauth_grant g
      join person p on p.id = g.person_id
      left join site_role r on r.person_id = g.person_id and r.site_id = g.site_id
      left join oauth_application app on app.client_id = g.client_id
      left join integration_override i on i.client_id = g.client_id
      left join site_feature sf on sf.site_id = app.site_id and sf.feature = ${MCP_CONNECTIONS}
      left join document_client d on d.client_id = g.client_id
      left join refresh_token_family f on f.grant_id = g.id and f.id = ${value('familyId')}
      left join client_version v on v.client_id = ${value('callerId')}
      where g.id = ${id}`
    return { compile: () => query.compile(kysely) }
  })
}

interface Asked {
  readonly grantId: string
  readonly familyId: string
  readonly callerId: string
}

type Row<Table extends keyof Schema> = Selectable<Schema[Table]>

interface FactsRow
  extends Omit<Row<'oauth_grant'>, 'client_name' | 'last_used_at'>,
    Pick<Row<'person'>, 'name' | 'email' | 'picture' | 'disabled_at'>,
    FamilyColumns {
  readonly role: SiteRole | null
  readonly app_client_id: string | null
  readonly app_site_id: string | null
  readonly app_disabled_at: number | null
  readonly app_deleted_at: number | null
  readonly integration_disabled_at: number | null
  readonly feature_enabled_at: number | null
  readonly document_review: Row<'document_client'>['review']
  readonly caller_version: number | null
}
