import { randomBytes } from 'node:crypto'

import { type Actor, recordAuditEvent } from '../../platform/audit/audit-log.ts'
import type { Database } from '../../platform/store/database.ts'
import { insertSecret, subjectOf } from './application-secrets.ts'

export const RESOURCE_SERVERS_PER_SITE_MAX = 50

/** Who asks about the tokens of a site. */
export interface NewResourceServer {
  readonly siteId: string
  /** One that `problemOfName` finds nothing wrong with. */
  readonly name: string
}

/**
 * Registers a resource server of a site, in one transaction with its line in the audit trail. It may
 * authorize nobody: it has no address to return to, and is told of the tokens that are for its site.
 *
 * @returns its client_id and its secret, which is shown once; `full` when the site has as many as it may
 */
export async function registerResourceServer(
  { kysely }: Database,
  { siteId, name }: NewResourceServer,
  actor: Actor,
): Promise<{ readonly clientId: string; readonly secret: string } | 'full'> {
  return await kysely.transaction().execute(async (trx) => {
    const { existing } = await trx
      .selectFrom('oauth_application')
      .select((eb) => eb.fn.countAll<number>().as('existing'))
      .where('site_id', '=', siteId)
      .where('kind', '=', 'resource_server')
      .where('deleted_at', 'is', null)
      .executeTakeFirstOrThrow()
    if (Number(existing) >= RESOURCE_SERVERS_PER_SITE_MAX) return 'full'

    const kind = 'resource_server' as const
    const clientId = `rs_${randomBytes(12).toString('hex')}`
    await trx
      .insertInto('oauth_application')
      .values({
        client_id: clientId,
        kind,
        site_id: siteId,
        name,
        auth_method: 'client_secret_post',
        application_type: 'web',
        assistant: null,
        created_by: actor.personId,
        created_at: actor.now,
        disabled_at: null,
        deleted_at: null,
      })
      .execute()
    const secret = await insertSecret(trx, clientId, actor.now)
    await recordAuditEvent(trx, actor, {
      ...subjectOf({ clientId, siteId, kind }),
      action: 'resource_server.create',
      after: { name },
    })
    return { clientId, secret }
  })
}
