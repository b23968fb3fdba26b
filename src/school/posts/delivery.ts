import { setTimeout as delay } from 'node:timers/promises'

import { type Kysely, sql, type Transaction } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { insertNew } from '../../platform/store/insert-new.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { newId } from '../changes/change.ts'

/**
 * Delivers announcements to inboxes, and removes deleted announcements, in batches. Each batch is one transaction. A
 * delivery stores its progress in the row of the post. Concurrent processes wait for the lock on that row. After a
 * crash, the next batch continues where the last batch ended.
 */

/** The maximum number of inboxes in a batch. Small batches hardly delay requests. */
const NOTIFICATIONS_PER_BATCH = 500

/** The maximum number of deliveries, and of removals, per round. */
const POSTS_PER_ROUND = 100

/**
 * Delivers a published announcement to the next subscribers of its topic. Skips subscribers without a role at the site.
 *
 * @returns whether there may be more subscribers; false if the announcement needs no delivery
 */
export async function deliverBatch({ kysely }: Database, postId: string, nowMs: number) {
  return await kysely.transaction().execute(async (trx) => {
    const post = await lockPost(trx, postId)
    if (!post || post.published_at === null || post.removed_at !== null) return false
    if (post.delivered_at !== null) return false
    const subscribers = await nextSubscribers(trx, post)
    const members = subscribers.filter(({ isMember }) => isMember === 1)
    await notify(trx, post, members, nowMs)
    const isLast = subscribers.length < NOTIFICATIONS_PER_BATCH
    await trx
      .updateTable('post')
      .set({
        delivered_to: subscribers.at(-1)?.personId ?? post.delivered_to,
        delivered_at: isLast ? nowMs : null,
      })
      .where('id', '=', postId)
      .execute()
    return !isLast
  })
}

/**
 * Removes a deleted announcement from the next inboxes, and deletes its row after the last batch.
 *
 * @returns whether there may be more inboxes
 */
export async function removeBatch({ kysely }: Database, postId: string): Promise<boolean> {
  return await kysely.transaction().execute(async (trx) => {
    const post = await lockPost(trx, postId)
    if (!post || post.removed_at === null) return false
    const all = trx.selectFrom('notification').select('id').where('post_id', '=', postId)
    const next = await all.limit(NOTIFICATIONS_PER_BATCH).execute()
    const ids = next.map(({ id }) => id)
    if (ids.length > 0) await trx.deleteFrom('notification').where('id', 'in', ids).execute()
    if (ids.length === NOTIFICATIONS_PER_BATCH) return true
    await trx.deleteFrom('post').where('id', '=', postId).execute()
    return false
  })
}

type PostRow = NonNullable<Awaited<ReturnType<typeof lockPost>>>

/** Reads the post under a row lock (a no-op update locks in both databases). */
async function lockPost(trx: Transaction<Schema>, id: string) {
  return await trx
    .updateTable('post')
    .set((eb) => ({ delivered_to: eb.ref('delivered_to') }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** Reads the next subscribers. `isMember` is 0 for a person who has lost all roles at the site, and otherwise 1. */
async function nextSubscribers(trx: Transaction<Schema>, post: PostRow) {
  return await trx
    .selectFrom('notification_subscription as s')
    .select([
      's.person_id as personId',
      sql<number>`case when exists (select 1 from site_role
        where person_id = s.person_id and site_id = s.site_id) then 1 else 0 end`.as('isMember'),
    ])
    .where('s.site_id', '=', post.site_id)
    .where('s.topic', '=', post.topic)
    .where('s.channel', '=', 'inbox')
    .where('s.enabled_at', 'is not', null)
    .where('s.person_id', '>', post.delivered_to ?? '')
    .orderBy('s.person_id')
    .limit(NOTIFICATIONS_PER_BATCH)
    .execute()
}

async function notify(
  trx: Transaction<Schema>,
  { id, site_id, topic, title, body, link }: PostRow,
  members: readonly { readonly personId: string }[],
  nowMs: number,
): Promise<void> {
  if (members.length === 0) return
  const post = { post_id: id, site_id, topic, title, body, link, created_at: nowMs, read_at: null }
  const rows = members.map(({ personId }) => ({ id: newId('not'), person_id: personId, ...post }))
  // The index `notification_of_post` prevents a duplicate notification.
  await insertNew(trx, 'notification', ...rows)
}

/**
 * Creates the task that completes deliveries and removals. After each batch, the task pauses for as long as the batch
 * took, to leave time for requests. A run repeats rounds until nothing is left to do or a round fails. A round runs one
 * batch for each of its posts, even after a failure.
 */
export function postDelivery({ database, now, sweeps }: DeliverySources, everySeconds: number) {
  const work = async ({ id, isRemoved }: Unfinished, signal: AbortSignal) => {
    if (signal.aborted) return
    const startedMs = performance.now()
    try {
      await (isRemoved === 1 ? removeBatch(database, id) : deliverBatch(database, id, now()))
    } finally {
      // `delay` rejects only if the signal is aborted.
      await delay(performance.now() - startedMs, undefined, { signal }).catch(() => {})
    }
  }
  const run = async (signal: AbortSignal): Promise<void> => {
    for (;;) {
      const unfinished = await listUnfinished(database.kysely)
      if (unfinished.length === 0 || signal.aborted) return
      const failures: unknown[] = []
      for (const post of unfinished) {
        await work(post, signal).catch((error: unknown) => failures.push(error))
      }
      if (failures.length > 0) throw failures[0]
    }
  }
  return { name: 'posts', everySeconds, run, onlyWhen: sweeps }
}

type Unfinished = Awaited<ReturnType<typeof listUnfinished>>[number]

interface DeliverySources {
  readonly database: Database
  readonly now: () => number
  readonly sweeps?: (() => boolean) | undefined
}

/** Lists each site's oldest unfinished delivery and removal, so no site delays others. Lists at most 100 of each. */
async function listUnfinished(kysely: Kysely<Schema>) {
  const posts = kysely.selectFrom('post').select('id')
  const undelivered = posts
    .select(['published_at as since', placeAtSite('published_at').as('place')])
    .select(sql<number>`0`.as('isRemoved'))
    .where('published_at', 'is not', null)
    .where('delivered_at', 'is', null)
    .where('removed_at', 'is', null)
  const removed = posts
    .select(['removed_at as since', placeAtSite('removed_at').as('place')])
    .select(sql<number>`1`.as('isRemoved'))
    .where('removed_at', 'is not', null)
  const found = [undelivered, removed].map(
    async (query) =>
      await kysely
        .selectFrom(query.as('unfinished'))
        .select(['id', 'isRemoved'])
        .where('place', '=', 1)
        .orderBy('since')
        .limit(POSTS_PER_ROUND)
        .execute(),
  )
  return (await Promise.all(found)).flat()
}

function placeAtSite(since: 'published_at' | 'removed_at') {
  return sql<number>`row_number() over (partition by site_id order by ${sql.ref(since)}, id)`
}
