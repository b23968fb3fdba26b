import { type Kysely, sql } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'
import {
  type CountByDay,
  type Counted,
  dayOfColumn,
  idsOfSite,
  type Question,
  tallyOf,
} from './counting.ts'

const GRANTS_PER_PIECE = 1000

/** Counts sign-ins to clients at the site by day, from the stored rows. Each code exchange counts as one sign-in. */
export const countSignIns: CountByDay = async (kysely, question) =>
  await countByGrants(kysely, question, async (grantIds) => {
    const { rows } = await sql<Counted<number>>`
      select ${dayOfColumn('started_at')} as key, count(*) as total from refresh_token_family
      where grant_id in (${sql.join(grantIds)})
        and started_at >= ${question.fromMs} and started_at < ${question.untilMs}
      group by 1`.execute(kysely)
    return rows
  })

/** Counts the uses of tokens at the site by day, from the stored rows. */
export const countCalls: CountByDay = async (kysely, question) =>
  await countByGrants(kysely, question, async (grantIds) => {
    const { firstDay, lastDay } = question.period
    // `cross join` makes SQLite read the grants first (see activity.ts). Otherwise, it reads all uses of these days.
    const { rows } = await sql<Counted<number>>`
      select used.day as key, sum(used.calls) as total
      from oauth_grant cross join oauth_grant_day as used
      where oauth_grant.id in (${sql.join(grantIds)}) and used.grant_id = oauth_grant.id
        and used.day >= ${firstDay} and used.day <= ${lastDay}
      group by used.day`.execute(kysely)
    return rows
  })

interface Lives {
  readonly begins: number
  readonly ends: number
  readonly total: number
}

/** Counts the grants by day, from the stored rows. A grant counts on each day on which it was valid. */
export const countConnected: CountByDay = async (kysely, question) =>
  await countByGrants(kysely, question, async (grantIds) => {
    const { firstDay, lastDay } = question.period
    const { rows } = await sql<Lives>`
      select begins, ends, count(*) as total from (
        select ${dayOfColumn('granted_at')} as begins,
          case when ended_at < expires_at then ${dayOfColumn('ended_at')}
            else ${dayOfColumn('expires_at')} end as ends
        from oauth_grant where id in (${sql.join(grantIds)})
      ) as life
      where begins <= ${lastDay} and ends >= ${firstDay}
      group by begins, ends`.execute(kysely)
    return rows.flatMap(({ begins, ends, total }) => {
      const from = Math.max(begins, firstDay)
      const days = Math.min(ends, lastDay) - from + 1
      return Array.from({ length: days }, (_, index) => ({ key: from + index, total }))
    })
  })

/** Sums a count over all grants of the site, including ended grants. */
async function countByGrants(
  kysely: Kysely<Schema>,
  { siteId }: Question,
  count: (grantIds: readonly string[]) => Promise<readonly Counted<number>[]>,
) {
  return await tallyOf(idsOfSite(kysely, siteId, ['oauth_grant', 'id'], GRANTS_PER_PIECE), count)
}
