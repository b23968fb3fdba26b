import type { Kysely } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { PagedRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { Created, SiteActor } from '../../school/changes/change.ts'
import {
  type ItemKey,
  type Release,
  type ReleaseChange,
  type releasedItems,
  releaseStateOf,
} from '../../school/changes/released-items.ts'
import { answerList, type PageArguments } from '../graphql/connections.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'
import { runInTurn } from './site-queue.ts'

type Find<Key = string> = (
  kysely: Kysely<Schema>,
  siteId: string,
  by: Key,
) => Promise<object | null | undefined>

/** Creates a resolver that finds a row of the site by id. */
export function byId(find: Find): AdminResolver<unknown, { readonly id: string }> {
  return async (_source, { id }, { caller, parts }) =>
    await find(parts.database.kysely, caller.siteId, id)
}

/** Creates a resolver that finds a row of the site by id or, without one, by another key; null if neither is given. */
export function foundBy<Key>(
  name: string,
  find: Find<Key>,
): AdminResolver<unknown, Readonly<Record<string, string | null | undefined>>> {
  return async (_source, { id, [name]: other }, { caller, parts }) => {
    if (id == null && other == null) return null
    const by: object = id == null ? { [name]: other } : { id }
    return await find(parts.database.kysely, caller.siteId, by as Key)
  }
}

/** Creates a resolver that reads a field for all nodes of a list at once. `missing` is the default value. */
export function batched<Value, Missing>(
  name: string,
  findAll: (
    kysely: Kysely<Schema>,
    ids: readonly string[],
    siteId: string,
  ) => Promise<Map<string, Value>>,
  missing: Missing,
) {
  return async (
    { id }: { readonly id: string },
    _args: object,
    { oneOfMany, parts, caller }: AdminContext,
  ): Promise<Value | Missing> => {
    const ofNodes = async (ids: readonly string[]) =>
      await findAll(parts.database.kysely, ids, caller.siteId)
    return (await oneOfMany(name, ofNodes, id)) ?? missing
  }
}

/** Creates the resolver for a list. `listRows` gets the field arguments, the site and the current time. */
export function listed<Question extends { readonly siteId: string }>(
  name: string,
  listRows: (database: Database, question: Question) => PagedRows<unknown>,
): AdminResolver<unknown, PageArguments> {
  return async (_source, args, context) => {
    const { caller, parts } = context
    const asked = () => ({ ...args, siteId: caller.siteId, nowMs: parts.now() }) as object
    // graphql-js has checked the arguments against the schema, whose types match `Question`.
    const rows = () => listRows(parts.database, asked() as Question)
    // Read the time only when the count begins, because later requests may share a count that is still waiting.
    const list = { ...rows(), count: async () => await rows().count() }
    return await siteList(context, args, list, name)
  }
}

/** Resolves a list. Cursors are bound to the site, to `named`, and to the filters and the sort order. */
export async function siteList<Row>(
  { caller, parts }: AdminContext,
  { first, after, ...filters }: PageArguments,
  list: PagedRows<Row>,
  ...named: readonly (string | number)[]
) {
  const given = Object.entries(filters).filter(([, value]) => value != null)
  const asked = JSON.stringify([...named, given])
  const count = async () => await runInTurn(`counts of ${caller.siteId}`, list.count, asked)
  const scope = ['admin', caller.siteId, asked]
  return await answerList({ ...list, count }, { first, after }, parts.cursors, scope)
}

type Change<Input, Result> = (database: Database, actor: SiteActor, input: Input) => Promise<Result>

/** Creates the payload of a mutation from the id of the changed object. */
type Payload = (id: string, context: AdminContext) => object

/** Returns a function that creates a payload with the changed row. The row is read only if it is selected. */
export function payloadWith(name: string, find: Find): Payload {
  return (id, { caller, parts }) => ({
    id,
    isNew: false,
    [name]: async () => await find(parts.database.kysely, caller.siteId, id),
  })
}

/** Creates the resolver of a mutation that creates an object. If the object already exists, `isNew` is false. */
export function creates<Input>(create: Change<Input, Created>, payload: Payload) {
  return async (_source: unknown, { input }: { readonly input: Input }, context: AdminContext) => {
    const { id, isNew } = await create(context.parts.database, actorOf(context), input)
    return { ...payload(id, context), isNew }
  }
}

/** Creates the resolver of a mutation whose input includes an id. */
export function updates<Input extends { readonly id: string }>(
  update: Change<Input, void>,
  payload: Payload,
) {
  return async (_source: unknown, { input }: { readonly input: Input }, context: AdminContext) => {
    await update(context.parts.database, actorOf(context), input)
    return payload(input.id, context)
  }
}

interface ChangedObject {
  readonly id: string
  /** The time of the last change to the approved announcement; see `demandApproval`. */
  readonly contentAt?: number
}

/** Creates the resolver of a mutation that takes only an id. */
export function changes(
  change: (...given: [...Parameters<Change<string, void>>, contentAt?: number]) => Promise<void>,
  payload: Payload,
) {
  return async (_source: unknown, { id, contentAt }: ChangedObject, context: AdminContext) => {
    await change(context.parts.database, actorOf(context), id, contentAt)
    return payload(id, context)
  }
}

/** Creates the resolver of a mutation that removes an object by id. */
export function deletes(remove: Change<string, void>) {
  return changes(remove, (deletedId) => ({ deletedId }))
}

/** The functions for one kind of item with a slug and a publication state (`releasedItems`). */
interface Items extends Omit<ReturnType<typeof releasedItems>, 'find' | 'mustFind'> {
  readonly find: Find<ItemKey>
  readonly mustFind: Find
}

/** Creates the resolvers of one kind of item, such as `courses`, `createCourse` and `publishCourse` (item.graphql). */
export function itemResolvers(
  type: string,
  items: Items,
  fields: Readonly<Record<string, AdminResolver<never, never>>>,
) {
  const one = type.charAt(0).toLowerCase() + type.slice(1)
  const payload = payloadWith(one, items.mustFind)
  const releases =
    (kind: ReleaseChange['kind']) =>
    async (_source: unknown, asked: { readonly id: string }, context: AdminContext) => {
      await items.release(context.parts.database, actorOf(context), { ...asked, kind })
      return payload(asked.id, context)
    }
  return {
    Query: { [`${one}s`]: listed(`${one}s`, items.list), [one]: foundBy('slug', items.find) },
    Mutation: {
      [`create${type}`]: creates(items.create, payload),
      [`update${type}`]: updates(items.update, payload),
      [`publish${type}`]: releases('publish'),
      [`unpublish${type}`]: releases('unpublish'),
      [`archive${type}`]: releases('archive'),
      [`restore${type}`]: releases('restore'),
      [`delete${type}`]: deletes(items.remove),
    },
    [type]: {
      state: (item: Release, _args: object, { parts }: AdminContext) =>
        releaseStateOf(item, parts.now()),
      ...fields,
    },
  }
}
