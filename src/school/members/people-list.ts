/** Lists and counts a site's people, by role, course or search. */

import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'

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
import { canonicalEmail } from '../../platform/store/mail-address.ts'
import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { beginsWith, searchWords } from '../../platform/store/search.ts'

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
  /** Words from the name or address, or the beginnings of such words. */
  readonly search?: string | null | undefined
  readonly sort?: TimeOrder | null | undefined
  /** An additional condition on `found.person_id` for searches. */
  readonly among?: ReturnType<typeof sql<boolean>> | undefined
}

/** The maximum number of people that a search counts. Without a limit, a count might have to read a large index. */
const SEARCH_COUNT_MAX = 500

/**
 * Lists a site's people, sorted by `since`, or by the word found in a search. Without a search, a page reads an index
 * in order, so its speed does not depend on the number of people.
 */
export function listPeople(database: Database, question: PeopleQuestion) {
  const text = question.search?.trim() ?? ''
  // The word index contains addresses in canonical form.
  const words = text.includes('@') ? canonicalEmail(text) : text
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

/** Selects the roles at a site and their holders. `cross join` makes SQLite read the roles first, in index order. */
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

/** Counts the people with the given role. Without a role, counts the students, and adds all other people. */
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

/** If the people of a site hold at most this many roles, a search starts from them; otherwise, from the word index. */
const FEW_ROLES_MAX = 5000

/** The maximum number of people that are counted per word to find the rarest word of a search. */
const WORD_COUNT_MAX = 5000

/** The maximum number of people with the rarest word that are read to count the matches at a large site. */
const COUNTED_MAX = 1000

/**
 * Finds people by the beginnings of words in their names and addresses. At a large site, reads the people with the
 * rarest word, in index order, and looks up the role of each. The index also contains their other words.
 */
function searchPeople(database: Database, question: PeopleQuestion, text: string) {
  const { kysely } = database
  const words = searchWords(database, text)
  const roles = kysely.selectFrom('site_role').where('site_id', '=', question.siteId)
  let prepared: Promise<readonly [roles: number, rarest: string]> | undefined
  const prepare = async () => {
    prepared ??= Promise.all([
      countRowsUpTo(kysely, roles, FEW_ROLES_MAX + 1),
      rarestOf(kysely, words),
    ])
    return await prepared
  }
  const search = async (after?: PageRequest['after']) => {
    const from = after?.[0].toString()
    const [count, rarest] = await prepare()
    // A later page continues with the word of the first page.
    const word = words.find((each) => from?.startsWith(each)) ?? rarest
    const candidates = kysely
      .selectFrom('person_word')
      .select(['word', 'person_id', 'words'])
      .where(beginsWith(sql`word`, word, from))
    const matches = hasWords(database, word, words)
    const isLarge = count > FEW_ROLES_MAX
    const found = (isLarge ? amongMany : amongFew)(kysely, question, candidates).where(matches)
    const counted = isLarge
      ? holdersAmong(kysely, question, candidates.limit(COUNTED_MAX)).where(matches)
      : found
    const order = orderBy('sortedBy', 'asc', FOUND_WORD, 'found.person_id')
    return pagedRows(found, order, () => countRowsUpTo(kysely, counted, SEARCH_COUNT_MAX))
  }
  return {
    page: async (request: PageRequest) => await (await search(request.after)).page(request),
    count: async () => await (await search()).count(),
  }
}

const FOUND_WORD = sql<string>`found.word`

/** Returns the rarest word, or the first if none is rare. Counts long words first, up to the lowest count so far. */
async function rarestOf(kysely: Kysely<Schema>, words: readonly string[]): Promise<string> {
  let rarest = { word: words[0] ?? '', count: WORD_COUNT_MAX }
  if (words.length <= 1) return rarest.word
  for (const word of words.toSorted((one, other) => other.length - one.length)) {
    const found = kysely.selectFrom('person_word').where(beginsWith(sql`word`, word))
    const count = await countRowsUpTo(kysely, found, rarest.count)
    if (count < rarest.count) rarest = { word, count }
  }
  return rarest.word
}

/** Matches people with all search words. Keeps one row per person: that of the first word that begins with `rarest`. */
function hasWords({ engine }: Database, rarest: string, words: readonly string[]) {
  const placeOf = (text: unknown) =>
    sql`${sql.raw(engine === 'sqlite' ? 'instr' : 'strpos')}(found.words, ${text})`
  const isFirst = sql`(found.word = ${rarest} or ${placeOf(` ${rarest}`)} = ${placeOf(sql`' ' || found.word || ' '`)})`
  const others = words
    .filter((word) => word !== rarest)
    .map((word) => sql`${placeOf(` ${word}`)} > 0`)
  return sql<boolean>`${sql.join([...others, isFirst], sql` and `)}`
}

type Candidates = SelectQueryBuilder<Schema, 'person_word', Schema['person_word']>

/** Selects the candidates with a role at the site. `cross join` makes SQLite read the roles first. */
function amongFew(
  kysely: Kysely<Schema>,
  { siteId, role, among = sql`true` }: PeopleQuestion,
  candidates: Candidates,
) {
  return holders(kysely, siteId)
    .crossJoin(candidates.as('found'))
    .whereRef('found.person_id', '=', 'held.person_id')
    .where(role == null ? isFirstRole : sql<boolean>`held.role = ${role}`)
    .where(sql<boolean>`${among}`)
    .select(FOUND_WORD.as('sortedBy'))
}

/**
 * Selects from all candidates, and looks up the role of each, so the word index is read in order. If one in fifty
 * people belongs to the site, a page of twenty is complete after about a thousand people.
 */
function amongMany(kysely: Kysely<Schema>, question: PeopleQuestion, candidates: Candidates) {
  return holdersAmong(kysely, question, candidates)
    .crossJoin('person')
    .whereRef('person.id', '=', 'found.person_id')
    .select([...PERSON_FIELDS, since(question).as('since'), FOUND_WORD.as('sortedBy')])
}

/** Selects the candidates with a role, without reading the table `person`. */
function holdersAmong(kysely: Kysely<Schema>, question: PeopleQuestion, candidates: Candidates) {
  const { among = sql`true` } = question
  return kysely
    .selectFrom(candidates.as('found'))
    .where(sql<boolean>`${since(question)} is not null and ${among}`)
}

function since({ siteId, role }: PeopleQuestion) {
  return sql<number>`(select min(held.granted_at) from site_role as held
    where held.person_id = found.person_id and held.site_id || '' = ${siteId}
      ${role == null ? sql`` : sql`and held.role = ${role}`})`
}

interface StudentQuestion extends Pick<PeopleQuestion, 'siteId' | 'search' | 'sort'> {
  /** Only students with a current or past enrolment in this course. */
  readonly courseId?: string | null | undefined
}

/** The maximum number of students that are counted for a course. The count checks the role of each student. */
const COURSE_COUNT_MAX = 50_000

/**
 * Lists students, sorted by when they became students or, for a course, by when they enrolled. A search sorts by the
 * word found. Runs one query per page, or a few queries per page for a search.
 */
export function listStudents(database: Database, question: StudentQuestion) {
  const { siteId, courseId, search, sort } = question
  if (courseId == null) return listPeople(database, { siteId, role: 'student', search, sort })
  if (!search?.trim()) return listStudentsOfCourse(database, { siteId, courseId, sort })
  const among = sql<boolean>`exists (select 1 from course_purchase as bought
    join course on course.id = bought.course_id
    where bought.person_id = found.person_id and bought.course_id = ${courseId}
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
