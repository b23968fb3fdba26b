import { setTimeout as delay } from 'node:timers/promises'

import { type Kysely, sql, type Transaction } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { newId } from '../changes/change.ts'

/**
 * The way of an announcement into the inboxes, and out of them again: so many at a time, each step in
 * one transaction with its mark on the post. Two processes that do it at once take turns at the post's
 * row, and after a crash the next one goes on where the last step ended.
 */

/** Few enough that nobody who asks something waits for them. */
const NOTIFICATIONS_PER_BATCH = 500

/** Of as many sites. */
const POSTS_PER_ROUND = 100

/**
 * Puts a published announcement into the next inboxes: of people with a role at the site who
 * subscribe to its topic there.
 *
 * @returns whether there may be more to do
 */
export async function deliverBatch(
  { kysely }: Database,
  postId: string,
  nowMs: number,
): Promise<boolean> {
  return await kysely.transaction().execute(async (trx) => {
    const post = await lockPost(trx, postId)
    if (!post || !isUndelivered(post)) return false
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
 * Takes a removed announcement out of the next inboxes, and after the last one removes it itself. It goes
 * by the same order and mark as a delivery, so that it passes over what is gone already.
 *
 * @returns whether there is more to do
 */
export async function removeBatch({ kysely }: Database, postId: string): Promise<boolean> {
  return await kysely.transaction().execute(async (trx) => {
    const post = await lockPost(trx, postId)
    if (!post || post.removed_at === null) return false
    const from = post.delivered_to ?? ''
    const receivers = await trx
      .selectFrom('notification')
      .select('person_id')
      .where('post_id', '=', postId)
      .where('person_id', '>', from)
      .orderBy('person_id')
      .limit(NOTIFICATIONS_PER_BATCH)
      .execute()
    const last = receivers.at(-1)?.person_id
    if (last !== undefined) {
      await trx
        .deleteFrom('notification')
        .where('post_id', '=', postId)
        .where('person_id', '>', from)
        .where('person_id', '<=', last)
        .execute()
      await trx.updateTable('post').set({ delivered_to: last }).where('id', '=', postId).execute()
    }
    if (receivers.length === NOTIFICATIONS_PER_BATCH) return true
    await trx.deleteFrom('post').where('id', '=', postId).execute()
    return false
  })
}

type PostRow = NonNullable<Awaited<ReturnType<typeof lockPost>>>

/** The post as it is when nobody else is at it; writing locks the row on either engine, and changes nothing. */
async function lockPost(trx: Transaction<Schema>, id: string) {
  return await trx
    .updateTable('post')
    .set((eb) => ({ delivered_to: eb.ref('delivered_to') }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

function isUndelivered(post: PostRow): boolean {
  return post.published_at !== null && post.delivered_at === null && post.removed_at === null
}

type Subscriber = Awaited<ReturnType<typeof nextSubscribers>>[number]

/**
 * The next subscribers; `isMember` is 1 while they have a role at the site. Subscriptions outlast roles,
 * so that a step may be for few of them.
 */
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
  members: readonly Subscriber[],
  nowMs: number,
): Promise<void> {
  if (members.length === 0) return
  const copied = { post_id: id, site_id, topic, title, body, link }
  await trx
    .insertInto('notification')
    .values(
      members.map(({ personId: person_id }) => ({
        ...{ id: newId('not'), person_id, ...copied },
        ...{ created_at: nowMs, read_at: null },
      })),
    )
    // Nobody gets it twice, whatever happened before (the index notification_of_post).
    .onConflict((known) => known.doNothing())
    .execute()
}

/**
 * Finishes what publishing or removing a post began. It works half of the time, so that requests get
 * their turn, until nothing is left or the signal comes.
 *
 * @returns a background task; it throws the first failure of a round, in which every post is tried
 */
export function makePostDelivery({
  database,
  now,
}: {
  readonly database: Database
  readonly now: () => number
}) {
  const workOn = async ({ id, isRemoved }: Unfinished) =>
    await (isRemoved === 1 ? removeBatch(database, id) : deliverBatch(database, id, now()))
  const workOnAll = async (unfinished: readonly Unfinished[], signal: AbortSignal) => {
    const failures: unknown[] = []
    for (const post of unfinished) {
      if (signal.aborted) break
      const startedMs = performance.now()
      await workOn(post).catch((error: unknown) => failures.push(error))
      await pause(performance.now() - startedMs, signal)
    }
    if (failures.length > 0) throw failures[0]
  }
  return async (signal: AbortSignal): Promise<void> => {
    for (;;) {
      const unfinished = await listUnfinished(database.kysely)
      if (unfinished.length === 0 || signal.aborted) return
      await workOnAll(unfinished, signal)
    }
  }
}

type Unfinished = Awaited<ReturnType<typeof listUnfinished>>[number]

/**
 * The oldest of each site first; the others of a site are next. However many a site publishes or removes
 * at once, those of other sites do not wait behind them.
 */
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

/** Ends at once when the service stops. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}
