import type { PageRequest } from '../../platform/store/keyset.ts'
import { type Figures, siteFigures } from '../../school/analytics/analytics.ts'
import { DAY_MS, DAYS_MAX, daysOf, periodOf } from '../../school/analytics/counting.ts'
import { badArgument, type PageArguments } from '../graphql/connections.ts'
import type { AdminResolver } from './context.ts'
import { siteList } from './resolver-factories.ts'
import { runInTurn } from './site-queue.ts'

const DAYS_DEFAULT = 30

/** The start and end of a period, in epoch milliseconds. Both have defaults. */
export interface Interval {
  readonly from?: number | null
  readonly until?: number | null
}

/** Resolvers for the site's statistics (scope `analytics:read`). A field is computed only if it is selected. */
export const analyticsResolvers = {
  Query: {
    analytics: (_source, { from, until }: Interval, { caller, parts }) => {
      const lastMs = until == null ? parts.now() : until - 1
      const period = periodOf(from ?? lastMs - (DAYS_DEFAULT - 1) * DAY_MS, lastMs)
      const { firstDay, lastDay } = period
      if (lastDay < firstDay) throw badArgument('until', '"until" must be after "from"')
      if (lastDay - firstDay >= DAYS_MAX) {
        throw badArgument('from', `"from" must be at most ${DAYS_MAX} days before "until"`)
      }
      const { siteId } = caller
      return siteFigures(
        parts.database,
        { siteId, period },
        async (work) => await runInTurn(`figures of ${siteId}`, work),
      )
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Analytics: {
    from: ({ fromMs }) => fromMs,
    until: ({ untilMs }) => untilMs,
    days: ({ period, byDay }) =>
      daysOf(period).map(({ day, date }) => ({
        date,
        ...mapValues(byDay, (count) => async () => (await count()).get(day) ?? 0),
      })),
    courses: async (figures, args: PageArguments, context) => {
      const { courses, byCourse, fromMs, untilMs } = figures
      const figuresOf = (course: { readonly id: string }) =>
        mapValues(byCourse, (count, name) => async () => {
          // One call to `count` computes the figure for all courses on a page.
          const batch = `${name} from ${fromMs} to ${untilMs}`
          return (await context.oneOfMany(batch, count, course.id)) ?? 0
        })
      const list = {
        ...courses,
        page: async (request: PageRequest) => {
          const page = await courses.page(request)
          return { ...page, rows: page.rows.map((row) => ({ ...row, ...figuresOf(row) })) }
        },
      }
      return await siteList(context, args, list, 'analytics', fromMs, untilMs)
    },
  } satisfies Record<string, AdminResolver<Figures, never>>,
}

/** Maps the values of an object. graphql-js calls function values only for the selected fields. */
function mapValues<Value, Result>(
  values: Readonly<Record<string, Value>>,
  convert: (value: Value, name: string) => Result,
) {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, convert(value, name)]),
  )
}
