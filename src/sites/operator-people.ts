import { sql } from 'kysely'

import type { Database } from '../store/database.ts'
import { type CountedPage, type ListOrder, type PageRequest, readPage } from '../store/keyset.ts'
import type { SiteRole } from '../store/schema.ts'

/**
 * Who belongs to a site, as its operator sees them. Every question names the site: a person of
 * another site is not found, and of one who belongs to both only this site's rows are told.
 */
export interface SitePerson {
  readonly id: string
  readonly name: string
  readonly email: string
}

export interface SiteMember extends SitePerson {
  readonly roles: readonly SiteRole[]
  /** When the first of these roles was granted. */
  readonly memberSince: number
}

export interface SiteStudent extends SitePerson {
  readonly studentSince: number
  readonly enrolledCourseCount: number
}

export interface Enrolment {
  readonly courseSlug: string
  readonly courseTitle: string
  readonly purchasedAt: number
  /** Null for lifetime access. */
  readonly expiresAt: number | null
}

export interface SiteLecturer extends SitePerson {
  readonly lecturerSince: number
  readonly picture: string | null
  /** Slugs of the site's courses that the person teaches. */
  readonly courses: readonly string[]
}

const byName: ListOrder<SitePerson> = {
  by: 'person.name',
  id: 'person.id',
  direction: 'asc',
  placeOf: ({ name, id }) => [name, id],
}

/** Everybody with a role at the site, by name. Three queries. */
export async function listMembers(
  database: Database,
  siteId: string,
  page: PageRequest,
): Promise<CountedPage<SiteMember>> {
  const [found, totalCount] = await Promise.all([
    readPage(people(database, siteId), byName, page),
    countPeople(database, siteId),
  ])
  return { ...found, totalCount, rows: await withRoles(database, siteId, found.rows) }
}

/** One person with a role at the site, or nothing. */
export async function findMember(
  database: Database,
  siteId: string,
  personId: string,
): Promise<SiteMember | undefined> {
  const rows = await people(database, siteId).where('person.id', '=', personId).execute()
  const [member] = await withRoles(database, siteId, rows)
  return member
}

/** The students of the site, by name. Two queries. */
export async function listStudents(
  database: Database,
  siteId: string,
  page: PageRequest,
): Promise<CountedPage<SiteStudent>> {
  const [found, totalCount] = await Promise.all([
    readPage(students(database, siteId), byName, page),
    countPeople(database, siteId, 'student'),
  ])
  return { ...found, totalCount, rows: found.rows.map(studentOf) }
}

/** One student with the courses of the site that they bought, or nothing. */
export async function findStudent(
  database: Database,
  siteId: string,
  personId: string,
): Promise<(SiteStudent & { enrolments: readonly Enrolment[] }) | undefined> {
  const row = await students(database, siteId).where('person.id', '=', personId).executeTakeFirst()
  if (!row) return undefined
  const enrolments = await database.kysely
    .selectFrom('course_purchase')
    .innerJoin('course', 'course.id', 'course_purchase.course_id')
    .select([
      'course.slug as courseSlug',
      'course.title as courseTitle',
      'course_purchase.purchased_at as purchasedAt',
      'course_purchase.expires_at as expiresAt',
    ])
    .where('course_purchase.person_id', '=', personId)
    .where('course.site_id', '=', siteId)
    .orderBy('course.slug')
    .limit(ENROLMENTS_SHOWN_MAX)
    .execute()
  return { ...studentOf(row), enrolments }
}

/** A student of more courses than this shows the first ones; the count says how many exist. */
export const ENROLMENTS_SHOWN_MAX = 500

/** The lecturers of the site, by name. Three queries. */
export async function listLecturers(
  database: Database,
  siteId: string,
  page: PageRequest,
): Promise<CountedPage<SiteLecturer>> {
  const [found, totalCount] = await Promise.all([
    readPage(lecturers(database, siteId), byName, page),
    countPeople(database, siteId, 'lecturer'),
  ])
  return { ...found, totalCount, rows: await withCourses(database, siteId, found.rows) }
}

