/** The courses of a site with their sections and lectures, as its operators keep them. Who bought one is in students. */

import { type Kysely, sql } from 'kysely'
import { z } from 'zod'

import { changeSite, createAtSite, differenceOf, type SiteActor } from '../changes/change.ts'
import {
  given,
  idempotencyKey,
  readInput,
  SUMMARY_LENGTH_MAX,
  slug,
  TITLE_LENGTH_MAX,
  text,
} from '../changes/fields.ts'
import { conflict, limitReached, notFound } from '../changes/refused.ts'
import { isInState, type ReleaseState } from '../changes/release.ts'
import type { Database } from '../store/database.ts'
import { countRows, type ListOrder, type PageRequest, readPage } from '../store/keyset.ts'
import type { Schema } from '../store/schema.ts'
import { holdsWords } from '../store/search.ts'

const COURSES_PER_SITE_MAX = 10_000

export interface CourseQuestion {
  readonly siteId: string
  readonly nowMs: number
  /** A part of the title or of the slug, in any case of letters. */
  readonly search?: string | null | undefined
  readonly state?: ReleaseState | null | undefined
  readonly sort?: CourseSort | null | undefined
}

export type CourseSort = keyof typeof orders

export type Course = NonNullable<Awaited<ReturnType<typeof findCourse>>>

const placeBy =
  <Field extends string>(field: Field) =>
  (row: Record<Field, string | number> & { readonly id: string }) =>
    [row[field], row.id] as const

const orders = {
  SLUG: { by: 'course.slug', id: 'course.id', direction: 'asc', placeOf: placeBy('slug') },
  TITLE: { by: 'course.title', id: 'course.id', direction: 'asc', placeOf: placeBy('title') },
  NEWEST: {
    by: 'course.created_at',
    id: 'course.id',
    direction: 'desc',
    placeOf: placeBy('createdAt'),
  },
} as const satisfies Record<string, ListOrder<Pick<Course, 'id' | 'slug' | 'title' | 'createdAt'>>>

/** One page of the courses of a site, and how many there are, each in one query. */
export function listCourses({ kysely }: Database, question: CourseQuestion) {
  const { siteId, nowMs, search, state, sort } = question
  const found = coursesOf(kysely, siteId)
    .$if(search != null, (query) =>
      query.where((eb) =>
        eb.or([holdsWords('course.title', search ?? ''), holdsWords('course.slug', search ?? '')]),
      ),
    )
    .$if(state != null, (query) => query.where(isInState(state ?? 'DRAFT', nowMs)))
  return {
    page: async (request: PageRequest) => await readPage(found, orders[sort ?? 'SLUG'], request),
    count: async () => await countRows(found),
  }
}

/** One course of a site by its id or its slug, or nothing. One query. */
export async function findCourse(
  kysely: Kysely<Schema>,
  siteId: string,
  by: { readonly id: string } | { readonly slug: string },
) {
  const query = coursesOf(kysely, siteId)
  return await ('id' in by
    ? query.where('course.id', '=', by.id)
    : query.where('course.slug', '=', by.slug)
  ).executeTakeFirst()
}

function coursesOf(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('course')
    .select([
      'course.id',
      'course.slug',
      'course.title',
      'course.summary',
      'course.published_at as publishedAt',
      'course.archived_at as archivedAt',
      'course.created_at as createdAt',
      // In the select list, so that only what a page shows is counted.
      sql<number>`(select count(*) from lecture where course_id = course.id)`.as('lectureCount'),
      sql<number>`(select count(*) from course_purchase where course_id = course.id)`.as(
        'enrolmentCount',
      ),
    ])
    .where('course.site_id', '=', siteId)
}

const fields = { slug, title: text(TITLE_LENGTH_MAX), summary: text(SUMMARY_LENGTH_MAX) }
const creation = z.strictObject({ ...fields, idempotencyKey })
const changes = z.strictObject(fields).partial()

export type CourseCreation = z.input<typeof creation>
export type CourseChanges = z.input<typeof changes>

/**
 * Makes a course, which is a draft.
 *
 * @returns its id
 * @throws ChangeRefused for a value without its form, a slug that is taken, and at the limit
 */
