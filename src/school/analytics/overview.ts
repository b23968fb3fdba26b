import { setImmediate } from 'node:timers/promises'

import { type Kysely, sql } from 'kysely'
import { LRUCache } from 'lru-cache'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { siteFigures } from './analytics.ts'
import { addTo, DAY_MS, daysOf, idsOfSite, type Period, periodOf, type Tally } from './counting.ts'

/** The periods that an overview can cover, in days. Counts are kept long enough for the longest one (`COUNT_DAYS`). */
export const OVERVIEW_PERIODS = [7, 30, 90] as const
const USUAL_DAYS = 30
const WEEK_DAYS = 7
const KEPT_MS = 60_000
const SITES_KEPT_MAX = 200
const PEOPLE_PER_PIECE = 200

export type Overviews = ReturnType<typeof makeOverviews>

/** The figures of a site for the most recent days (in UTC), including today. */
type Overview = Awaited<ReturnType<typeof countOverview>>

/** Creates a function that returns the overview of a site, cached for a minute. */
export function makeOverviews(database: Database, now: () => number) {
  const kept = new LRUCache<string, Overview>({
    max: SITES_KEPT_MAX,
    ttl: KEPT_MS,
    fetchMethod: async (key) => {
      const [siteId = '', days] = key.split(' ')
      return await countOverview(database, siteId, now(), Number(days))
    },
  })
  return async (siteId: string, days: number = USUAL_DAYS): Promise<Overview> => {
    return await kept.forceFetch(`${siteId} ${days}`)
  }
}

/** Computes the figures of an overview in short statements, because SQLite blocks the process during a statement. */
export async function countOverview(
  database: Database,
  siteId: string,
  nowMs: number,
  days: number = USUAL_DAYS,
) {
  const { kysely } = database
  const period = periodOf(nowMs - (days - 1) * DAY_MS, nowMs)
  const { byDay } = siteFigures(database, { siteId, period })
  const connected = await byDay.connectedApplications()
  const calls = await byDay.calls()
  const signIns = await byDay.signIns()
  const people = await countPeople(kysely, siteId, period)
  const refused = await countSiteRefusals(kysely, siteId, period)
  return {
    countedAt: nowMs,
    /** The number of distinct people who used an application in the period. */
    people: people.inAll,
    /** The numbers of people in the last seven days and, if the period contains them, in the seven days before that. */
    peopleByWeek: people.byWeek,
    /** Refusals by error code, most frequent first. */
    reasons: refused.reasons,
    days: daysOf(period).map(({ day, date }) => ({
      date,
      connected: connected.get(day) ?? 0,
      people: people.byDay.get(day) ?? 0,
      calls: calls.get(day) ?? 0,
      signIns: signIns.get(day) ?? 0,
      refusals: refused.byDay.get(day) ?? 0,
    })),
  }
}

/** Counts the people who used an application, by day, by week and in total. Reads the people in batches. */
async function countPeople(kysely: Kysely<Schema>, siteId: string, period: Period) {
  const byDay: Tally<number> = new Map()
  let inAll = 0
  const byWeek = { last: 0, before: 0 }
  const pieces = idsOfSite(kysely, siteId, ['oauth_grant', 'person_id'], PEOPLE_PER_PIECE)
  for await (const personIds of pieces) {
    const [first, last] = [personIds[0] ?? '', personIds.at(-1) ?? '']
    // `cross join` makes SQLite read the grants first (see activity.ts). Otherwise, it reads all uses of these days.
    const { rows } = await sql<{ person: string; key: number }>`
      select oauth_grant.person_id as person, used.day as key
      from oauth_grant cross join oauth_grant_day as used
      where oauth_grant.site_id = ${siteId}
        and oauth_grant.person_id >= ${first} and oauth_grant.person_id <= ${last}
        and used.grant_id = oauth_grant.id
        and used.day >= ${period.firstDay} and used.day <= ${period.lastDay}
      group by oauth_grant.person_id, used.day`.execute(kysely)
    for (const { key } of rows) addTo(byDay, [{ key, total: 1 }])
    const countUntil = (day: number, days: number) => {
      const used = rows.filter(({ key }) => key > day - days && key <= day)
      return new Set(used.map(({ person }) => person)).size
    }
    inAll += new Set(rows.map(({ person }) => person)).size
    byWeek.last += countUntil(period.lastDay, WEEK_DAYS)
    byWeek.before += countUntil(period.lastDay - WEEK_DAYS, WEEK_DAYS)
    await setImmediate()
  }
  return { byDay, inAll, byWeek }
}

async function countSiteRefusals(kysely: Kysely<Schema>, siteId: string, period: Period) {
  const rows = await kysely
    .selectFrom('site_refusal_day')
    .select(['day', 'error', 'refusals'])
    .where('site_id', '=', siteId)
    .where('day', '>=', period.firstDay)
    .where('day', '<=', period.lastDay)
    .execute()
  const [byDay, byError]: [Tally<number>, Tally<string>] = [new Map(), new Map()]
  for (const { day, error, refusals } of rows) {
    addTo(byDay, [{ key: day, total: refusals }])
    addTo(byError, [{ key: error, total: refusals }])
  }
  const reasons = [...byError].map(([error, refusals]) => ({ error, refusals }))
  return { byDay, reasons: reasons.toSorted((one, other) => other.refusals - one.refusals) }
}