/** One lecturer of the site, or nothing. */
export async function findLecturer(
  database: Database,
  siteId: string,
  personId: string,
): Promise<SiteLecturer | undefined> {
  const rows = await lecturers(database, siteId).where('person.id', '=', personId).execute()
  const [lecturer] = await withCourses(database, siteId, rows)
  return lecturer
}

function people({ kysely }: Database, siteId: string) {
  return kysely
    .selectFrom('person')
    .innerJoin('site_role', 'site_role.person_id', 'person.id')
    .select(['person.id', 'person.name', 'person.email'])
    .select((eb) => eb.fn.min('site_role.granted_at').as('memberSince'))
    .where('site_role.site_id', '=', siteId)
    .groupBy(['person.id', 'person.name', 'person.email'])
}

function students({ kysely }: Database, siteId: string) {
  return kysely
    .selectFrom('person')
    .innerJoin('site_role', 'site_role.person_id', 'person.id')
    .select([
      'person.id',
      'person.name',
      'person.email',
      'site_role.granted_at',
      sql<number>`(select count(*) from course_purchase
        join course on course.id = course_purchase.course_id
        where course_purchase.person_id = person.id and course.site_id = ${siteId})`.as(
        'enrolledCourseCount',
      ),
    ])
    .where('site_role.site_id', '=', siteId)
    .where('site_role.role', '=', 'student')
}

function studentOf(row: SitePerson & { granted_at: number; enrolledCourseCount: number }) {
  const { id, name, email, granted_at, enrolledCourseCount } = row
  return { id, name, email, studentSince: granted_at, enrolledCourseCount }
}

type LecturerRow = Omit<SiteLecturer, 'courses'>

function lecturers({ kysely }: Database, siteId: string) {
  return kysely
    .selectFrom('person')
    .innerJoin('site_role', 'site_role.person_id', 'person.id')
    .select([
      'person.id',
      'person.name',
      'person.email',
      'person.picture',
      'site_role.granted_at as lecturerSince',
    ])
    .where('site_role.site_id', '=', siteId)
    .where('site_role.role', '=', 'lecturer')
}

async function withRoles(
  { kysely }: Database,
  siteId: string,
  rows: readonly (SitePerson & { memberSince: number })[],
): Promise<SiteMember[]> {
  if (rows.length === 0) return []
  const roles = await kysely
    .selectFrom('site_role')
    .select(['person_id', 'role'])
    .where('site_id', '=', siteId)
    .where(
      'person_id',
      'in',
      rows.map(({ id }) => id),
    )
    .orderBy('role')
    .execute()
  const rolesOf = Map.groupBy(roles, ({ person_id }) => person_id)
  return rows.map((row) => ({
    ...row,
    roles: (rolesOf.get(row.id) ?? []).map(({ role }) => role),
  }))
}

async function withCourses(
  { kysely }: Database,
  siteId: string,
  rows: readonly LecturerRow[],
): Promise<SiteLecturer[]> {
  if (rows.length === 0) return []
  const taught = await kysely
    .selectFrom('course_lecturer')
    .innerJoin('course', 'course.id', 'course_lecturer.course_id')
    .select(['course_lecturer.person_id', 'course.slug'])
    .where('course.site_id', '=', siteId)
    .where(
      'course_lecturer.person_id',
      'in',
      rows.map(({ id }) => id),
    )
    .orderBy('course.slug')
    .execute()
  const coursesOf = Map.groupBy(taught, ({ person_id }) => person_id)
  return rows.map((row) => ({
    ...row,
    courses: (coursesOf.get(row.id) ?? []).map(({ slug }) => slug),
  }))
}

async function countPeople({ kysely }: Database, siteId: string, role?: SiteRole): Promise<number> {
  const { total } = await kysely
    .selectFrom('site_role')
    .select((eb) => eb.fn.count<number>('person_id').distinct().as('total'))
    .where('site_id', '=', siteId)
    .$if(role !== undefined, (query) => query.where('role', '=', role as SiteRole))
    .executeTakeFirstOrThrow()
  return Number(total)
}
