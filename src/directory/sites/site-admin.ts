/** Reads the data that a site's operator pages need, and changes a site's features and assurance requirements. */

import type { Transaction } from 'kysely'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { insertNew } from '../../platform/store/insert-new.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { AssuranceDemand } from '../scopes/sensitive-operations.ts'
import { type HeldSite, makeFindHeldSites, OWN_SIGN_IN, operates } from './site-choice.ts'

/** The key of the beta feature *MCP connections* (specification, What the service does 9). */
export const MCP_CONNECTIONS = 'mcp_connections'
/** The key of the feature that lets people create an account and join the site as a student. */
export const SELF_SIGN_UP = 'self_sign_up'
/** The key of the feature that lets the site's people remove a lost authenticator app by e-mail. */
export const FACTOR_RESET = 'factor_reset'

/** The name of each feature in audit events, and the actions of those events. */
const features = {
  [MCP_CONNECTIONS]: {
    field: 'mcpConnections',
    actionOf: (on: boolean) => (on ? 'feature.on' : 'feature.off'),
  },
  [SELF_SIGN_UP]: {
    field: 'selfSignUp',
    actionOf: (on: boolean) => (on ? 'sign_up.on' : 'sign_up.off'),
  },
  [FACTOR_RESET]: {
    field: 'factorResetByMail',
    actionOf: (on: boolean) => (on ? 'factor_reset.on' : 'factor_reset.off'),
  },
  [OWN_SIGN_IN]: {
    field: 'onlyIdentityProviders',
    actionOf: (on: boolean) => (on ? 'own_sign_in.on' : 'own_sign_in.off'),
  },
} as const

/** A site, with the roles that one person has there. */
export type AdminSite = NonNullable<Awaited<ReturnType<typeof findAdminSite>>>

/** Finds a site by slug or id, with the roles that the person has there. A slug never equals an id. */
export async function findAdminSite({ kysely }: Database, name: string, personId: string) {
  const rows = await kysely
    .selectFrom('site')
    .leftJoin('site_feature as f', (join) =>
      join.onRef('f.site_id', '=', 'site.id').on('f.feature', '=', MCP_CONNECTIONS),
    )
    .leftJoin('site_feature as joins', (join) =>
      join.onRef('joins.site_id', '=', 'site.id').on('joins.feature', '=', SELF_SIGN_UP),
    )
    .leftJoin('site_assurance as a', 'a.site_id', 'site.id')
    .leftJoin('site_role as r', (join) =>
      join.onRef('r.site_id', '=', 'site.id').on('r.person_id', '=', personId),
    )
    .select(['site.id', 'site.slug', 'site.name', 'site.language', 'f.enabled_at', 'r.role'])
    .select(['joins.enabled_at as joinsOnSince', 'a.areas', 'a.max_age_seconds'])
    .where((e) => e.or([e('site.slug', '=', name), e('site.id', '=', name)]))
    .execute()
  const [row] = rows
  if (!row) return undefined
  const { role: _role, enabled_at, joinsOnSince, areas, max_age_seconds, ...site } = row
  return {
    ...site,
    /** When MCP connections were switched on; undefined if they are off. */
    mcpConnectionsOnSince: enabled_at ?? undefined,
    hasSelfSignUp: joinsOnSince !== null,
    /** The site's requirements for sensitive operations, if any. */
    assuranceDemand: demandOf(areas, max_age_seconds),
    roles: rows.flatMap(({ role }) => role ?? []),
  }
}

/** Reads a site's requirements from the columns of `site_assurance`; undefined without `areas`. */
export function demandOf(areas?: string | null, maxAge?: number | null) {
  if (typeof areas !== 'string') return undefined
  return { areas: areas.split(' ').filter(Boolean), maxAgeSeconds: maxAge ?? undefined }
}

/** Sets or removes a site's requirements for sensitive operations. Records an audit event. */
export async function setAssuranceDemand(
  { kysely }: Database,
  siteId: string,
  demand: AssuranceDemand | undefined,
  actor: Actor,
): Promise<void> {
  await kysely.transaction().execute(async (trx) => {
    const earlier = await trx
      .deleteFrom('site_assurance')
      .where('site_id', '=', siteId)
      .returning(['areas', 'max_age_seconds'])
      .executeTakeFirst()
    if (demand) {
      const { areas, maxAgeSeconds: max_age_seconds = null } = demand
      const row = { site_id: siteId, areas: areas.join(' '), max_age_seconds }
      await trx.insertInto('site_assurance').values(row).execute()
    }
    const subject = { kind: 'site', id: siteId }
    const before = demandOf(earlier?.areas, earlier?.max_age_seconds)
    const after = demand && { ...demand }
    const change = { action: 'site.assurance', subject, siteId, before, after } as const
    await recordAuditEvent(trx, actor, change)
  })
}

/** Lists the sites that a person operates, sorted by name. */
export async function listOperatedSites(database: Database, personId: string): Promise<HeldSite[]> {
  const sites = await makeFindHeldSites(database)(personId)
  return sites.filter(({ roles }) => operates(roles))
}

/** Whether a feature of a site is on. */
export async function hasFeature(
  { kysely }: Pick<Database, 'kysely'>,
  siteId: string,
  feature: SiteFeature,
) {
  const row = await kysely
    .selectFrom('site_feature')
    .select('feature')
    .where('site_id', '=', siteId)
    .where('feature', '=', feature)
    .executeTakeFirst()
  return row !== undefined
}

/** Switches a feature on or off. If the setting changes, records an audit event and returns true. */
export async function switchFeature({ kysely }: Database, change: FeatureSwitch, actor: Actor) {
  return await kysely.transaction().execute(async (trx) => await setFeature(trx, change, actor))
}

/** Like `switchFeature`, but in the caller's transaction. */
export async function setFeature(
  trx: Transaction<Schema>,
  { siteId, feature, on }: FeatureSwitch,
  actor: Actor,
): Promise<boolean> {
  const row = { site_id: siteId, feature }
  const deletion = trx.deleteFrom('site_feature').where((eb) => eb.and(row))
  const isChanged = on
    ? await insertNew(trx, 'site_feature', { ...row, enabled_at: actor.now })
    : (await deletion.executeTakeFirstOrThrow()).numDeletedRows > 0n
  if (!isChanged) return false
  const { field, actionOf } = features[feature]
  await recordAuditEvent(trx, actor, {
    action: actionOf(on),
    subject: { kind: 'site', id: siteId },
    siteId,
    before: { [field]: !on },
    after: { [field]: on },
  })
  return true
}

export type SiteFeature = keyof typeof features

interface FeatureSwitch {
  readonly siteId: string
  readonly feature: SiteFeature
  readonly on: boolean
}
