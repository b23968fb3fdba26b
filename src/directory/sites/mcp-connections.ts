import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'

/**
 * The beta feature *MCP connections*, which an operator switches on per site (specification, What
 * the service does 9).
 */
export const MCP_CONNECTIONS = 'mcp_connections'

/**
 * Switches MCP connections of a site, with its line in the audit trail.
 *
 * @returns whether that changed anything
 */
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
