/**
 * Sites: roles, the choice of one, and what a site has. Pages are not known here.
 */

import type { Database } from '../../platform/store/database.ts'
import { MCP_CONNECTIONS } from './mcp-connections.ts'
import { operates } from './roles.ts'
import { type HeldSite, listHeldSites } from './site-choice.ts'

/** A site as its operators' pages need it. */
export type AdminSite = NonNullable<Awaited<ReturnType<typeof findAdminSite>>>

/**
 * The site of a slug or of an id, with the roles that the person holds there, if any. No slug is the id
 * of another site, because ids have an underscore.
 */
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
  return (
    row && {
      id: row.id,
      slug: row.slug,
      name: row.name,
      /** When MCP connections was switched on; undefined while it is off. */
      mcpConnectionsOnSince: row.enabled_at ?? undefined,
      roles: rows.flatMap(({ role }) => role ?? []),
    }
  )
}

/** The sites that a person operates, by name. */
export async function listOperatedSites(database: Database, personId: string): Promise<HeldSite[]> {
  const sites = await listHeldSites(database, personId)
  return sites.filter(({ roles }) => operates(roles))
}
