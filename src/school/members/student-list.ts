import { type Kysely, sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import {
  countRowsUpTo,
  inTimeOrder,
  type ListOrder,
  type PageRequest,
  readPage,
  type TimeOrder,
} from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type ListedPerson, listPeople } from './people-list.ts'

export interface StudentQuestion {
  readonly siteId: string
  /** Only who is or was enrolled in this course of the site. */
  readonly courseId?: string | null | undefined
  /** The beginning of the name; with an @ in it, that of the address. */
  readonly search?: string | null | undefined
  readonly sort?: TimeOrder | null | undefined
}

/** The students of one course are counted no further: each is looked at for the role that they hold. */
const COURSE_COUNT_MAX = 50_000

/**
 * The students of a site by when they came; those of one course by their enrolment; those that are
 * searched by name or address. One query a page.
 */
export function listStudents(database: Database, question: StudentQuestion) {
  const { siteId, courseId, search, sort } = question
  if (courseId == null) return listPeople(database, { siteId, role: 'student', search, sort })
  if (!search?.trim()) return listStudentsOfCourse(database, { siteId, courseId, sort })
  const among = sql<boolean>`exists (select 1 from course_purchase as bought
    join course on course.id = bought.course_id
    where bought.person_id = person.id and bought.course_id = ${courseId}
      and course.site_id = ${siteId})`
  return listPeople(database, { siteId, role: 'student', search, among })
}

type EnrolledPerson = ListedPerson & { readonly purchaseId: string; readonly purchasedAt: number }

const latestEnrolmentFirst: ListOrder<EnrolledPerson> = {
  by: 'bought.purchased_at',
  id: 'bought.id',
  direction: 'desc',
  placeOf: ({ purchasedAt, purchaseId }) => [purchasedAt, purchaseId],
}

function listStudentsOfCourse(
  { kysely }: Database,
  { siteId, courseId, sort }: StudentQuestion & { readonly courseId: string },
) {
  const order = inTimeOrder(latestEnrolmentFirst, sort)
  const found = enrolledPeople(kysely, siteId).where('bought.course_id', '=', courseId)
  return {
    page: async (request: PageRequest) => await readPage(found, order, request),
    count: async () => await countRowsUpTo(kysely, found, COURSE_COUNT_MAX),
  }
}

/** Written with `cross join`, so that SQLite begins with the enrolments: their index has the order. */
function enrolledPeople(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('course_purchase as bought')
    .crossJoin('site_role as held')
    .crossJoin('person')
    .whereRef('held.person_id', '=', 'bought.person_id')
    .whereRef('person.id', '=', 'bought.person_id')
    .where('held.site_id', '=', siteId)
    .where('held.role', '=', 'student')
    .where(sql<boolean>`exists (
      select 1 from course where course.id = bought.course_id and course.site_id = ${siteId})`)
    .select([
      'person.id',
      'person.name',
      'person.email',
      'person.picture',
      'held.granted_at as since',
      'bought.id as purchaseId',
      'bought.purchased_at as purchasedAt',
    ])
}