export async function createCourse(
  database: Database,
  actor: SiteActor,
  input: CourseCreation,
): Promise<string> {
  const { idempotencyKey: key, ...course } = readInput(creation, input)
  const wish = { prefix: 'crs', idempotencyKey: key, wish: course }
  return await createAtSite(database, actor, {
    ...wish,
    make: async (id, trx, record) => {
      const existing = await countRows(coursesOf(trx, actor.siteId))
      if (existing >= COURSES_PER_SITE_MAX) {
        throw limitReached(`a site has at most ${COURSES_PER_SITE_MAX} courses`)
      }
      const made = await trx
        .insertInto('course')
        .values({ id, site_id: actor.siteId, ...course, published_at: null, created_at: actor.now })
        .onConflict((taken) => taken.columns(['site_id', 'slug']).doNothing())
        .returning('id')
        .executeTakeFirst()
      if (!made) throw slugTaken(course.slug)
      await record({ action: 'course.create', subject: { kind: 'course', id }, after: course })
    },
  })
}

/** Changes what is given of a course. What is so already is no change. */
export async function updateCourse(
  database: Database,
  actor: SiteActor,
  { id, ...input }: CourseChanges & { readonly id: string },
): Promise<void> {
  const wanted = given(readInput(changes, input))
  await changeSite(database, actor, async (trx, record) => {
    const course = await mustFindCourse(trx, actor.siteId, id)
    const change = differenceOf(course, wanted)
    if (!change) return
    if (wanted.slug !== undefined && wanted.slug !== course.slug) {
      const other = await findCourse(trx, actor.siteId, { slug: wanted.slug })
      if (other) throw slugTaken(wanted.slug)
    }
    await trx.updateTable('course').set(wanted).where('id', '=', id).execute()
    await record({ action: 'course.update', subject: { kind: 'course', id }, ...change })
  })
}

/** What may be done with the release of a course; each is no change where it is so already. */
export type CourseRelease =
  | { readonly kind: 'publish'; readonly at: number | undefined }
  | { readonly kind: 'unpublish' }
  | { readonly kind: 'archive' }
  | { readonly kind: 'restore' }

/**
 * Publishes a course now or at a time, takes it back, puts it away, or brings it back.
 *
 * @throws ChangeRefused when it is archived and should be published
 */
export async function releaseCourse(
  database: Database,
  actor: SiteActor,
  { id, release }: { readonly id: string; readonly release: CourseRelease },
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const course = await mustFindCourse(trx, actor.siteId, id)
    if (release.kind === 'publish' && course.archivedAt !== null) {
      throw conflict('the course is archived; restore it first')
    }
    const { action, wanted } = releaseOf(course, release, actor.now)
    const change = differenceOf<Partial<Course>>(course, wanted)
    if (!change) return
    await trx
      .updateTable('course')
      .set(given({ published_at: change.after.publishedAt, archived_at: change.after.archivedAt }))
      .where('id', '=', id)
      .execute()
    await record({ action, subject: { kind: 'course', id }, ...change })
  })
}

function releaseOf(course: Course, release: CourseRelease, nowMs: number) {
  switch (release.kind) {
    case 'publish': {
      const publishedAt = release.at ?? published(course, nowMs) ?? nowMs
      return { action: 'course.publish', wanted: { publishedAt } } as const
    }
    case 'unpublish':
      return { action: 'course.unpublish', wanted: { publishedAt: null } } as const
    case 'archive':
      return {
        action: 'course.archive',
        wanted: { archivedAt: course.archivedAt ?? nowMs },
      } as const
    case 'restore':
      return { action: 'course.restore', wanted: { archivedAt: null } } as const
  }
}

/** Since when it is published; nothing while it is not. */
function published({ publishedAt }: Course, nowMs: number): number | undefined {
  return publishedAt !== null && publishedAt <= nowMs ? publishedAt : undefined
}

/** @throws ChangeRefused when the site has no such course */
export async function mustFindCourse(
  kysely: Kysely<Schema>,
  siteId: string,
  id: string,
): Promise<Course> {
  const course = await findCourse(kysely, siteId, { id })
  if (!course) throw notFound('course')
  return course
}

function slugTaken(taken: string) {
  return conflict(`the slug ${taken} is taken`, 'slug')
}
