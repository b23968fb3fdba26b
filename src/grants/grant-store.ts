/** What people allowed: the grants, their use and their end. Tokens are not known here. */

import type { Kysely, Transaction } from 'kysely'

import type { Database } from '../store/database.ts'
import type { Schema } from '../store/schema.ts'

/**
 * Connections: what a person allowed a client, as rows in the database (design 12 and 15).
 *
 * The engine's grant is one record in the state store, perhaps in Redis. Its connection is what
 * standing looks for at every use of a token, in the query that it makes anyway. So ending one
 * connection or ten thousand is one statement, is effective at once in every process, and no token
 * that is being issued at the same moment slips through.
 */
export interface NewGrant {
  readonly grantId: string
  readonly personId: string
  readonly clientId: string
  readonly clientName: string
  readonly clientOrigin: string
  readonly siteId: string | undefined
  readonly scopes: readonly string[]
  readonly expiresAtMs: number
  /** False when the grant was saved before: its connection is brought up to date, never made again. */
  readonly isNew: boolean
}

/** Which connections to end. */
export type Ending =
  | { readonly grantId: string }
  /** All of a person with one client at one site, or without a site. */
  | { readonly personId: string; readonly clientId: string; readonly siteId: string | undefined }
  /** All that a client has, of one person or of everybody. */
  | { readonly clientId: string; readonly personId?: string }
  /** All of a client that hold a scope which it may not have any more. */
  | { readonly clientId: string; readonly withScopes: readonly string[] }

export interface GrantStore {
  /** Writes a connection down, or brings its scopes and its end up to date. */
  keep(connection: NewGrant): Promise<void>
  has(grantId: string): Promise<boolean>
  end(ending: Ending): Promise<readonly string[]>
  /** Removes connections that expired and counts that nobody is shown any more. */
  prune(): Promise<void>
}

/** How many days back calls are counted. */
export const CALL_DAYS = 30

const DAY_MS = 86_400_000

/** The day of a moment, as `connection_day.day` has it. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS)
}

export function makeGrantStore(database: Database, now: () => number): GrantStore {
  const { kysely } = database
  return {
    async keep(connection) {
      await kysely.transaction().execute(async (trx) => {
        const kept = connection.isNew
          ? await insertRow(trx, connection, now())
          : await prolongRow(trx, connection)
        if (kept) await keepScopes(trx, connection)
      })
    },

    async has(grantId) {
      const row = await kysely
        .selectFrom('connection')
        .select('grant_id')
        .where('grant_id', '=', grantId)
        .executeTakeFirst()
      return row !== undefined
    },

    end: (ending) => endGrants(kysely, ending),

    async prune() {
      await kysely
        .deleteFrom('connection_day')
        .where('day', '<=', dayOf(now()) - CALL_DAYS)
        .execute()
      await kysely.deleteFrom('connection').where('expires_at', '<=', now()).execute()
    },
  }
}

/**
 * Ends connections, in the transaction of whoever changes something else with them.
 *
 * @returns the ids of the grants that ended
 */
export async function endGrants(
  kysely: Kysely<Schema> | Transaction<Schema>,
  ending: Ending,
): Promise<string[]> {
  let query = kysely.deleteFrom('connection').returning('grant_id')
  if ('grantId' in ending) query = query.where('grant_id', '=', ending.grantId)
  else query = query.where('client_id', '=', ending.clientId)
  if ('personId' in ending) query = query.where('person_id', '=', ending.personId)
  if ('siteId' in ending) {
    const { siteId } = ending
    query = query.where('site_id', siteId === undefined ? 'is' : '=', siteId ?? null)
  }
  if ('withScopes' in ending) {
    const { withScopes } = ending
    query = query.where('grant_id', 'in', (q) =>
      q.selectFrom('connection_scope').select('grant_id').where('scope', 'in', withScopes),
    )
  }
  const rows = await query.execute()
  return rows.map(({ grant_id }) => grant_id)
}

async function insertRow(
  trx: Transaction<Schema>,
  connection: NewGrant,
  nowMs: number,
): Promise<boolean> {
  await trx
    .insertInto('connection')
    .values({
      grant_id: connection.grantId,
      person_id: connection.personId,
      client_id: connection.clientId,
      client_name: connection.clientName,
      client_origin: connection.clientOrigin,
      site_id: connection.siteId ?? null,
      granted_at: nowMs,
      expires_at: connection.expiresAtMs,
      last_used_at: null,
    })
    .onConflict((conflict) =>
      conflict.column('grant_id').doUpdateSet({ expires_at: connection.expiresAtMs }),
    )
    .execute()
  return true
}

/** A connection that somebody ended meanwhile stays ended. */
async function prolongRow(
  trx: Transaction<Schema>,
  { grantId, expiresAtMs }: NewGrant,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('connection')
    .set({ expires_at: expiresAtMs })
    .where('grant_id', '=', grantId)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

async function keepScopes(trx: Transaction<Schema>, { grantId, scopes }: NewGrant): Promise<void> {
  if (scopes.length === 0) return
  await trx
    .insertInto('connection_scope')
    .values(scopes.map((scope) => ({ grant_id: grantId, scope })))
    .onConflict((conflict) => conflict.columns(['grant_id', 'scope']).doNothing())
    .execute()
}
