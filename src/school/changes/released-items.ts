import { type Kysely, type RawBuilder, type SelectQueryBuilder, type Simplify, sql } from 'kysely'
import type { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import {
  countRows,
  type ListOrder,
  orderBy,
  type PagedRows,
  pagedRows,
} from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { containsText } from '../../platform/store/search.ts'
import { differenceOf, siteChange, siteCreation } from './change.ts'
import { given, readInput } from './input.ts'
import { conflict, limitReached, notFound } from './refusals.ts'

/** Tables of items, with a release state and a slug that is unique at the site. */
type ItemTable = 'course' | 'digital_product' | 'event'

/** Tables that refer to an item. */
type ReferringTable =
  | 'lecture'
  | 'course_purchase'
  | 'digital_product_purchase'
  | 'event_registration'

/** The table of people's purchases or registrations, for each kind of item. */
const heldRows = {
  course: 'course_purchase',
  digital_product: 'digital_product_purchase',
  event: 'event_registration',
} as const satisfies Readonly<Record<ItemTable, ReferringTable>>

export type ItemKey = { readonly id: string } | { readonly slug: string }

/** The fields that every kind of item has. Each field is named like its column, but in camel case. */
interface ItemRow extends Release {
  /** When the item was first visible, even if it is a draft again; null if it never was. */
  readonly firstPublishedAt: number | null
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly createdAt: number
}

/** A kind of item that a site publishes under a slug. */
interface ItemKind<
  Table extends keyof Schema,
  Row,
  Fields extends { readonly slug: string },
  Creation,
  Changes,
  Sort extends string,
> {
  readonly table: ItemTable
  /** The prefix of the item ids, such as `crs`. */
  readonly prefix: string
  readonly rowsOf: (
    kysely: Kysely<Schema>,
    siteId: string,
  ) => SelectQueryBuilder<Schema, Table, Row>
  readonly orders: Readonly<Record<Sort, ListOrder<NoInfer<Simplify<Row>>>>>
  readonly sortedBy: NoInfer<Sort>
  readonly creation: z.ZodType<Fields & { idempotencyKey?: string | null | undefined }, Creation>
  readonly changes: z.ZodType<
    { [Field in keyof NoInfer<Fields>]?: NoInfer<Fields>[Field] | undefined },
    Changes
  >
  /** Checks all fields of the item together. Throws ChangeRefused if they contradict each other. */
  readonly check?: (fields: NoInfer<Fields>) => void
}

interface ItemQuestion {
  readonly siteId: string
  readonly nowMs: number
  /** Text to find in any part of the title or slug, ignoring case. */
  readonly search?: string | null | undefined
  readonly state?: ReleaseState | null | undefined
}

const ITEMS_PER_SITE_MAX = 10_000

/** Creates the functions that read and change one kind of item. Each change is one transaction with its audit event. */
export function releasedItems<
  Table extends keyof Schema,
  Row extends ItemRow,
  Fields extends { readonly slug: string },
  Creation,
  Changes,
  Sort extends string,
>(kind: ItemKind<Table, Row, Fields, Creation, Changes, Sort>) {
  const { table, prefix, rowsOf, check } = kind
  const noun = table.replaceAll('_', ' ')

  const find = async (kysely: Kysely<Schema>, siteId: string, by: ItemKey) =>
    await rowsOf(kysely, siteId).where(isItem(table, by)).executeTakeFirst()

  /** Finds an item of the site by id. @throws ChangeRefused if the site has no such item */
  const mustFind = async (kysely: Kysely<Schema>, siteId: string, id: string) => {
    const item = await find(kysely, siteId, { id })
    if (!item) throw notFound(noun)
    return item
  }

  const mustBeFree = async (trx: Kysely<Schema>, siteId: string, slug: string | undefined) => {
    if (slug === undefined || !(await find(trx, siteId, { slug }))) return
    throw conflict(`the slug ${slug} is taken; choose another`, 'slug')
  }

  return {
    find,
    mustFind,

    /** Lists the items of a site that match the filters. Runs one query for a page, and one for the count. */
    list(
      { kysely }: Database,
      question: ItemQuestion & { readonly sort?: Sort | null | undefined },
    ): PagedRows<Simplify<Row>> {
      const found = rowsOf(kysely, question.siteId).where(itemMatches(table, question))
      return pagedRows(found, kind.orders[question.sort ?? kind.sortedBy])
    },

    /** Creates a draft. Throws ChangeRefused for an invalid value, a taken slug, or too many items at the site. */
    create: siteCreation({
      prefix,
      schema: kind.creation,
      find: async (trx, siteId, id) => await find(trx, siteId, { id }),
      async insert({ trx, actor, record }, id, values) {
        // All members of the creation schema except the idempotency key are fields.
        const fields = values as unknown as Fields
        check?.(fields)
        if ((await countRows(rowsOf(trx, actor.siteId))) >= ITEMS_PER_SITE_MAX) {
          throw limitReached(`a site can have up to ${ITEMS_PER_SITE_MAX} ${noun}s; delete a draft`)
        }
        await mustBeFree(trx, actor.siteId, fields.slug)
        await insert(trx, table, { id, siteId: actor.siteId, ...fields, createdAt: actor.now })
        record(`${table}.create`, { kind: table, id }, { after: { ...fields } })
      },
    }),

    /** Changes the given fields. Throws ChangeRefused for an unknown item, an invalid value, or a taken slug. */
    update: siteChange(
      async ({ trx, actor, record }, { id, ...input }: Changes & { readonly id: string }) => {
        const wanted = given(readInput(kind.changes, input)) as Partial<Fields>
        // Every field is also a column of the row.
        const item = (await mustFind(trx, actor.siteId, id)) as unknown as Fields
        const change = differenceOf<Fields>(item, wanted)
        if (!change) return
        check?.({ ...item, ...wanted })
        await mustBeFree(trx, actor.siteId, change.after.slug)
        await write(trx, table, id, change.after)
        record(`${table}.update`, { kind: table, id }, change)
      },
    ),

    /** Changes the release state. Throws ChangeRefused for an unknown item, or if an archived item is published. */
    release: siteChange(
      async ({ trx, actor, record }, { id, change }: { id: string; change: ReleaseChange }) => {
        const item = await mustFind(trx, actor.siteId, id)
        const wanted = decideRelease(item, change, { nowMs: actor.now, noun })
        const difference = differenceOf<Release>(item, wanted)
        if (!difference) return
        const firstPublishedAt = firstPublicationOf(item, wanted, actor.now)
        await write(trx, table, id, { ...difference.after, firstPublishedAt })
        const values = { ...difference, reportedAs: publicationBy(change, table, item) }
        record(`${table}.${change.kind}`, { kind: table, id }, values)
      },
    ),

    /**
     * Deletes an item that was never published. Throws ChangeRefused for any other item, because people may have seen
     * or bought it.
     */
    remove: siteChange(async ({ trx, actor, record }, id: string) => {
      const { slug, title, ...release } = await mustFind(trx, actor.siteId, id)
      const held = await countReferring(table, heldRows[table])(trx, [id])
      if (firstPublicationOf(release, release, actor.now) !== null || held.size > 0) {
        throw conflict(`the ${noun} was published or is in use; archive it instead`)
      }
      await sql`delete from ${sql.table(table)} where id = ${id}`.execute(trx)
      record(`${table}.delete`, { kind: table, id }, { before: { slug, title } })
    }),
  }
}

/** Creates a function that counts each item's referring rows that match a condition. Omits items without such rows. */
export function countReferring(
  table: ItemTable,
  referring: ReferringTable,
  condition: RawBuilder<unknown> = sql`true`,
) {
  const column = sql.ref(`${table}_id`)
  return async (kysely: Kysely<Schema>, ids: readonly string[]): Promise<Map<string, number>> => {
    const { rows } = await sql<{ id: string; total: number }>`
      select ${column} as id, count(*) as total from ${sql.table(referring)}
      where ${column} in (${sql.join(ids)}) and ${condition} group by ${column}`.execute(kysely)
    return new Map(rows.map(({ id, total }) => [id, Number(total)]))
  }
}

function isItem(table: ItemTable, by: ItemKey) {
  const [column, value] = 'id' in by ? ['id', by.id] : ['slug', by.slug]
  return sql<boolean>`${sql.ref(`${table}.${column}`)} = ${value}`
}

function itemMatches(table: ItemTable, { nowMs, search, state }: ItemQuestion) {
  const words = search ?? ''
  const found = sql<boolean>`(${containsText(`${table}.title`, words)} or ${containsText(`${table}.slug`, words)})`
  const conditions = [
    search == null ? sql`1 = 1` : found,
    state == null ? sql`1 = 1` : isInState(state, nowMs),
  ]
  return sql<boolean>`${sql.join(conditions, sql` and `)}`
}

/** Returns the columns that every kind of item has, for `select`. */
export function itemColumns<Table extends ItemTable>(table: Table) {
  return [
    `${table}.id`,
    `${table}.slug`,
    `${table}.title`,
    `${table}.summary`,
    `${table}.published_at as publishedAt`,
    `${table}.archived_at as archivedAt`,
    `${table}.first_published_at as firstPublishedAt`,
    `${table}.created_at as createdAt`,
  ] as const
}

/** The sort orders that every kind of item has. */
export const itemOrders = {
  SLUG: orderBy('slug', 'asc', 'slug'),
  TITLE: orderBy('title', 'asc', 'title'),
  NEWEST: orderBy('createdAt', 'desc', 'created_at'),
}

async function insert(trx: Kysely<Schema>, table: ItemTable, values: object): Promise<void> {
  await sql`
    insert into ${sql.table(table)} (${sql.join(Object.keys(values).map(columnOf))})
    values (${sql.join(Object.values(values))})`.execute(trx)
}

async function write(trx: Kysely<Schema>, table: ItemTable, id: string, values: object) {
  const changes = Object.entries(values).map(([field, value]) => sql`${columnOf(field)} = ${value}`)
  await sql`update ${sql.table(table)} set ${sql.join(changes)} where id = ${id}`.execute(trx)
}

/** Maps a field to its column, for example `startsAt` to `starts_at`. */
function columnOf(field: string) {
  return sql.ref(field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
}

/** The release state of an item, derived from its two timestamps. */
export type ReleaseState = 'DRAFT' | 'SCHEDULED' | 'PUBLISHED' | 'ARCHIVED'

export interface Release {
  readonly publishedAt: number | null
  readonly archivedAt: number | null
}

export function releaseStateOf({ publishedAt, archivedAt }: Release, nowMs: number): ReleaseState {
  if (archivedAt !== null) return 'ARCHIVED'
  if (publishedAt === null) return 'DRAFT'
  return publishedAt > nowMs ? 'SCHEDULED' : 'PUBLISHED'
}

/** Returns the SQL condition for rows in a release state, equivalent to `releaseStateOf`. */
function isInState(state: ReleaseState, nowMs: number) {
  const conditions = {
    ARCHIVED: sql<boolean>`archived_at is not null`,
    DRAFT: sql<boolean>`archived_at is null and published_at is null`,
    SCHEDULED: sql<boolean>`archived_at is null and published_at > ${nowMs}`,
    PUBLISHED: sql<boolean>`archived_at is null and published_at <= ${nowMs}`,
  }
  return conditions[state]
}

/** A change of the release state. `at` is the publication time, which may be in the future. */
export type ReleaseChange =
  | { readonly kind: 'publish'; readonly at: number | undefined }
  | { readonly kind: 'unpublish' }
  | { readonly kind: 'archive' }
  | { readonly kind: 'restore' }

/** Returns when an item was first visible, given a change at `nowMs`. Ignores future times, which may still change. */
function firstPublicationOf(
  { firstPublishedAt, publishedAt }: Pick<ItemRow, 'firstPublishedAt' | 'publishedAt'>,
  wanted: Partial<Release>,
  nowMs: number,
): number | null {
  const seen = [firstPublishedAt, publishedAt, wanted.publishedAt].filter(
    (time) => time != null && time <= nowMs,
  )
  return seen.length > 0 ? Math.min(...(seen as number[])) : null
}

/** Returns the webhook action of a change that restores a published item; undefined for all other changes. */
function publicationBy({ kind }: ReleaseChange, table: ItemTable, { publishedAt }: Release) {
  return kind === 'restore' && publishedAt !== null ? (`${table}.publish` as const) : undefined
}

/** Returns the timestamp that a change sets; null clears it. @throws ChangeRefused if it publishes an archived item */
function decideRelease(
  release: Release,
  change: ReleaseChange,
  { nowMs, noun }: { readonly nowMs: number; readonly noun: string },
): Partial<Release> {
  switch (change.kind) {
    case 'publish':
      if (release.archivedAt !== null) {
        throw conflict(`the ${noun} is archived; restore it first`)
      }
      // Without `at`, an item that is already published keeps its publication time.
      return { publishedAt: change.at ?? Math.min(release.publishedAt ?? nowMs, nowMs) }
    case 'unpublish':
      return { publishedAt: null }
    case 'archive':
      return { archivedAt: release.archivedAt ?? nowMs }
    case 'restore':
      return { archivedAt: null }
  }
}
