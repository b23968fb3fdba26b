/** Lists and counts the people of a site, by role, course or search. */

import { type Kysely, sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import {
  countRows,
  countRowsUpTo,
  inTimeOrder,
  type ListOrder,
  orderBy,
  type PageRequest,
  pagedRows,
  type TimeOrder,
} from '../../platform/store/keyset.ts'
import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { beginsWith, folded } from '../../platform/store/search.ts'

/** A person as shown to operators of the site. */
export type SitePerson = Readonly<Record<'id' | 'name' | 'email', string>> & {
  readonly picture: string | null
}

/** The columns of a `SitePerson`. */
export const PERSON_FIELDS = ['person.id', 'person.name', 'person.email', 'person.picture'] as const

export interface PeopleQuestion {
  readonly siteId: string
  /** Only people with this role; by default, people with any role. */
  readonly role?: SiteRole | null | undefined
  /** The start of the name or, if the text contains an @, of the e-mail address. */
  readonly search?: string | null | undefined
  readonly sort?: TimeOrder | null | undefined
  /** Additional condition on `person.id` for searches. */
  readonly among?: ReturnType<typeof sql<boolean>> | undefined
}

/** Maximum number of people that a search counts, because matches may be spread over a large index. */
const SEARCH_COUNT_MAX = 1000

/**
 * Lists the people of a site, sorted by date or, for a search, by name or e-mail address. Without a search, a page reads an
 * index in order, so its speed does not depend on the number of people.
 */
export function listPeople(database: Database, question: PeopleQuestion) {
  const words = question.search?.trim()
  return words ? searchPeople(database, question, words) : peopleByTime(database, question)
}

// `since` is when the person received the role that the list filters by or, without a filter, their first role.
const newestFirst = orderBy('since', 'desc', 'held.granted_at', 'held.person_id')

function peopleByTime({ kysely }: Database, { siteId, role, sort }: PeopleQuestion) {
  const found = holders(kysely, siteId)
    .$if(role != null, (query) => query.where('held.role', '=', role ?? 'student'))
    .$if(role == null, (query) => query.where(isFirstRole))
  const count = async () => await countHolders(kysely, siteId, role ?? undefined)
  return pagedRows(found, inTimeOrder(newestFirst, sort), count)
}

/** Selects the roles at a site, with their people. `cross join` makes SQLite read the roles first, in index order. */
function holders(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('site_role as held')
    .crossJoin('person')
    .whereRef('person.id', '=', 'held.person_id')
    .where('held.site_id', '=', siteId)
    .select([...PERSON_FIELDS, 'held.granted_at as since'])
}

/**
 * Keeps only the oldest role of each person, so each person appears once. `|| ''`, here and below, stops SQLite from
 * using the index of the whole site to find one person.
 */
const isFirstRole = sql<boolean>`not exists (
  select 1 from site_role as earlier
  where earlier.person_id = held.person_id and earlier.site_id || '' = held.site_id
    and (earlier.granted_at, earlier.role) < (held.granted_at, held.role))`

/** Counts the people of a site, or those with a role. Counts students from an index, and the few others one by one. */
async function countHolders(
  kysely: Kysely<Schema>,
  siteId: string,
  role: SiteRole | undefined,
): Promise<number> {
  const roles = kysely.selectFrom('site_role').where('site_id', '=', siteId)
  if (role !== undefined) return await countRows(roles.where('role', '=', role))
  const others = roles
    .where('role', 'in', ['owner', 'admin', 'lecturer'])
    .where(
      sql<boolean>`not exists (select 1 from site_role as learns
        where learns.person_id = site_role.person_id and learns.site_id || '' = site_role.site_id
          and learns.role = 'student')`,
    )
    .select((eb) => eb.fn.count<number>('person_id').distinct().as('total'))
  const [students, { total }] = await Promise.all([
    countRows(roles.where('role', '=', 'student')),
    others.executeTakeFirstOrThrow(),
  ])
  return students + Number(total)
}

/** A search reads the people of the site if they have at most this many roles; otherwise, the index of all people. */
const FEW_ROLES_MAX = 20_000

function searchPeople(database: Database, question: PeopleQuestion, words: string) {
  const search = async (after?: PageRequest['after']) => {
    const roles = database.kysely.selectFrom('site_role').where('site_id', '=', question.siteId)
    const count = await countRowsUpTo(database.kysely, roles, FEW_ROLES_MAX + 1)
    const find = count > FEW_ROLES_MAX ? amongMany : amongFew
    const [among, by] = find(database, question, words.includes('@'))
    const found = among.where(beginsWith(by, { words, from: after?.[0].toString() }))
    const countFound = () => countRowsUpTo(database.kysely, found, SEARCH_COUNT_MAX)
    return pagedRows(found, orderBy('sortedBy', 'asc', by, 'person.id'), countFound)
  }
  return {
    page: async (request: PageRequest) => await (await search(request.after)).page(request),
    count: async () => await (await search()).count(),
  }
}

function amongFew(database: Database, question: PeopleQuestion, byAddress: boolean) {
  const { siteId, role, among = sql`true` } = question
  const by = folded(database, byAddress ? ADDRESS : sql`lower(person.name)`)
  const found = holders(database.kysely, siteId)
    .where(role == null ? isFirstRole : sql<boolean>`held.role = ${role}`)
    .where(sql<boolean>`${among}`)
    .select(by.as('sortedBy'))
  return [found, by] as const
}

/**
 * Selects from all people, and looks up the role of each. A search then reads its index in order. If one in fifty
 * people belongs to the site, a page of twenty is complete after about a thousand people.
 */
function amongMany(database: Database, question: PeopleQuestion, byAddress: boolean) {
  const { siteId, role, among = sql`true` } = question
  const since = sql<number>`(select min(held.granted_at) from site_role as held
    where held.person_id = person.id and held.site_id || '' = ${siteId}
      ${role == null ? sql`` : sql`and held.role = ${role}`})`
  const by = folded(database, byAddress ? ADDRESS : sql`lower(person.name)`)
  const found = database.kysely
    .selectFrom('person')
    .where(sql<boolean>`${since} is not null and ${among}`)
    .select([...PERSON_FIELDS, since.as('since'), by.as('sortedBy')])
  return [found, by] as const
}

const ADDRESS = sql`person.email_canonical`

interface StudentQuestion extends Pick<PeopleQuestion, 'siteId' | 'search' | 'sort'> {
  /** Only students with a current or past enrolment in this course. */
  readonly courseId?: string | null | undefined
}

/** Maximum number of students of a course that are counted, because the count checks the role of each. */
const COURSE_COUNT_MAX = 50_000

/**
 * Lists students, sorted by when they became students. For a course, sorts by enrolment; for a search, by name or
 * e-mail address. A page takes one query, or two for a search.
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

const latestEnrolmentFirst: ListOrder<{ purchasedAt: number; purchaseId: string }> = {
  by: 'bought.purchased_at',
  id: 'bought.id',
  direction: 'desc',
  placeOf: ({ purchasedAt, purchaseId }) => [purchasedAt, purchaseId],
}

function listStudentsOfCourse(
  { kysely }: Database,
  { siteId, courseId, sort }: StudentQuestion & { readonly courseId: string },
) {
  const found = enrolledPeople(kysely, siteId).where('bought.course_id', '=', courseId)
  const count = async () => await countRowsUpTo(kysely, found, COURSE_COUNT_MAX)
  return pagedRows(found, inTimeOrder(latestEnrolmentFirst, sort), count)
}

/** Selects enrolments with their students. `cross join` makes SQLite read the enrolments first, in index order. */
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
    .select([...PERSON_FIELDS, 'held.granted_at as since'])
    .select(['bought.id as purchaseId', 'bought.purchased_at as purchasedAt'])
}
