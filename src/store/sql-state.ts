import type { Kysely, Selectable } from 'kysely'
import type { AdapterPayload } from 'oidc-provider'

import { compiled, type Valued } from './compiled.ts'
import type { Database } from './database.ts'
import type { Schema } from './schema.ts'
import {
  type Consumption,
  consumeOrRefuse,
  fromStored,
  isBearer,
  type StateAdapter,
  type StateStore,
  storedId,
  toStored,
} from './state.ts'

/** Small enough that a sweep of SQLite stops this process for a few milliseconds only. */
const SWEEP_ROWS_MAX = 1000

export interface SqlStateOptions {
  readonly now?: () => number
}

/** OAuth state in the table oauth_state. The database belongs to the caller, who closes it. */
export function sqlState(database: Database, options: SqlStateOptions = {}): StateStore {
  const { kysely } = database
  const now = options.now ?? Date.now
  const queries = makeQueries(kysely)
  return {
    adapterFor: (model) => new SqlStateAdapter(queries, model, now),
    sweep: () => sweep(kysely, now()),
    ping: () => database.ping(),
    async [Symbol.asyncDispose]() {},
  }
}

async function sweep(kysely: Kysely<Schema>, nowMs: number): Promise<number> {
  const { numDeletedRows } = await kysely
    .deleteFrom('oauth_state')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('model', 'id'),
        'in',
        selectFrom('oauth_state')
          .select(['model', 'id'])
          .where('expires_at', '<=', nowMs)
          .orderBy('expires_at')
          .limit(SWEEP_ROWS_MAX)
          .$asTuple('model', 'id'),
      ),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

class SqlStateAdapter implements StateAdapter {
  readonly #model: string
  readonly #now: () => number
  readonly #queries: Queries

  constructor(queries: Queries, model: string, now: () => number) {
    this.#queries = queries
    this.#model = model
    this.#now = now
  }

  async upsert(id: string, payload: AdapterPayload, ttlSeconds?: number): Promise<void> {
    const record = toStored(this.#model, payload, ttlSeconds)
    const nowMs = this.#now()
    const write = isBearer(this.#model) ? this.#queries.insert : this.#queries.replace
    await write({
      ...this.#key(id),
      payload: record.payload,
      grant_id: record.grantId ?? null,
      uid: record.uid ?? null,
      expires_at: nowMs + record.ttlMs,
      nowMs,
    })
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const row = await this.#findRow(id)
    return row && fromStored(this.#model, { ...row, id, consumedAtMs: row.consumed_at })
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const { rows } = await this.#queries.findByUid({ model: this.#model, uid, nowMs: this.#now() })
    const [row] = rows
    return row && fromStored(this.#model, { ...row, consumedAtMs: row.consumed_at })
  }

  async findByUserCode(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    await consumeOrRefuse(this, id)
  }

  async consumeOnce(id: string, seed: string): Promise<Consumption | undefined> {
    const consumedAtMs = this.#now()
    const { numAffectedRows } = await this.#queries.consume({
      ...this.#key(id),
      nowMs: consumedAtMs,
      seed,
    })
    if (numAffectedRows === 1n) return { seed, consumedAtMs, first: true }

    const row = await this.#findRow(id)
    if (!row || row.consumed_at === null) return undefined
    return { seed: row.successor_seed ?? '', consumedAtMs: row.consumed_at, first: false }
  }

  async destroy(id: string): Promise<void> {
    await this.#queries.destroy(this.#key(id))
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#queries.revoke({ model: this.#model, grant_id: grantId })
  }

  async #findRow(id: string) {
    const { rows } = await this.#queries.find({ ...this.#key(id), nowMs: this.#now() })
    return rows[0]
  }

  #key(id: string): Key {
    return { model: this.#model, id: storedId(this.#model, id) }
  }
}

interface Key {
  readonly model: string
  readonly id: string
}

interface Written extends Key {
  readonly payload: string
  readonly grant_id: string | null
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
    revoke: compiled<{ model: string; grant_id: string }, never>(kysely, (value) =>
      kysely
        .deleteFrom('oauth_state')
        .where('grant_id', '=', value('grant_id'))
        .where('model', '=', value('model')),
    ),
    consume: compiled<Key & { nowMs: number; seed: string }, never>(kysely, (value) =>
      kysely
        .updateTable('oauth_state')
        .set({ consumed_at: value('nowMs'), successor_seed: value('seed') })
        .where('model', '=', value('model'))
        .where('id', '=', value('id'))
        .where('consumed_at', 'is', null)
        .where('expires_at', '>', value('nowMs')),
    ),
  }
}

/**
 * `replace` lets the last write win. `insert` is for bearer values: one that is still alive is not
 * written again; an expired one, waiting for the sweep, is as good as absent.
 */
function writingQueries(kysely: Kysely<Schema>) {
  const upsert = (value: Valued<Written>, once: boolean) => {
    const values = {
      payload: value('payload'),
      grant_id: value('grant_id'),
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
