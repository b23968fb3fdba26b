import type { Kysely, Selectable } from 'kysely'

import { compiled, type Valued } from './compiled.ts'
import type { Database } from './database.ts'
import {
  fromStored,
  isBearer,
  type StateAdapter,
  type StateStore,
  storedId,
  toStored,
} from './oauth-state.ts'
import type { Schema } from './schema.ts'

export interface SqlStateOptions {
  readonly now?: () => number
}

/** OAuth state in the table oauth_state. The database belongs to the caller, who closes it. */
export function sqlState(database: Database, options: SqlStateOptions = {}): StateStore {
  const now = options.now ?? Date.now
  const queries = makeQueries(database.kysely)
  return {
    adapterFor: (model) => sqlAdapter(queries, model, now),
    ping: () => database.ping(),
    async [Symbol.asyncDispose]() {},
  }
}

function sqlAdapter(queries: Queries, model: string, now: () => number): StateAdapter {
  const keyOf = (id: string): Key => ({ model, id: storedId(model, id) })
  const findRow = async (id: string) => {
    const { rows } = await queries.find({ ...keyOf(id), nowMs: now() })
    return rows[0]
  }
  return {
    async upsert(id, payload, ttlSeconds) {
      const record = toStored(model, payload, ttlSeconds)
      const nowMs = now()
      const write = isBearer(model) ? queries.insert : queries.replace
      await write({
        ...keyOf(id),
        payload: record.payload,
        uid: record.uid ?? null,
        expires_at: nowMs + record.ttlMs,
        nowMs,
      })
    },
    async find(id) {
      const row = await findRow(id)
      return row && fromStored(model, { ...row, id, consumedAtMs: row.consumed_at })
    },
    async findByUid(uid) {
      const { rows } = await queries.findByUid({ model, uid, nowMs: now() })
      const [row] = rows
      return row && fromStored(model, { ...row, consumedAtMs: row.consumed_at })
    },
    async consumeOnce(id) {
      const consumedAtMs = now()
      const { numAffectedRows } = await queries.consume({ ...keyOf(id), nowMs: consumedAtMs })
      if (numAffectedRows === 1n) return { seed: '', consumedAtMs, first: true }

      const row = await findRow(id)
      if (!row || row.consumed_at === null) return undefined
      return { seed: row.successor_seed ?? '', consumedAtMs: row.consumed_at, first: false }
    },
    async addOnce(id, ttlSeconds) {
      const nowMs = now()
      const expires_at = nowMs + Math.ceil(ttlSeconds * 1000)
      const record = { ...keyOf(id), payload: '{}', uid: null, expires_at, nowMs }
      return (await queries.insert(record)).numAffectedRows === 1n
    },
    async destroy(id) {
      await queries.destroy(keyOf(id))
    },
  }
}

interface Key {
  readonly model: string
  readonly id: string
}

interface Written extends Key {
  readonly payload: string
  readonly uid: string | null
  readonly expires_at: number
  readonly nowMs: number
}

type Queries = ReturnType<typeof makeQueries>

function makeQueries(kysely: Kysely<Schema>) {
  return {
    ...writingQueries(kysely),
    find: compiled<Key & { nowMs: number }, FoundRow>(kysely, (value) =>
      live(kysely, value('model'), value('nowMs')).where('id', '=', value('id')),
    ),
    findByUid: compiled<{ model: string; uid: string; nowMs: number }, FoundRow>(kysely, (value) =>
      live(kysely, value('model'), value('nowMs'))
        .where('uid', '=', value('uid'))
        .orderBy('expires_at', 'desc')
        .limit(1),
    ),
    destroy: compiled<Key, never>(kysely, (value) =>
      kysely
        .deleteFrom('oauth_state')
        .where('model', '=', value('model'))
        .where('id', '=', value('id')),
    ),
    consume: compiled<Key & { nowMs: number }, never>(kysely, (value) =>
      kysely
        .updateTable('oauth_state')
        .set({ consumed_at: value('nowMs') })
        .where('model', '=', value('model'))
        .where('id', '=', value('id'))
        .where('consumed_at', 'is', null)
        .where('expires_at', '>', value('nowMs')),
    ),
  }
}

/**
 * `replace` lets the last write win. `insert` is for bearer values: one that is still alive is not
 * written again; an expired one, waiting for its removal, is as good as absent.
 */
function writingQueries(kysely: Kysely<Schema>) {
  const upsert = (value: Valued<Written>, once: boolean) => {
    const values = {
      payload: value('payload'),
      uid: value('uid'),
      consumed_at: null,
      successor_seed: null,
      expires_at: value('expires_at'),
    }
    return kysely
      .insertInto('oauth_state')
      .values({ model: value('model'), id: value('id'), ...values })
      .onConflict((conflict) => {
        const replace = conflict.columns(['model', 'id']).doUpdateSet(values)
        return once ? replace.where('oauth_state.expires_at', '<=', value('nowMs')) : replace
      })
  }
  return {
    insert: compiled<Written, never>(kysely, (value) => upsert(value, true)),
    replace: compiled<Written, never>(kysely, (value) => upsert(value, false)),
  }
}

type FoundRow = Pick<
  Selectable<Schema['oauth_state']>,
  'id' | 'payload' | 'consumed_at' | 'successor_seed'
>

function live(kysely: Kysely<Schema>, model: string, nowMs: number) {
  return kysely
    .selectFrom('oauth_state')
    .select(['id', 'payload', 'consumed_at', 'successor_seed'])
    .where('model', '=', model)
    .where('expires_at', '>', nowMs)
}
