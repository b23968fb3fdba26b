import type { PageRequest } from '../../platform/store/keyset.ts'
import { type Figures, siteFigures } from '../../school/analytics/analytics.ts'
import { DAY_MS, DAYS_MAX, daysOf, periodOf } from '../../school/analytics/counting.ts'
import { badArgument, type PageArguments } from '../graphql/connections.ts'
import type { AdminContext, AdminResolver } from './context.ts'
import { siteList } from './resolver-factories.ts'
import { runInTurn } from './site-queue.ts'

const DAYS_DEFAULT = 30

interface Days {
  readonly from?: number | null
  readonly to?: number | null
}

interface CourseFigures {
  readonly id: string
  readonly figures: Figures
}

/** Resolvers for statistics of the site (scope `analytics:read`). A field is computed only if it is selected. */
export const analyticsResolvers = {
  Query: {
    analytics: (_source, { from, to }: Days, { caller, parts }) => {
      const toMs = to ?? parts.now()
      const period = periodOf(from ?? toMs - (DAYS_DEFAULT - 1) * DAY_MS, toMs)
      const { firstDay, lastDay } = period
      if (lastDay < firstDay) throw badArgument('to', '`to` must not be before `from`')
      if (lastDay - firstDay >= DAYS_MAX) {
        throw badArgument('from', `\`from\` must be at most ${DAYS_MAX - 1} days before \`to\``)
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
    days: (figures) => daysOf(figures.period).map((day) => ({ ...day, figures })),
    courses: async (figures, args: PageArguments, context) => {
      const { courses, fromMs, untilMs } = figures
      const list = {
        ...courses,
        page: async (request: PageRequest) => {
          const page = await courses.page(request)
          return { ...page, rows: page.rows.map((course) => ({ ...course, figures })) }
        },
      }
      return await siteList(context, args, list, 'analytics', fromMs, untilMs)
    },
  } satisfies Record<string, AdminResolver<Figures, never>>,
  AnalyticsDay: {
    enrolments: ofDay('enrolments'),
    activeMembers: ofDay('activeMembers'),
    completedCourses: ofDay('completedCourses'),
    signIns: ofDay('signIns'),
    connectedApplications: ofDay('connectedApplications'),
    calls: ofDay('calls'),
  },
  AnalyticsCourse: {
    enrolments: ofCourse('enrolments'),
    activeMembers: ofCourse('activeMembers'),
    completions: ofCourse('completions'),
  },
}

function ofDay(name: keyof Figures['byDay']) {
  return async ({ day, figures }: { day: number; figures: Figures }) =>
    (await figures.byDay[name]()).get(day) ?? 0
}

/** Creates the resolver of a figure of a course. One query computes the figure for all courses on a page. */
function ofCourse(name: keyof Figures['byCourse']) {
  return async ({ id, figures }: CourseFigures, _args: object, { oneOfMany }: AdminContext) => {
    const { firstDay, lastDay } = figures.period
    const batch = `${name} from ${firstDay} to ${lastDay}`
    return (await oneOfMany(batch, figures.byCourse[name], id)) ?? 0
  }
}
