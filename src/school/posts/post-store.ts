/** The announcements of a site and their way into the inboxes of its members. What a member does with them is in member. */

import type { Kysely } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import { countRows, type ListOrder, pagedRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { holdsWords } from '../../platform/store/search.ts'
import { changeSite, createAtSite, differenceOf, type SiteActor } from '../changes/change.ts'
import {
  given,
  idempotencyKey,
  line,
  pageAddress,
  readInput,
  SUMMARY_LENGTH_MAX,
  TITLE_LENGTH_MAX,
  text,
} from '../changes/input.ts'
import { conflict, limitReached, mustBeThere, notFound } from '../changes/refusals.ts'
import { deliverBatch, removeBatch } from './delivery.ts'

const POSTS_PER_SITE_MAX = 10_000

export type Post = NonNullable<Awaited<ReturnType<typeof findPost>>>

export interface PostQuestion {
  readonly siteId: string
  /** A part of the title, in any case of letters. */
  readonly search?: string | null | undefined
  /** Only those that are published, or only those that are not. */
  readonly published?: boolean | null | undefined
}

const newestFirst: ListOrder<Pick<Post, 'id' | 'createdAt'>> = {
  by: 'post.created_at',
  id: 'post.id',
  direction: 'desc',
  placeOf: ({ createdAt, id }) => [createdAt, id],
}

/** One page of the announcements of a site, and how many there are, each in one query. */
export function listPosts({ kysely }: Database, { siteId, search, published }: PostQuestion) {
  const found = postsOf(kysely, siteId)
    .$if(search != null, (query) => query.where(holdsWords('post.title', search ?? '')))
    .$if(published != null, (query) =>
      query.where('post.published_at', published ? 'is not' : 'is', null),
    )
  return pagedRows(found, newestFirst)
}

/** One announcement of a site, or nothing. */
export async function findPost(kysely: Kysely<Schema>, siteId: string, id: string) {
  return await postsOf(kysely, siteId).where('post.id', '=', id).executeTakeFirst()
}

/** @throws ChangeRefused when the site has no such announcement */
export async function mustFindPost(
  kysely: Kysely<Schema>,
  siteId: string,
  id: string,
): Promise<Post> {
  return mustBeThere(await findPost(kysely, siteId, id), 'post')
}

function postsOf(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('post')
    .select([
      'post.id',
      'post.topic',
      'post.title',
      'post.body',
      'post.link',
      'post.created_at as createdAt',
      'post.updated_at as updatedAt',
      'post.published_at as publishedAt',
      'post.delivered_at as deliveredAt',
    ])
    .where('post.site_id', '=', siteId)
    .where('post.removed_at', 'is', null)
}

/** Those who subscribe to it get what names no other topic. */
const TOPIC_DEFAULT = 'announcements'

const form = z.strictObject({
  topic: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,79}$/, 'must be a topic like course_updates'),
  title: line(TITLE_LENGTH_MAX),
  body: text(SUMMARY_LENGTH_MAX),
  link: pageAddress.nullable(),
})
const creation = form.extend({
  topic: form.shape.topic.default(TOPIC_DEFAULT),
  link: form.shape.link.default(null),
  idempotencyKey,
})
const changes = form.partial()

export type PostCreation = z.input<typeof creation>
export type PostChanges = z.input<typeof changes>

/** Writes an announcement that nobody gets yet. @returns its id @throws ChangeRefused */
export async function createPost(
  database: Database,
  actor: SiteActor,
  input: PostCreation,
): Promise<string> {
  const { idempotencyKey: key, ...post } = readInput(creation, input)
  return await createAtSite(database, actor, {
    ...{ prefix: 'pst', idempotencyKey: key, wish: post },
    isThere: async (trx, id) => (await findPost(trx, actor.siteId, id)) !== undefined,
    make: async (id, trx, record) => {
      const existing = await countRows(postsOf(trx, actor.siteId))
      if (existing >= POSTS_PER_SITE_MAX) {
        throw limitReached(`a site has at most ${POSTS_PER_SITE_MAX} posts`)
      }
      const times = { created_at: actor.now, updated_at: actor.now }
      await trx
        .insertInto('post')
        .values({ id, site_id: actor.siteId, ...post, created_by: actor.personId, ...times })
        .execute()
      await record({ action: 'post.create', subject: { kind: 'post', id }, after: post })
    },
  })
}

/**
 * Changes what is given of an announcement that is not published. What was published stays as it is,
 * because people have read it: whoever wants to correct it says so in another one, or removes it.
 *
 * @throws ChangeRefused for a value without its form, and when it is published
 */
export async function updatePost(
  database: Database,
  actor: SiteActor,
  { id, ...input }: PostChanges & { readonly id: string },
): Promise<void> {
  const wanted = given(readInput(changes, input))
  await changeSite(database, actor, async (trx, record) => {
    const post = await mustFindPost(trx, actor.siteId, id)
    const change = differenceOf<Partial<Post>>(post, wanted)
    if (!change) return
    const changed = await trx
      .updateTable('post')
      .set({ ...wanted, updated_at: actor.now })
      .where('id', '=', id)
      .where('published_at', 'is', null)
      .returning('id')
      .executeTakeFirst()
    if (!changed) throw conflict('the post is published; people have it as it is')
    await record({ action: 'post.update', subject: { kind: 'post', id }, ...change })
  })
}

/**
 * Publishes an announcement. The first subscribers have it when this returns, all others a little later
 * (`makePostDelivery`).
 *
 * @throws ChangeRefused when the site has no such announcement
 */
export async function publishPost(database: Database, actor: SiteActor, id: string): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    await mustFindPost(trx, actor.siteId, id)
    const published = await trx
      .updateTable('post')
      .set({ published_at: actor.now })
      .where('id', '=', id)
      .where('published_at', 'is', null)
      .where('removed_at', 'is', null)
      .returning(['topic', 'title'])
      .executeTakeFirst()
    if (!published) return
    await record({ action: 'post.publish', subject: { kind: 'post', id }, after: published })
  })
  await deliverBatch(database, id, actor.now)
}

/**
 * Removes an announcement, with the notifications that came of it: the first of them now, all others
 * a little later.
 *
 * @throws ChangeRefused when the site has no such announcement
 */
export async function deletePost(database: Database, actor: SiteActor, id: string): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const { topic, title } = await mustFindPost(trx, actor.siteId, id)
    const removed = await trx
      .updateTable('post')
      .set({ removed_at: actor.now, delivered_to: null })
      .where('id', '=', id)
      .where('removed_at', 'is', null)
      .returning('id')
      .executeTakeFirst()
    if (!removed) throw notFound('post')
    await record({ action: 'post.delete', subject: { kind: 'post', id }, before: { topic, title } })
  })
  await removeBatch(database, id)
}
