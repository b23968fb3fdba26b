import { type Kysely, type RawBuilder, sql } from 'kysely'
import { z } from 'zod'

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
import { given, idempotencyKey, readInput } from './input.ts'
import { conflict, limitReached, mustBeThere } from './refusals.ts'

/** The tables of items that have a release state, and a slug that is unique at the site. */
type ItemTable = 'course' | 'digital_product' | 'event'

/** The table of people's purchases or registrations, for each kind of item. */
const heldRows = {
  course: 'course_purchase',
  digital_product: 'digital_product_purchase',
  event: 'event_registration',
} as const satisfies Readonly<Record<ItemTable, keyof Schema>>

/** Tables that refer to an item. */
type ReferringTable = 'lecture' | (typeof heldRows)[ItemTable]

export type ItemKey = { readonly id: string } | { readonly slug: string }

/** The properties that every kind of item has. Each is named like its column, but in camel case. */
interface ItemRow extends Release {
  /** When the item was first visible, as known at the last change of its release state; null if not yet. */
  readonly firstPublishedAt: number | null
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly createdAt: number
}

/** The sort orders that every kind of item has. */
const itemOrders = {
  SLUG: orderBy('slug', 'asc', 'slug'),
  TITLE: orderBy('title', 'asc', 'title'),
  NEWEST: orderBy('createdAt', 'desc', 'created_at'),
}

/** The columns that all items have, in addition to those in `fields`. */
const ownColumns = ['id', 'publishedAt', 'archivedAt', 'firstPublishedAt', 'createdAt']

/** A kind of item that a site publishes under a slug. */
interface ItemKind<Fields extends z.ZodObject, Linked extends string> {
  readonly table: ItemTable
  /** The prefix of the item ids, such as `crs`. */
  readonly prefix: string
  /** The fields that operators set, named like their columns. A new item may omit fields that can be null. */
  readonly fields: Fields
  /** Columns besides `fields` that other functions change, such as `fileId`. */
  readonly linked?: readonly Linked[]
  /** Sort orders besides `itemOrders`; the first is the default. */
  readonly orders?: Readonly<Record<string, ListOrder<ItemRow & z.output<NoInfer<Fields>>>>>
  /** Checks all fields of the item together. Throws ChangeRefused if they contradict each other. */
  readonly check?: (fields: z.output<NoInfer<Fields>>) => void
}

interface ItemQuestion {
  readonly siteId: string
  readonly nowMs: number
  /** Text to find in any part of the title or slug (see `containsText`). */
  readonly search?: string | null | undefined
  readonly state?: ReleaseState | null | undefined
  readonly sort?: string | null | undefined
}

const ITEMS_PER_SITE_MAX = 10_000

/** The values of some fields of an item. */
interface Values {
  readonly slug?: string
}

/** Creates the functions that read one kind of item. */
function itemReaders<Fields extends z.ZodObject, Linked extends string>({
  table,
  fields,
  linked = [],
  orders: ownOrders,
}: ItemKind<Fields, Linked>) {
  type Item = ItemRow & z.output<Fields> & Readonly<Record<Linked, string | null>>
  const names = [...ownColumns, ...Object.keys(fields.shape), ...linked]
  const columns = names.map((name) => columnOf(name).as(name))
  const orders = Object.entries({ ...ownOrders, ...itemOrders })

  const rowsOf = (kysely: Kysely<Schema>, siteId: string) =>
    kysely.selectFrom(table).select(columns).where('site_id', '=', siteId).$castTo<ItemRow>()

  const find = async (kysely: Kysely<Schema>, siteId: string, by: ItemKey) => {
    const item = rowsOf(kysely, siteId).where((e) => e.and(by))
    return (await item.executeTakeFirst()) as Item | undefined
  }

  return {
    rowsOf,
    find,

    /** Finds an item of the site by id. @throws ChangeRefused if the site has no such item */
    mustFind: async (kysely: Kysely<Schema>, siteId: string, id: string) =>
      mustBeThere(await find(kysely, siteId, { id }), table.replaceAll('_', ' ')),

    /** Lists the items of a site that match the filters. Runs one query for a page, and one for the count. */
    list({ kysely }: Database, question: ItemQuestion): PagedRows<ItemRow> {
      const { siteId, nowMs, search, state, sort } = question
      const [, order] = orders.find(([name]) => name === sort) ?? orders[0] ?? []
      const found = rowsOf(kysely, siteId)
        .$if(search != null, (query) => query.where(nameContains(search ?? '')))
        .$if(state != null, (query) => query.where(isInState(state ?? 'DRAFT', nowMs)))
      return pagedRows(found, order as ListOrder<ItemRow>)
    },
  }
}

