import { type Kysely, sql, type Transaction } from 'kysely'
import type { z } from 'zod'

import type { ChangeAction } from '../../platform/audit/audit-actions.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { changeSite, createAtSite, differenceOf, type SiteActor } from './change.ts'
import { given, readInput } from './fields.ts'
import { conflict, limitReached, notFound } from './refused.ts'
import { decideRelease, type Release, type ReleaseChange } from './release.ts'

/** The tables whose rows have a slug of their own at the site, and a release. */
export type ItemTable = 'course' | 'digital_product' | 'event'

/** What identifies one of them at a site. */
export type ItemKey = { readonly id: string } | { readonly slug: string }

type ItemFields = Record<string, unknown> & { readonly slug: string }

/** What is known of one, its fields named as its columns are, in camel case. */
type ItemOf<Fields> = Fields & Release & { readonly id: string }

/** What the audit trail calls what is done with one of them. */
type ItemActions = Readonly<
  Record<'create' | 'update' | ReleaseChange['kind'], { readonly action: ChangeAction }>
>

/** A kind of thing that a site has under a slug and shows to visitors. */
export interface ItemKind<Fields, Item extends ItemOf<Fields>, Creation, Changes> {
  readonly table: ItemTable
  /** What refusals call one. */
  readonly noun: string
  /** The prefix of its ids, as in `crs_`. */
  readonly prefix: string
  readonly find: (kysely: Kysely<Schema>, siteId: string, by: ItemKey) => Promise<Item | undefined>
  /** The forms of what an operator gives to make one, and to change one. */
  readonly creation: z.ZodType<Fields & { idempotencyKey?: string | null | undefined }, Creation>
  readonly changes: z.ZodType<{ [Field in keyof Fields]?: Fields[Field] | undefined }, Changes>
  readonly actions: ItemActions
  /** Throws ChangeRefused when fields do not go together, given all of them. */
  readonly check?: (fields: Fields) => void
}

const ITEMS_PER_SITE_MAX = 10_000

/** What one kind of these things can be made to do; each is one transaction with its line of the audit trail. */
export function releasedItems<
  Fields extends ItemFields,
  Item extends ItemOf<Fields>,
  Creation,
  Changes,
>(kind: ItemKind<Fields, Item, Creation, Changes>) {
  const { table, noun, prefix, find, actions, check } = kind

  /** @throws ChangeRefused when the site has no such thing */
  const mustFind = async (kysely: Kysely<Schema>, siteId: string, id: string): Promise<Item> => {
    const item = await find(kysely, siteId, { id })
    if (!item) throw notFound(noun)
    return item
  }

  return {
    mustFind,

    /**
     * Makes a draft.
     *
     * @returns its id
     * @throws ChangeRefused for a value without its form, a slug that is taken, and at the limit
     */
    async create(database: Database, actor: SiteActor, input: Creation): Promise<string> {
      const { idempotencyKey, ...rest } = readInput(kind.creation, input)
      // What is left of the creation's form is the fields.
      const fields = rest as unknown as Fields
      check?.(fields)
      return await createAtSite(database, actor, {
        ...{ prefix, idempotencyKey, wish: fields },
        isThere: async (trx, id) => (await find(trx, actor.siteId, { id })) !== undefined,
        make: async (id, trx, record) => {
          await mustHaveRoom(trx, actor.siteId, { table, noun })
          const { siteId, now: createdAt } = actor
          const made = await insert(trx, table, { id, siteId, ...fields, createdAt })
          if (!made) throw slugTaken(fields.slug)
          await record({ ...actions.create, subject: { kind: table, id }, after: fields })
        },
      })
    },

    /** Changes the fields that are given; what is so already is no change. @throws ChangeRefused as `create` */
    async update(
      database: Database,
      actor: SiteActor,
      { id, ...input }: Changes & { readonly id: string },
    ): Promise<void> {
      const wanted = given(readInput(kind.changes, input)) as Partial<Fields>
      await changeSite(database, actor, async (trx, record) => {
        const item = await mustFind(trx, actor.siteId, id)
        const change = differenceOf<Fields>(item, wanted)
        if (!change) return
        check?.({ ...item, ...wanted })
        const { slug } = change.after
        if (slug !== undefined && (await find(trx, actor.siteId, { slug }))) throw slugTaken(slug)
        await write(trx, { table, id, values: change.after })
        await record({ ...actions.update, subject: { kind: table, id }, ...change })
      })
    },

    /** Publishes, takes back, puts away or brings back. @throws ChangeRefused as `decideRelease` */
    async release(
      database: Database,
      actor: SiteActor,
      { id, change }: { readonly id: string; readonly change: ReleaseChange },
    ): Promise<void> {
      await changeSite(database, actor, async (trx, record) => {
        const item = await mustFind(trx, actor.siteId, id)
        const wanted = decideRelease(item, change, { nowMs: actor.now, noun })
        const difference = differenceOf<Release>(item, wanted)
        if (!difference) return
        await write(trx, { table, id, values: difference.after })
        const action = actions[change.kind]
        await record({ ...action, subject: { kind: table, id }, ...difference })
      })
    },
  }
}

async function mustHaveRoom(
  trx: Transaction<Schema>,
  siteId: string,
  { table, noun }: { readonly table: ItemTable; readonly noun: string },
): Promise<void> {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from ${sql.table(table)} where site_id = ${siteId}`.execute(trx)
  if (Number(rows[0]?.total) < ITEMS_PER_SITE_MAX) return
  throw limitReached(`a site has at most ${ITEMS_PER_SITE_MAX} ${noun}s`)
}

/** @returns whether nothing had the slug */
async function insert(
  trx: Transaction<Schema>,
  table: ItemTable,
  values: object,
): Promise<boolean> {
  const { rows } = await sql`
    insert into ${sql.table(table)} (${sql.join(Object.keys(values).map(columnOf))})
    values (${sql.join(Object.values(values))})
    on conflict (site_id, slug) do nothing returning id`.execute(trx)
  return rows.length > 0
}

async function write(
  trx: Transaction<Schema>,
  {
    table,
    id,
    values,
  }: { readonly table: ItemTable; readonly id: string; readonly values: object },
): Promise<void> {
  const changes = Object.entries(values).map(([field, value]) => sql`${columnOf(field)} = ${value}`)
  await sql`update ${sql.table(table)} set ${sql.join(changes)} where id = ${id}`.execute(trx)
}

/** `startsAt` is the column `starts_at`. */
function columnOf(field: string) {
  return sql.ref(field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
}

function slugTaken(taken: string) {
  return conflict(`the slug ${taken} is taken`, 'slug')
}
