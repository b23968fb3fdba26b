import { randomUUID } from 'node:crypto'

import type { Transaction } from 'kysely'

import { hintOf, makeSecret } from '../../oauth/clients/secret.ts'
import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { sha256 } from '../../platform/store/digest.ts'
import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { Seals } from '../relying-party/sign-in.ts'
import type { Application } from './application-lists.ts'

export const LIVE_SECRETS_MAX = 2

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

const NEW_SECRET_SECONDS = 120
const NEW_SECRET_LABEL = 'a new client secret'

/**
 * New secrets between the form that made one and the page that shows it. A secret lies sealed in the
 * state store for a moment, so that loading the page again neither shows it twice nor makes another one.
 *
 * @param state the records of the model `NewSecret`
 */
export function makeNewSecrets(
  state: Pick<StateAdapter, 'upsert' | 'find' | 'destroy' | 'consumeOnce'>,
  seals: Seals,
) {
  const recordId = (sessionId: string, clientId: string) => sha256(`${sessionId} ${clientId}`)
  return {
    async keep(sessionId: string, clientId: string, secret: string): Promise<void> {
      const sealed = seals.seal(secret, NEW_SECRET_LABEL)
      await state.upsert(recordId(sessionId, clientId), { sealed }, NEW_SECRET_SECONDS)
    },

    /** The secret, the first time that this session asks for it. */
    async take(sessionId: string, clientId: string): Promise<string | undefined> {
      const id = recordId(sessionId, clientId)
      const record = await state.find(id)
      if (!record) return undefined
      const consumption = await state.consumeOnce(id)
      await state.destroy(id)
      return consumption?.first ? seals.open(String(record['sealed']), NEW_SECRET_LABEL) : undefined
    },
  }
}
