import type { Redis } from 'ioredis'
import type { ExpressionBuilder, Kysely } from 'kysely'
import type { Adapter, AdapterPayload } from 'oidc-provider'

import { compiled, type Valued } from './compiled-queries.ts'
import type { Database } from './database.ts'
import { sha256 } from './digest.ts'
import { isStoreFailure, type StoreGuard } from './guarded-stores.ts'
import type { RedisClient } from './redis.ts'
import type { Schema } from './schema.ts'
import type { RecordOperation } from './store-use.ts'

/** The result of `consumeOnce`. */
export interface Consumption {
  readonly consumedAtMs: number
  /** Whether this call was the first; true for exactly one caller across all processes. */
  readonly first: boolean
}

/**
 * The records of one engine model, such as sessions, interactions and codes.
 * - Every record expires: `upsert` without a time to live throws, and expired records are never found.
 * - Ids of codes, pushed requests and sessions are bearer values. The store has only their digests, so a copy of the
 * store does not reveal these values.
 * - Codes and pushed requests are written once, so a late duplicate cannot clear `consumed`. For other models, the last
 * write wins.
 * - A consumed record is found until it expires, with `consumed` (epoch seconds) in its payload, to detect reuse.
 */
export interface StateAdapter
  extends Omit<Adapter, 'consume' | 'revokeByGrantId' | 'findByUserCode'> {
  find(id: string): Promise<AdapterPayload | undefined>
  /** Finds a session by its uid. The payload has no id, because the store has only a digest. */
  findByUid(uid: string): Promise<AdapterPayload | undefined>
  /** Consumes a record atomically. Every caller gets the time of the first use; undefined if there is no record. */
  consumeOnce(id: string): Promise<Consumption | undefined>
  /** Stores an id until it expires. @returns whether this call was the first; true for exactly one caller */
  addOnce(id: string, ttlSeconds: number): Promise<boolean>
}

export interface StateStore {
  adapterFor(model: string): StateAdapter
}

/** The engine's model for codes. Code records are always in the database, so one query reads a code with its grant. */
export const CODE_MODEL = 'AuthorizationCode'

const onceModels: ReadonlySet<string> = new Set([CODE_MODEL, 'PushedAuthorizationRequest'])

/** The models whose ids are bearer values. Access and refresh tokens have no records. */
const bearerModels: ReadonlySet<string> = new Set([...onceModels, 'Session'])

/** Returns the stored id of a record: a digest if the id is a bearer value. */
export function storedId(model: string, id: string): string {
  return bearerModels.has(model) ? sha256(id) : id
}

/** Converts the engine's payload to its stored form. @throws if the time to live is not a positive number */
function toStored(model: string, payload: AdapterPayload, ttlSeconds: number | undefined) {
  if (!(Number.isFinite(ttlSeconds) && Number(ttlSeconds) > 0)) {
    throw new Error(
      `A record of the model ${model} needs a time to live; ${ttlSeconds} is not valid.`,
    )
  }
  const { jti, ...rest } = payload
  const uid: unknown = Reflect.get(payload, 'uid')
  return {
    payload: JSON.stringify(bearerModels.has(model) ? rest : payload),
    uid: model === 'Session' && typeof uid === 'string' ? uid : null,
    ttlMs: Math.ceil(Number(ttlSeconds) * 1000),
  }
}

function fromStored(
  model: string,
  id: string | undefined,
  record: { readonly payload: string; readonly consumed_at: number | null },
): AdapterPayload {
  const stored: AdapterPayload = JSON.parse(record.payload)
  return {
    ...stored,
    ...(bearerModels.has(model) && id !== undefined ? { jti: id } : {}),
    ...(record.consumed_at === null ? {} : { consumed: Math.floor(record.consumed_at / 1000) }),
  }
}

/** Opens OAuth state in the table oauth_state. */
export function sqlState(database: Database, { now = Date.now } = {}): StateStore {
  const queries = makeQueries(database.kysely)
  return { adapterFor: (model) => sqlAdapter(queries, model, now) }
}

