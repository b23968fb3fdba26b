/** What happened at a site, counted by day and by course from the stored rows. Reasons are not known here. */

import type { Database } from '../../platform/store/database.ts'
import { countRows, type PageRequest, readPage } from '../../platform/store/keyset.ts'
import { countActive, countByCourse, countByMembers, countCompleted } from './activity.ts'
import { DAY_MS, type Question, type Tally } from './counting.ts'
import { countEnrolmentsByCourse, countEnrolmentsByDay } from './enrolments.ts'
import { countCalls, countConnected, countSignIns } from './grant-figures.ts'

export type Figures = ReturnType<typeof siteFigures>

/** Does one work after the other. */
type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * The figures of a site for a period. Each kind is counted when it is asked for, once, and one after
 * the other: a question takes one connection to the database at a time, however much it asks.
 *
 * @param inTurn where others of the same site have to wait, too
 */
export function siteFigures(
  database: Database,
  { siteId, period }: Pick<Question, 'siteId' | 'period'>,
  inTurn: InTurn = makeTurns(),
) {
  const { kysely } = database
  const question: Question = {
    ...{ siteId, period },
    fromMs: period.firstDay * DAY_MS,
    untilMs: (period.lastDay + 1) * DAY_MS,
  }
  const once = (count: typeof countCalls) => {
    let counted: Promise<Tally<number>> | undefined
    return async () => {
      counted ??= inTurn(async () => await count(kysely, question))
      return await counted
    }
  }
  const ofCourses = (count: typeof countEnrolmentsByCourse) => async (ids: readonly string[]) =>
    await inTurn(async () => await count(kysely, question, ids))
  return {
    ...question,
    byDay: {
      enrolments: once(countEnrolmentsByDay),
      activeMembers: once(async (...asked) => await countByMembers(...asked, countActive)),
      completedCourses: once(async (...asked) => await countByMembers(...asked, countCompleted)),
      signIns: once(countSignIns),
      connectedApplications: once(countConnected),
      calls: once(countCalls),
    },
    byCourse: {
      enrolments: ofCourses(countEnrolmentsByCourse),
      activeMembers: ofCourses(async (...asked) => await countByCourse(...asked, countActive)),
      completions: ofCourses(async (...asked) => await countByCourse(...asked, countCompleted)),
    },
    courses: listCourses(database, siteId),
  }
}

/** Work begins when all before it has ended, however it did. */
function makeTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const mine = last.then(work, work)
    last = mine
    return await mine
  }
}

/** The courses of the site, whose figures are counted page by page. */
function listCourses({ kysely }: Database, siteId: string) {
  const found = kysely
    .selectFrom('course')
    .select(['course.id', 'course.slug', 'course.title'])
    .where('course.site_id', '=', siteId)
  const order = {
    by: 'course.slug',
    id: 'course.id',
    direction: 'asc',
    placeOf: ({ slug, id }: { readonly slug: string; readonly id: string }) => [slug, id] as const,
  } as const
  return {
    page: async (request: PageRequest) => await readPage(found, order, request),
    count: async () => await countRows(found),
  }
}
