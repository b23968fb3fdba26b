import { randomUUID } from 'node:crypto'

import { canBeClientId } from '../../oauth/clients/client.ts'
import type { Database } from '../../platform/store/database.ts'
import { makeRefusalDays } from './refusal-days.ts'

/** A request of a client that was refused, with the reason that the client was not told. */
export interface Refusal {
  readonly clientId: string
  readonly occurredAt: number
  readonly route: string
  readonly error: string
  readonly reason: string | undefined
  readonly requestId: string
}

/** How a request ended. */
export interface EndedRequest {
  readonly id: string
  readonly at: number
  readonly route: string
  readonly client?: string | undefined
  readonly error?: string | undefined
  readonly detail?: string | undefined
}

export type ClientRefusals = ReturnType<typeof makeClientRefusals>

export const REFUSALS_PER_CLIENT = 50
const CLIENTS_WAITING_MAX = 500
const REASON_LENGTH_MAX = 300

/**
 * The last refusals of each OAuth application, for its operator. They gather in memory and are
 * written every few seconds, so that no request waits for them; each client keeps a few, so that
 * somebody who provokes refusals by the million fills nothing.
 */
export function makeClientRefusals(database: Database, now: () => number = Date.now) {
  const { kysely } = database
  const days = makeRefusalDays(database)
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
    // What a stranger calls itself may be long, and is nobody's id then.
    if (!canBeClientId(refusal.clientId)) return
    days.count(refusal)
    const known = waiting.get(refusal.clientId) ?? []
    if (known.length === 0 && waiting.size >= CLIENTS_WAITING_MAX) return
    waiting.set(refusal.clientId, [...known, shortened(refusal)].slice(-REFUSALS_PER_CLIENT))
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

    /** Notes a request that was refused to a client; any other is nothing to it. */
    hear({ id, at, route, client, error, detail }: EndedRequest): void {
      if (client === undefined || error === undefined) return
      note({ clientId: client, occurredAt: at, route, error, reason: detail, requestId: id })
    },

    async flush() {
      const taken = waiting
      waiting = new Map()
      // What cannot be written is dropped: it is a convenience, and the log has it too.
      for (const [clientId, refusals] of taken) await write(clientId, refusals)
      await days.flush()
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

/** What waits in memory has a length. */
function shortened(refusal: Refusal): Refusal {
  return { ...refusal, reason: refusal.reason?.slice(0, REASON_LENGTH_MAX) }
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

/** What no database takes, from a caller's own words, must not lose the refusals that come with it. */
function storable(text: string): string {
  return text.slice(0, REASON_LENGTH_MAX).replaceAll('\0', '').toWellFormed()
}
