/** Reads the data that the operator pages of a site need, and switches MCP connections on and off. */

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { type HeldSite, listHeldSites, operates } from './site-choice.ts'

/** The key of the beta feature *MCP connections* (specification, What the service does 9). */
export const MCP_CONNECTIONS = 'mcp_connections'

/** A site with the roles of one person. */
export type AdminSite = NonNullable<Awaited<ReturnType<typeof findAdminSite>>>

/** Finds a site by slug or id, with the roles that the person has there. A slug never equals an id. */
export async function findAdminSite({ kysely }: Database, name: string, personId: string) {
  const rows = await kysely
    .selectFrom('site')
    .leftJoin('site_feature as f', (join) =>
      join.onRef('f.site_id', '=', 'site.id').on('f.feature', '=', MCP_CONNECTIONS),
    )
    .leftJoin('site_role as r', (join) =>
      join.onRef('r.site_id', '=', 'site.id').on('r.person_id', '=', personId),
    )
    .select(['site.id', 'site.slug', 'site.name', 'f.enabled_at', 'r.role'])
    .where((e) => e.or([e('site.slug', '=', name), e('site.id', '=', name)]))
    .execute()
  const [row] = rows
  if (!row) return undefined
  const { role: _role, enabled_at, ...site } = row
  return {
    ...site,
    /** When MCP connections were switched on; undefined if they are off. */
    mcpConnectionsOnSince: enabled_at ?? undefined,
    roles: rows.flatMap(({ role }) => role ?? []),
  }
}

/** Lists the sites that a person operates, sorted by name. */
export async function listOperatedSites(database: Database, personId: string): Promise<HeldSite[]> {
  const sites = await listHeldSites(database, personId)
  return sites.filter(({ roles }) => operates(roles))
}

/** Switches MCP connections on or off. If the setting changes, records an audit event and returns true. */
export async function switchMcpConnections(
  { kysely }: Database,
  siteId: string,
  on: boolean,
  actor: Actor,
): Promise<boolean> {
  return await kysely.transaction().execute(async (trx) => {
    const changed = on
      ? await trx
          .insertInto('site_feature')
          .values({ site_id: siteId, feature: MCP_CONNECTIONS, enabled_at: actor.now })
          .onConflict((conflict) => conflict.doNothing())
          .returning('site_id')
          .executeTakeFirst()
      : await trx
          .deleteFrom('site_feature')
          .where('site_id', '=', siteId)
          .where('feature', '=', MCP_CONNECTIONS)
          .returning('site_id')
          .executeTakeFirst()
    if (!changed) return false
    await recordAuditEvent(trx, actor, {
      action: on ? 'feature.on' : 'feature.off',
      subject: { kind: 'site', id: siteId },
      siteId,
      before: { mcpConnections: !on },
      after: { mcpConnections: on },
    })
    return true
  })
}
