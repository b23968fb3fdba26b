import { randomUUID } from 'node:crypto'

import type { Transaction } from 'kysely'

import { hintOf, makeSecret } from '../../oauth/clients/secret.ts'
import { type Actor, recordAuditEvent } from '../../platform/audit/audit-log.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { Application } from './application-lists.ts'

export const LIVE_SECRETS_MAX = 2

export type ApplicationSecrets = ReturnType<typeof makeApplicationSecrets>

/**
 * The secrets of a confidential application. Two may live at once, so that the application can
 * change over without a moment in which neither works; the last one stays.
 */
export function makeApplicationSecrets({ kysely }: Database) {
  return {
    /** @returns the secret, shown once; nothing when two live already */
    add: async (app: Application, actor: Actor) =>
      await kysely.transaction().execute(async (trx) => {
        const { clientId, authMethod } = app
        const live = await lockAndList(trx, clientId, actor.now)
        if (authMethod === 'none' || live.length >= LIVE_SECRETS_MAX) return undefined
        const secret = await insertSecret(trx, clientId, actor.now)
        await recordAuditEvent(trx, actor, {
          ...subjectOf(app),
          action: 'secret.add',
          after: { hint: hintOf(secret) },
        })
        return secret
      }),

    /** @returns false when it is not there, or the only one */
    remove: async (app: Application, secretId: string, actor: Actor) =>
      await kysely.transaction().execute(async (trx) => {
        const live = await lockAndList(trx, app.clientId, actor.now)
        const secret = live.find(({ id }) => id === secretId)
        if (!secret || live.length < 2) return false
        await trx.deleteFrom('client_secret').where('id', '=', secretId).execute()
        await recordAuditEvent(trx, actor, {
          ...subjectOf(app),
          action: 'secret.remove',
          before: { hint: secret.hint },
        })
        return true
      }),
  }
}

/** Whom a line of the audit trail is about. */
export function subjectOf({
  clientId,
  siteId,
  kind,
}: Pick<Application, 'clientId' | 'siteId' | 'kind'>) {
  return { subject: { kind: nouns[kind], id: clientId }, siteId }
}

/** What the audit trail calls each kind. */
const nouns = { site: 'application', resource_server: 'resource_server' } as const

/** Stores the digest of a new secret and gives the secret itself. */
export async function insertSecret(
  trx: Transaction<Schema>,
  clientId: string,
  nowMs: number,
): Promise<string> {
  const { secret, ...stored } = makeSecret()
  const row = { id: randomUUID(), client_id: clientId, created_at: nowMs, expires_at: null }
  await trx
    .insertInto('client_secret')
    .values({ ...row, ...stored })
    .execute()
  return secret
}

/** The live secrets. Writing the application's row makes a second change wait for the first. */
async function lockAndList(trx: Transaction<Schema>, clientId: string, nowMs: number) {
  await trx
    .updateTable('oauth_application')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('client_id', '=', clientId)
    .execute()
  return await trx
    .selectFrom('client_secret')
    .select(['id', 'hint'])
    .where('client_id', '=', clientId)
    .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', nowMs)]))
    .execute()
}
