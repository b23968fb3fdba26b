/** Counts the activity at a site, by day and by course, from the stored rows. */

import type { Database } from '../../platform/store/database.ts'
import { orderBy, pagedRows } from '../../platform/store/keyset.ts'
import { active, completed, countByCourse, countByMembers } from './activity.ts'
import { type CountByCourse, type CountByDay, DAY_MS, type Question } from './counting.ts'
import { countEnrolmentsByCourse, countEnrolmentsByDay } from './enrolments.ts'
import { countCalls, countConnected, countSignIns } from './grant-figures.ts'

export type Figures = ReturnType<typeof siteFigures>

/** Runs the queries for one figure, possibly after waiting for other figures. */
type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * Returns the course list of a site, and functions that compute the site's figures for a period. The query
 * for a daily figure runs at most once, and its result serves all days of the period.
 *
 * @param inTurn limits concurrent counts, so one GraphQL document does not occupy many connections
 */
export function siteFigures(
  database: Database,
  { siteId, period }: Pick<Question, 'siteId' | 'period'>,
  inTurn: InTurn = async (work) => await work(),
) {
  const { kysely } = database
  const question: Question = {
    ...{ siteId, period },
    fromMs: period.firstDay * DAY_MS,
    untilMs: (period.lastDay + 1) * DAY_MS,
  }
  const once = (count: CountByDay) => {
    let counted: ReturnType<CountByDay> | undefined
    return async () => {
      counted ??= inTurn(async () => await count(kysely, question))
      return await counted
    }
  }
  const ofCourses = (count: CountByCourse) => async (ids: readonly string[]) =>
    await inTurn(async () => await count(kysely, question, ids))
  return {
    ...question,
    byDay: {
      enrolments: once(countEnrolmentsByDay),
      activeMembers: once(countByMembers(active)),
      completedCourses: once(countByMembers(completed)),
      signIns: once(countSignIns),
      connectedApplications: once(countConnected),
      calls: once(countCalls),
    },
    byCourse: {
      enrolments: ofCourses(countEnrolmentsByCourse),
      activeMembers: ofCourses(countByCourse(active)),
      completions: ofCourses(countByCourse(completed)),
    },
    courses: listCourses(database, siteId),
  }
}

function listCourses({ kysely }: Database, siteId: string) {
  const found = kysely
    .selectFrom('course')
    .select(['course.id', 'course.slug', 'course.title'])
    .where('course.site_id', '=', siteId)
  return pagedRows(found, orderBy('slug', 'asc', 'course.slug', 'course.id'))
}
