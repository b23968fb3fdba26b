import { randomUUID } from 'node:crypto'

import type { Transaction } from 'kysely'

import { makeSecret, secretHint } from '../../oauth/clients/secret.ts'
import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { Application } from './application-lists.ts'

export const LIVE_SECRETS_MAX = 2

/**
 * Creates the functions that add and remove the secrets of an application. Two secrets may be valid at the same time,
 * so an application can switch to a new secret without downtime. The last secret cannot be removed.
 */
export function makeApplicationSecrets({ kysely }: Database) {
  return {
    /** Adds a secret and returns it. @returns undefined if the application is public or has two secrets */
    add: async (app: Application, actor: Actor) =>
      await kysely.transaction().execute(async (trx) => {
        const { clientId, authMethod } = app
        const live = await lockAndList(trx, clientId, actor.now)
        if (authMethod === 'none' || live.length >= LIVE_SECRETS_MAX) return undefined
        const secret = await insertSecret(trx, clientId, actor.now)
        const change = { action: 'secret.add', after: { hint: secretHint(secret) } } as const
        await recordAuditEvent(trx, actor, { ...applicationSubject(app), ...change })
        return secret
      }),

    /** Removes a secret. @returns false if the secret is not valid, or is the only valid secret */
    remove: async (app: Application, secretId: string, actor: Actor) =>
      await kysely.transaction().execute(async (trx) => {
        const live = await lockAndList(trx, app.clientId, actor.now)
        const secret = live.find(({ id }) => id === secretId)
        if (!secret || live.length < 2) return false
        await trx.deleteFrom('client_secret').where('id', '=', secretId).execute()
        const change = { action: 'secret.remove', before: { hint: secret.hint } } as const
        await recordAuditEvent(trx, actor, { ...applicationSubject(app), ...change })
        return true
      }),
  }
}

/** Returns the subject and site of an audit event about an application. */
export function applicationSubject(app: Pick<Application, 'clientId' | 'siteId' | 'kind'>) {
  return { subject: { kind: nouns[app.kind], id: app.clientId }, siteId: app.siteId }
}

/** The names of the application kinds in the audit trail. */
const nouns = { site: 'application', resource_server: 'resource_server' } as const

/** Creates a secret, stores its digest, and returns it. */
export async function insertSecret(trx: Transaction<Schema>, clientId: string, nowMs: number) {
  const { secret, ...stored } = makeSecret()
  const row = { id: randomUUID(), client_id: clientId, created_at: nowMs, expires_at: null }
  await trx
    .insertInto('client_secret')
    .values({ ...row, ...stored })
    .execute()
  return secret
}

/** Locks the application's row with a no-op update, to serialize concurrent changes. Then lists the valid secrets. */
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