/** Creates the functions that read and change one kind of item. Each change is one transaction with an audit event. */
export function releasedItems<Fields extends z.ZodObject, Linked extends string = never>(
  kind: ItemKind<Fields, Linked>,
) {
  const { table, prefix, fields } = kind
  const { rowsOf, ...readers } = itemReaders(kind)
  const { find, mustFind } = readers
  const noun = table.replaceAll('_', ' ')
  const check = (values: Values) => kind.check?.(values as never)

  const mustBeFree = async (trx: Kysely<Schema>, siteId: string, slug: string | undefined) => {
    if (slug === undefined || !(await find(trx, siteId, { slug }))) return
    throw conflict(`the slug ${slug} is taken; choose another`, 'slug')
  }

  return {
    ...readers,

    /** Creates a draft. Throws ChangeRefused for an invalid value, a taken slug, or too many items at the site. */
    create: siteCreation({
      prefix,
      schema: creationOf(fields),
      find: async (trx, siteId, id) => await find(trx, siteId, { id }),
      async insert({ trx, actor, record }, id, values: Values) {
        check(values)
        if ((await countRows(rowsOf(trx, actor.siteId))) >= ITEMS_PER_SITE_MAX) {
          throw limitReached(`a site can have up to ${ITEMS_PER_SITE_MAX} ${noun}s; delete a draft`)
        }
        await mustBeFree(trx, actor.siteId, values.slug)
        await insert(trx, table, { id, siteId: actor.siteId, ...values, createdAt: actor.now })
        record(`${table}.create`, { kind: table, id }, { after: { ...values } })
      },
    }),

    /** Changes the given fields. Throws ChangeRefused for an unknown item, an invalid value, or a taken slug. */
    update: siteChange(
      async ({ trx, actor, record }, { id, ...input }: Values & Pick<ItemRow, 'id'>) => {
        const wanted: Values = given(readInput<z.ZodObject>(fields.partial(), input))
        const item: Values = await mustFind(trx, actor.siteId, id)
        const change = differenceOf(item, wanted)
        if (!change) return
        check({ ...item, ...wanted })
        await mustBeFree(trx, actor.siteId, change.after.slug)
        await writeItem(trx, table, id, change.after)
        record(`${table}.update`, { kind: table, id }, change)
      },
    ),

    /** Changes the release state. Throws ChangeRefused for an unknown item, or if it would publish an archived item. */
    release: siteChange(
      async ({ trx, actor, record }, { id, ...change }: ReleaseChange & Pick<ItemRow, 'id'>) => {
        const item: ItemRow = await mustFind(trx, actor.siteId, id)
        const wanted = decideRelease(item, change, { nowMs: actor.now, noun })
        const difference = differenceOf<Release>(item, wanted)
        if (!difference) return
        const firstPublishedAt = firstPublicationOf(item, wanted, actor.now)
        await writeItem(trx, table, id, { ...difference.after, firstPublishedAt })
        const values = { ...difference, reportedAs: publicationBy(change, table, item) }
        record(`${table}.${change.kind}`, { kind: table, id }, values)
      },
    ),

    /**
     * Deletes an item that was never visible, and that has no purchases or registrations. Throws ChangeRefused for any
     * other item, because people may have seen or bought it.
     */
    remove: siteChange(async ({ trx, actor, record }, id: string) => {
      const { slug, title, ...release }: ItemRow = await mustFind(trx, actor.siteId, id)
      const held = await countReferring(table, heldRows[table])(trx, [id])
      if (firstPublicationOf(release, release, actor.now) !== null || held.size > 0) {
        throw conflict(`the ${noun} was published or is in use; archive it instead`)
      }
      await sql`delete from ${sql.table(table)} where id = ${id}`.execute(trx)
      record(`${table}.delete`, { kind: table, id }, { before: { slug, title } })
    }),
  }
}

/** Returns the schema for a new item and its idempotency key. Fields that can be null are optional. */
function creationOf(fields: z.ZodObject) {
  const shape = Object.entries(fields.shape).map(([name, field]) => {
    return [name, field.safeParse(null).success ? field.default(null) : field] as const
  })
  return z.strictObject({ ...Object.fromEntries(shape), idempotencyKey })
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

function nameContains(text: string) {
  return sql<boolean>`(${containsText('title', text)} or ${containsText('slug', text)})`
}

async function insert(trx: Kysely<Schema>, table: ItemTable, values: object): Promise<void> {
  await sql`
    insert into ${sql.table(table)} (${sql.join(Object.keys(values).map(columnOf))})
    values (${sql.join(Object.values(values))})`.execute(trx)
}

async function writeItem(trx: Kysely<Schema>, table: ItemTable, id: string, values: object) {
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
export interface ReleaseChange {
  readonly kind: 'publish' | 'unpublish' | 'archive' | 'restore'
  readonly at?: number | null | undefined
}

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

/** Returns the action that webhooks report when an item with a publication time is restored; otherwise undefined. */
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
