/** Reads and changes a site's announcements. See `viewer/notifications.ts` for the inbox of a member. */

import type { Kysely } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import { countRows, orderBy, pagedRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { containsText } from '../../platform/store/search.ts'
import {
  changeSite,
  checkedChange,
  differenceOf,
  type SiteActor,
  siteCreation,
} from '../changes/change.ts'
import { given, idempotencyKey, pageAddress, summary, title } from '../changes/input.ts'
import { conflict, limitReached, mustBeThere } from '../changes/refusals.ts'
import { deliverBatch, removeBatch } from './delivery.ts'

const POSTS_PER_SITE_MAX = 10_000

type Post = NonNullable<Awaited<ReturnType<typeof findPost>>>

interface PostQuestion {
  readonly siteId: string
  /** Text to find in any part of the title (see `containsText`). */
  readonly search?: string | null | undefined
  /** Only published posts (true) or only drafts (false); both by default. */
  readonly published?: boolean | null | undefined
}

const newestFirst = orderBy('createdAt', 'desc', 'post.created_at', 'post.id')

/** Lists a site's announcements, newest first. Runs one query for a page, and one for the count. */
export function listPosts({ kysely }: Database, { siteId, search, published }: PostQuestion) {
  const found = postsOf(kysely, siteId)
    .$if(search != null, (query) => query.where(containsText('post.title', search ?? '')))
    .$if(published != null, (query) =>
      query.where('post.published_at', published ? 'is not' : 'is', null),
    )
  return pagedRows(found, newestFirst)
}

export async function findPost(kysely: Kysely<Schema>, siteId: string, id: string) {
  return await postsOf(kysely, siteId).where('post.id', '=', id).executeTakeFirst()
}

/** Finds an announcement of the site by id. @throws ChangeRefused if the site has no such announcement */
export async function mustFindPost(kysely: Kysely<Schema>, siteId: string, id: string) {
  return mustBeThere(await findPost(kysely, siteId, id), 'post')
}

function postsOf(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('post')
    .select(['post.id', 'post.topic', 'post.title', 'post.body', 'post.link'])
    .select(['post.created_at as createdAt', 'post.updated_at as updatedAt'])
    .select(['post.published_at as publishedAt', 'post.delivered_at as deliveredAt'])
    .where('post.site_id', '=', siteId)
    .where('post.removed_at', 'is', null)
}

const fields = z.strictObject({
  topic: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,79}$/, 'must use only a–z, 0–9, _ and -, like course_updates'),
  title,
  body: summary,
  link: pageAddress.nullable(),
})

/** Creates a draft. Throws ChangeRefused for an invalid value, or if the site has too many announcements. */
export const createPost = siteCreation({
  prefix: 'pst',
  schema: fields.extend({
    topic: fields.shape.topic.default('announcements'),
    link: fields.shape.link.default(null),
    idempotencyKey,
  }),
  find: findPost,
  async insert({ trx, actor, record, writeLast }, id, post) {
    if ((await countRows(postsOf(trx, actor.siteId))) >= POSTS_PER_SITE_MAX) {
      throw limitReached(`a site can have up to ${POSTS_PER_SITE_MAX} posts; delete one`)
    }
    const times = { created_at: actor.now, updated_at: actor.now }
    writeLast(
      trx
        .insertInto('post')
        .values({ id, site_id: actor.siteId, ...post, created_by: actor.personId, ...times }),
    )
    record('post.create', { kind: 'post', id }, { after: post })
  },
})

/**
 * Changes the given fields of a draft. A published announcement cannot be changed, because people may have read it.
 * Operators can publish a correction or delete the announcement. Throws ChangeRefused for an invalid value, and for an
 * unknown or published announcement.
 */
export const updatePost = checkedChange(
  fields.partial().extend({ id: z.string() }),
  async ({ trx, actor, record, writeLast }, { id, ...input }) => {
    const wanted = given(input)
    const post = await mustFindPost(trx, actor.siteId, id)
    const change = differenceOf<Partial<Post>>(post, wanted)
    if (!change) return
    if (post.publishedAt !== null) {
      throw conflict('a published post cannot be changed; publish a correction or delete it')
    }
    writeLast(
      trx
        .updateTable('post')
        .set({ ...wanted, updated_at: actor.now })
        .where('id', '=', id),
    )
    record('post.update', { kind: 'post', id }, change)
  },
)

/**
 * Publishes an announcement unless it is already published, and delivers the next batch. Throws ChangeRefused for an
 * unknown announcement, or for a draft that was changed after `contentAt`.
 */
export async function publishPost(
  database: Database,
  actor: SiteActor,
  id: string,
  contentAt?: number,
): Promise<void> {
  await changeSite(database, actor, async ({ trx, record, writeLast }) => {
    const { topic, title, publishedAt, updatedAt } = await mustFindPost(trx, actor.siteId, id)
    if (publishedAt !== null) return
    if (contentAt !== undefined && contentAt !== updatedAt) {
      throw conflict('the post has changed since approval; repeat the request for a new approval')
    }
    writeLast(trx.updateTable('post').set({ published_at: actor.now }).where('id', '=', id))
    record('post.publish', { kind: 'post', id }, { after: { topic, title } })
  })
  await deliverBatch(database, id, actor.now)
}

/** Marks an announcement as deleted and removes a batch of its notifications. Throws ChangeRefused if it is unknown. */
export async function deletePost(database: Database, actor: SiteActor, id: string): Promise<void> {
  await changeSite(database, actor, async ({ trx, record, writeLast }) => {
    const { topic, title } = await mustFindPost(trx, actor.siteId, id)
    writeLast(trx.updateTable('post').set({ removed_at: actor.now }).where('id', '=', id))
    record('post.delete', { kind: 'post', id }, { before: { topic, title } })
  })
  await removeBatch(database, id)
}
