import { sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'

const DAY_MS = 86_400_000
/** What is refused to more clients and for more reasons between two writings is not counted. */
const KINDS_MAX = 2000
const ROWS_PER_WRITE = 100
/** An error code of ours or of the engine; there are some forty. */
const ERROR_FORM = /^[a-z_]{1,60}$/

/** A refusal, as far as it is counted. */
export interface RefusedRequest {
  readonly clientId: string
  readonly occurredAt: number
  readonly error: string
}

interface Kind {
  readonly clientId: string
  readonly day: number
  readonly error: string
  refusals: number
}

/**
 * How many requests were refused to the applications of each site, by day and error: as many rows as
 * there are errors, however many requests there were. What a database does not take is lost, as the
 * refusals themselves are.
 */
export function makeRefusalDays({ kysely }: Database) {
  let kinds = new Map<string, Kind>()
  return {
    count({ clientId, occurredAt, error }: RefusedRequest): void {
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
      const rows = rowsOf(taken, sites)
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

/** One row for all applications of a site, in one order in every process, so that none waits in a circle. */
function rowsOf(taken: readonly Kind[], sites: ReadonlyMap<string, string | null>) {
  const bySite = new Map<string, { site_id: string } & Omit<Kind, 'clientId'>>()
  for (const { clientId, day, error, refusals } of taken) {
    const site_id = sites.get(clientId)
    if (typeof site_id !== 'string') continue
    const key = JSON.stringify([site_id, day, error])
    const before = bySite.get(key)?.refusals ?? 0
    bySite.set(key, { site_id, day, error, refusals: before + refusals })
  }
  return [...bySite].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row)
}