function sqlAdapter(
  queries: ReturnType<typeof makeQueries>,
  model: string,
  now: () => number,
): StateAdapter {
  const keyOf = (id: string): Key => ({ model, id: storedId(model, id) })
  const findRow = async (id: string) => {
    const { rows } = await queries.find({ ...keyOf(id), nowMs: now() })
    return rows[0]
  }
  return {
    async upsert(id, payload, ttlSeconds) {
      const { ttlMs, ...record } = toStored(model, payload, ttlSeconds)
      const nowMs = now()
      const write = onceModels.has(model) ? queries.insert : queries.replace
      await write({ ...keyOf(id), ...record, expires_at: nowMs + ttlMs, nowMs })
    },
    async find(id) {
      const row = await findRow(id)
      return row && fromStored(model, id, row)
    },
    async findByUid(uid) {
      const { rows } = await queries.findByUid({ model, uid, nowMs: now() })
      const [row] = rows
      return row && fromStored(model, undefined, row)
    },
    async consumeOnce(id) {
      const consumedAtMs = now()
      const { numAffectedRows } = await queries.consume({ ...keyOf(id), nowMs: consumedAtMs })
      if (numAffectedRows === 1n) return { consumedAtMs, first: true }
      const row = await findRow(id)
      if (!row || row.consumed_at === null) return undefined
      return { consumedAtMs: row.consumed_at, first: false }
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

function makeQueries(kysely: Kysely<Schema>) {
  const live = (model: string, nowMs: number) =>
    kysely
      .selectFrom('oauth_state')
      .select(['payload', 'consumed_at'])
      .where('model', '=', model)
      .where('expires_at', '>', nowMs)
  const keyIs = (value: Valued<Key>) => (eb: ExpressionBuilder<Schema, 'oauth_state'>) =>
    eb.and({ model: value('model'), id: value('id') })
  const upsert = (value: Valued<Written>, once: boolean) => {
    const values = {
      payload: value('payload'),
      uid: value('uid'),
      consumed_at: null,
      expires_at: value('expires_at'),
    }
    return kysely
      .insertInto('oauth_state')
      .values({ model: value('model'), id: value('id'), ...values })
      .onConflict((conflict) => {
        const replace = conflict.columns(['model', 'id']).doUpdateSet(values)
        // Overwrite an expired record that has not been removed yet.
        return once ? replace.where('oauth_state.expires_at', '<=', value('nowMs')) : replace
      })
  }
  return {
    insert: compiled(kysely, (value: Valued<Written>) => upsert(value, true)),
    replace: compiled(kysely, (value: Valued<Written>) => upsert(value, false)),
    find: compiled(kysely, (value: Valued<Key & { nowMs: number }>) =>
      live(value('model'), value('nowMs')).where('id', '=', value('id')),
    ),
    findByUid: compiled(kysely, (value: Valued<{ model: string; uid: string; nowMs: number }>) =>
      live(value('model'), value('nowMs'))
        .where('uid', '=', value('uid'))
        .orderBy('expires_at', 'desc')
        .limit(1),
    ),
    destroy: compiled(kysely, (value: Valued<Key>) =>
      kysely.deleteFrom('oauth_state').where(keyIs(value)),
    ),
    consume: compiled(kysely, (value: Valued<Key & { nowMs: number }>) =>
      kysely
        .updateTable('oauth_state')
        .set({ consumed_at: value('nowMs') })
        .where(keyIs(value))
        .where('consumed_at', 'is', null)
        .where('expires_at', '>', value('nowMs')),
    ),
  }
}

/**
 * The prefix of all record keys, which all expire. A record's value is its payload as JSON. In a consumed record, a
 * line with the time of consumption precedes it. Each command uses exactly one key, to support Redis Cluster.
 */
const PREFIX = 'gatehouse:'

const scripts = {
  /** Prepends the time to the payload on first use. Returns whether this is the first use, and the stored time. */
  gatehouseConsume: `
local value = redis.call('GET', KEYS[1])
if not value then return false end
local consumed = string.match(value, '^(%d+)\\n')
if consumed then return {0, consumed} end
redis.call('SET', KEYS[1], ARGV[1] .. '\\n' .. value, 'KEEPTTL')
return {1, ARGV[1]}`,

  /** Deletes a session's uid entry if it still points to the same record. */
  gatehouseForget: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`,
}

/** A client with the commands in `scripts`. Servers and clusters support all commands that this file uses. */
interface Commands extends Redis {
  gatehouseConsume(key: string, nowMs: number): Promise<[first: number, atMs: string] | null>
  gatehouseForget(key: string, value: string): Promise<unknown>
}

/** Opens OAuth state in Redis, Valkey or a Redis Cluster. Disposing the result closes the client. */
export function redisState(
  client: RedisClient,
  {
    now = Date.now,
    guard = (call) => call(),
  }: { readonly now?: () => number; readonly guard?: StoreGuard } = {},
): StateStore & AsyncDisposable {
  for (const [name, lua] of Object.entries(scripts)) {
    client.defineCommand(name, { numberOfKeys: 1, lua })
  }
  // The client's type does not include the commands defined above.
  const commands = client as unknown as Commands
  return {
    adapterFor: (model) => guardedAdapter(redisAdapter(commands, model, now), model, guard),
    async [Symbol.asyncDispose]() {
      client.disconnect()
    },
  }
}

function guardedAdapter(records: StateAdapter, model: string, guard: StoreGuard): StateAdapter {
  const run = <Result>(operation: RecordOperation, call: () => Promise<Result>) =>
    guard(call, isStoreFailure, { store: 'redis', operation, model })
  return {
    upsert: (...values) => run('upsert', () => records.upsert(...values)),
    find: (id) => run('find', () => records.find(id)),
    findByUid: (uid) => run('findByUid', () => records.findByUid(uid)),
    consumeOnce: (id) => run('consumeOnce', () => records.consumeOnce(id)),
    addOnce: (id, ttlSeconds) => run('addOnce', () => records.addOnce(id, ttlSeconds)),
    destroy: (id) => run('destroy', () => records.destroy(id)),
  }
}

function redisAdapter(commands: Commands, model: string, now: () => number): StateAdapter {
  const recordKey = (stored: string) => `${PREFIX}${model}:${stored}`
  const keyOf = (id: string) => recordKey(storedId(model, id))
  const uidKey = (uid: string) => `${PREFIX}session-uid:${uid}`
  return {
    async upsert(id, payload, ttlSeconds) {
      const { ttlMs, uid, ...record } = toStored(model, payload, ttlSeconds)
      const key = keyOf(id)
      await Promise.all([
        onceModels.has(model)
          ? commands.set(key, record.payload, 'PX', ttlMs, 'NX')
          : commands.set(key, record.payload, 'PX', ttlMs),
        uid !== null && commands.set(uidKey(uid), storedId(model, id), 'PX', ttlMs),
      ])
    },
    async find(id) {
      const value = await commands.get(keyOf(id))
      return value === null ? undefined : fromStored(model, id, parseValue(value))
    },
    async findByUid(uid) {
      if (model !== 'Session') return undefined
      const stored = await commands.get(uidKey(uid))
      const value = stored === null ? null : await commands.get(recordKey(stored))
      return value === null ? undefined : fromStored(model, undefined, parseValue(value))
    },
    async consumeOnce(id) {
      const reply = await commands.gatehouseConsume(keyOf(id), now())
      return reply === null ? undefined : { consumedAtMs: Number(reply[1]), first: reply[0] === 1 }
    },
    async addOnce(id, ttlSeconds) {
      const ttlMs = Math.ceil(ttlSeconds * 1000)
      return (await commands.set(keyOf(id), '{}', 'PX', ttlMs, 'NX')) !== null
    },
    async destroy(id) {
      if (model !== 'Session') return void (await commands.unlink(keyOf(id)))
      const value = await commands.getdel(keyOf(id))
      const uid: unknown = value === null ? undefined : JSON.parse(parseValue(value).payload).uid
      if (typeof uid !== 'string') return
      await commands.gatehouseForget(uidKey(uid), storedId(model, id))
    },
  }
}

function parseValue(value: string): { payload: string; consumed_at: number | null } {
  const end = value.startsWith('{') ? -1 : value.indexOf('\n')
  return {
    payload: value.slice(end + 1),
    consumed_at: end === -1 ? null : Number(value.slice(0, end)),
  }
}
