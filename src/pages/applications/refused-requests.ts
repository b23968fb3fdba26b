import { randomUUID } from 'node:crypto'

import { sql } from 'kysely'

import { canBeClientId } from '../../oauth/clients/client.ts'
import { dayOf } from '../../oauth/grants/grant-store.ts'
import type { LoggedRequest } from '../../platform/http/request-log.ts'
import type { Database } from '../../platform/store/database.ts'

/** A client's refused request or undelivered sign-out notice. The reason may be more detailed than the response. */
export interface Refusal {
  readonly clientId: string
  readonly occurredAt: number
  readonly route: string
  readonly error: string
  readonly reason: string | undefined
  readonly requestId: string
}

type HeardRequest = Pick<LoggedRequest, 'id' | 'at' | 'route' | 'client' | 'error' | 'detail'>

export type RefusedRequests = ReturnType<typeof makeRefusedRequests>

export const REFUSALS_PER_CLIENT = 50
const CLIENTS_WAITING_MAX = 500
const REASON_LENGTH_MAX = 300

/**
 * Creates the record of refused requests that operators see: the latest from each application, and daily counts.
 * Buffers refusals in memory until `flush`, so no request waits. Stores a limited number for each client, so an
 * attacker cannot fill the database.
 */
export function makeRefusedRequests(database: Database, now: () => number = Date.now) {
  const { kysely } = database
  const counts = makeRefusalCounts(database)
  const waiting = new Map<string, ReturnType<typeof refusalRow>[]>()

  const write = async (clientId: string, rows: readonly ReturnType<typeof refusalRow>[]) => {
    await kysely.transaction().execute(async (trx) => {
      const application = await trx
        .selectFrom('oauth_application')
        .select('client_id')
        .where('client_id', '=', clientId)
        .executeTakeFirst()
      if (!application) return
      await trx.insertInto('client_refusal').values(rows).execute()
      await trx
        .deleteFrom('client_refusal')
        .where('client_id', '=', clientId)
        .where('id', 'not in', (q) =>
          q
            .selectFrom('client_refusal')
            .select('id')
            .where('client_id', '=', clientId)
            .orderBy('occurred_at', 'desc')
            .orderBy('id', 'desc')
            .limit(REFUSALS_PER_CLIENT),
        )
        .execute()
    })
  }

  const note = (refusal: Refusal) => {
    // The client_id is unverified, so check its format.
    if (!canBeClientId(refusal.clientId)) return
    counts.count(refusal)
    const known = waiting.get(refusal.clientId) ?? []
    if (known.length === 0 && waiting.size >= CLIENTS_WAITING_MAX) return
    waiting.set(refusal.clientId, [...known, refusalRow(refusal)].slice(-REFUSALS_PER_CLIENT))
  }

  return {
    /** Buffers and counts a refusal. If too many other clients have buffered refusals, only counts the refusal. */
    note,

    /** Notes that a sign-out notice was not delivered. */
    noteSignOut(clientId: string, reason: string): void {
      const failure = { route: 'backchannel_logout', error: 'not_delivered', reason }
      note({ ...failure, clientId, occurredAt: now(), requestId: randomUUID() })
    },

    /** Records a refused request that names a client. */
    noteRequest({ id, at, route, client, error, detail }: HeardRequest): void {
      if (client === undefined || error === undefined) return
      note({ clientId: client, occurredAt: at, route, error, reason: detail, requestId: id })
    },

    async flush() {
      for (const clientId of [...waiting.keys()]) {
        const refusals = waiting.get(clientId) ?? []
        // If the write fails, this client's refusals are only in the log. The remaining ones wait for the next flush.
        waiting.delete(clientId)
        await write(clientId, refusals)
      }
      await counts.flush()
    },

    /** Lists the latest refusals for an application, or for all applications and resource servers of a site. */
    async list(column: 'app.client_id' | 'app.site_id', id: string) {
      const rows = await kysely
        .selectFrom('client_refusal as refusal')
        .innerJoin('oauth_application as app', 'app.client_id', 'refusal.client_id')
        .select(['app.client_id as clientId', 'app.name', 'app.kind', 'occurred_at as occurredAt'])
        .select(['route', 'error', 'reason', 'request_id as requestId'])
        .where(column, '=', id)
        .where('app.deleted_at', 'is', null)
        .orderBy('occurred_at', 'desc')
        .orderBy('refusal.id', 'desc')
        .limit(REFUSALS_PER_CLIENT)
        .execute()
      return rows.map((row) => ({ ...row, reason: row.reason ?? undefined }))
    },
  }
}

function refusalRow(refusal: Refusal) {
  return {
    id: randomUUID(),
    client_id: refusal.clientId,
    occurred_at: refusal.occurredAt,
    route: refusal.route,
    error: storable(refusal.error),
    reason: refusal.reason === undefined ? null : storable(refusal.reason),
    request_id: refusal.requestId,
  }
}

/** Shortens a text, and removes or replaces characters that would make the database reject the whole batch. */
function storable(text: string): string {
  return text.slice(0, REASON_LENGTH_MAX).replaceAll('\0', '').toWellFormed()
}

/** The maximum number of combinations of client, day and error per flush. Further combinations are not counted. */
const COUNTS_MAX = 2000
/** The format of error codes. A code in another format is counted as `other`. */
const ERROR_CODE = /^[a-z_]{1,60}$/

interface RefusalCount {
  readonly clientId: string
  readonly day: number
  readonly error: string
  refusals: number
}

/** Counts refused requests by site, day and error, to limit the number of rows. A failed write loses its counts. */
function makeRefusalCounts({ kysely }: Database) {
  let counts = new Map<string, RefusalCount>()
  return {
    count({ clientId, occurredAt, error }: Refusal): void {
      const day = dayOf(occurredAt)
      const code = ERROR_CODE.test(error) ? error : 'other'
      const key = JSON.stringify([clientId, day, code])
      const known = counts.get(key)
      if (known) known.refusals += 1
      else if (counts.size < COUNTS_MAX)
        counts.set(key, { clientId, day, error: code, refusals: 1 })
    },

    async flush(): Promise<void> {
      const taken = [...counts.values()]
      counts = new Map()
      if (taken.length === 0) return
      const applications = await kysely
        .selectFrom('oauth_application')
        .select(['client_id', 'site_id'])
        .where('client_id', 'in', [...new Set(taken.map(({ clientId }) => clientId))])
        .execute()
      const sites = new Map(applications.map((row) => [row.client_id, row.site_id]))
      const rows = rowsOfSites(taken, sites)
      if (rows.length === 0) return
      await kysely
        .insertInto('site_refusal_day')
        .values(rows)
        .onConflict((conflict) =>
          conflict.columns(['site_id', 'day', 'error']).doUpdateSet({
            refusals: sql<number>`site_refusal_day.refusals + excluded.refusals`,
          }),
        )
        .execute()
    },
  }
}

/** Sums the counts of each site. Sorts the rows, so all processes lock them in the same order. */
function rowsOfSites(taken: readonly RefusalCount[], sites: ReadonlyMap<string, string | null>) {
  const bySite = new Map<string, { site_id: string } & Omit<RefusalCount, 'clientId'>>()
  for (const { clientId, day, error, refusals } of taken) {
    const site_id = sites.get(clientId)
    if (typeof site_id !== 'string') continue
    const key = JSON.stringify([site_id, day, error])
    const before = bySite.get(key)?.refusals ?? 0
    bySite.set(key, { site_id, day, error, refusals: before + refusals })
  }
  return [...bySite].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row)
}
