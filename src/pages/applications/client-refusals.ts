import { randomUUID } from 'node:crypto'

import { sql } from 'kysely'

import { canBeClientId } from '../../oauth/clients/client.ts'
import type { LoggedRequest } from '../../platform/http/request-log.ts'
import type { Database } from '../../platform/store/database.ts'

/** A request of a client that was refused, with the reason that the client was not told. */
export interface Refusal {
  readonly clientId: string
  readonly occurredAt: number
  readonly route: string
  readonly error: string
  readonly reason: string | undefined
  readonly requestId: string
}

type HeardRequest = Pick<LoggedRequest, 'id' | 'at' | 'route' | 'client' | 'error' | 'detail'>

export type ClientRefusals = ReturnType<typeof makeClientRefusals>

export const REFUSALS_PER_CLIENT = 50
const CLIENTS_WAITING_MAX = 500
const REASON_LENGTH_MAX = 300

/**
 * The last refusals of each OAuth application, for its operators, and their counts by day. They gather in
 * memory and are written every few seconds, so that no request waits for them. Each client keeps a few,
 * so that an attacker who provokes millions of them fills nothing.
 */
export function makeClientRefusals(database: Database, now: () => number = Date.now) {
  const { kysely } = database
  const counts = makeRefusalCounts(database)
  let waiting = new Map<string, Refusal[]>()

  const write = async (clientId: string, refusals: readonly Refusal[]) => {
    await kysely.transaction().execute(async (trx) => {
      const application = await trx
        .selectFrom('oauth_application')
        .select('client_id')
        .where('client_id', '=', clientId)
        .executeTakeFirst()
      if (!application) return
      await trx.insertInto('client_refusal').values(refusals.map(rowOf)).execute()
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
    // An unauthenticated caller may send anything as its client_id.
    if (!canBeClientId(refusal.clientId)) return
    counts.count(refusal)
    const known = waiting.get(refusal.clientId) ?? []
    const reason = refusal.reason?.slice(0, REASON_LENGTH_MAX)
    if (known.length === 0 && waiting.size >= CLIENTS_WAITING_MAX) return
    waiting.set(refusal.clientId, [...known, { ...refusal, reason }].slice(-REFUSALS_PER_CLIENT))
  }

  return {
    /** Never waits, never fails. */
    note,

    /** Notes that an application did not take the notice of a sign-out. */
    noteSignOut(clientId: string, reason: string): void {
      const requestId = randomUUID()
      const route = 'backchannel_logout'
      const error = 'not_delivered'
      note({ clientId, occurredAt: now(), route, error, reason, requestId })
    },

    /** Notes a request if it was refused to a client. */
    hear({ id, at, route, client, error, detail }: HeardRequest): void {
      if (client === undefined || error === undefined) return
      note({ clientId: client, occurredAt: at, route, error, reason: detail, requestId: id })
    },

    async flush() {
      const taken = waiting
      waiting = new Map()
      // What cannot be written is dropped: the log has it too.
      for (const [clientId, refusals] of taken) await write(clientId, refusals)
      await counts.flush()
    },

    async list(clientId: string): Promise<Refusal[]> {
      const rows = await kysely
        .selectFrom('client_refusal')
        .select(['client_id as clientId', 'occurred_at as occurredAt', 'request_id as requestId'])
        .select(['route', 'error', 'reason'])
        .where('client_id', '=', clientId)
        .orderBy('occurred_at', 'desc')
        .orderBy('id', 'desc')
        .limit(REFUSALS_PER_CLIENT)
        .execute()
      return rows.map((row) => ({ ...row, reason: row.reason ?? undefined }))
    },
  }
}

function rowOf(refusal: Refusal) {
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

/** Text that no database accepts must not lose the other refusals of the batch. */
function storable(text: string): string {
  return text.slice(0, REASON_LENGTH_MAX).replaceAll('\0', '').toWellFormed()
}

const DAY_MS = 86_400_000
/** Further pairs of client and error between two writes are not counted. */
const KINDS_MAX = 2000
const ROWS_PER_WRITE = 100
/** An error code of ours or of the engine; there are some forty. */
const ERROR_FORM = /^[a-z_]{1,60}$/

interface CountedKind {
  readonly clientId: string
  readonly day: number
  readonly error: string
  refusals: number
}

/**
 * Counts the requests that were refused to the applications of each site, by day and error: as many rows
 * as there are errors, however many requests there were. What cannot be written is lost, as the refusals
 * themselves are.
 */
function makeRefusalCounts({ kysely }: Database) {
  let kinds = new Map<string, CountedKind>()
  return {
    count({ clientId, occurredAt, error }: Refusal): void {
      const day = Math.floor(occurredAt / DAY_MS)
      const code = ERROR_FORM.test(error) ? error : 'other'
      const key = JSON.stringify([clientId, day, code])
      const known = kinds.get(key)
      if (known) known.refusals += 1
      else if (kinds.size < KINDS_MAX) kinds.set(key, { clientId, day, error: code, refusals: 1 })
    },

    async flush(): Promise<void> {
      const taken = [...kinds.values()]
      kinds = new Map()
      if (taken.length === 0) return
      const applications = await kysely
        .selectFrom('oauth_application')
        .select(['client_id', 'site_id'])
        .where('client_id', 'in', [...new Set(taken.map(({ clientId }) => clientId))])
        .execute()
      const sites = new Map(applications.map((row) => [row.client_id, row.site_id]))
      const rows = rowsOfSites(taken, sites)
      for (let from = 0; from < rows.length; from += ROWS_PER_WRITE) {
        await kysely
          .insertInto('site_refusal_day')
          .values(rows.slice(from, from + ROWS_PER_WRITE))
          .onConflict((conflict) =>
            conflict.columns(['site_id', 'day', 'error']).doUpdateSet({
              refusals: sql<number>`site_refusal_day.refusals + excluded.refusals`,
            }),
          )
          .execute()
      }
    },
  }
}

/** One row for all applications of a site, in the same order in every process, which avoids deadlocks. */
function rowsOfSites(taken: readonly CountedKind[], sites: ReadonlyMap<string, string | null>) {
  const bySite = new Map<string, { site_id: string } & Omit<CountedKind, 'clientId'>>()
  for (const { clientId, day, error, refusals } of taken) {
    const site_id = sites.get(clientId)
    if (typeof site_id !== 'string') continue
    const key = JSON.stringify([site_id, day, error])
    const before = bySite.get(key)?.refusals ?? 0
    bySite.set(key, { site_id, day, error, refusals: before + refusals })
  }
  return [...bySite].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row)
}
