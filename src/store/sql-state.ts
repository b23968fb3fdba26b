import type { Kysely } from 'kysely'
import type { AdapterPayload } from 'oidc-provider'

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
  return {
    adapterFor: (model) => new SqlStateAdapter(kysely, model, now),
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
  readonly #kysely: Kysely<Schema>
  readonly #model: string
  readonly #now: () => number

  constructor(kysely: Kysely<Schema>, model: string, now: () => number) {
    this.#kysely = kysely
    this.#model = model
    this.#now = now
  }

  async upsert(id: string, payload: AdapterPayload, ttlSeconds?: number): Promise<void> {
    const record = toStored(this.#model, payload, ttlSeconds)
    const nowMs = this.#now()
    const values = {
      payload: record.payload,
      grant_id: record.grantId ?? null,
      uid: record.uid ?? null,
      consumed_at: null,
      successor_seed: null,
      expires_at: nowMs + record.ttlMs,
    }
    // A bearer value that is still alive is not written again; an expired one, waiting for the
    // sweep, is as good as absent.
    await this.#kysely
      .insertInto('oauth_state')
      .values({ model: this.#model, id: storedId(this.#model, id), ...values })
      .onConflict((conflict) => {
        const replace = conflict.columns(['model', 'id']).doUpdateSet(values)
        return isBearer(this.#model)
          ? replace.where('oauth_state.expires_at', '<=', nowMs)
          : replace
      })
      .execute()
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const row = await this.#live().where('id', '=', storedId(this.#model, id)).executeTakeFirst()
    return row && fromStored(this.#model, { ...row, id, consumedAtMs: row.consumed_at })
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const row = await this.#live()
      .where('uid', '=', uid)
      .orderBy('expires_at', 'desc')
      .limit(1)
      .executeTakeFirst()
    return row && fromStored(this.#model, { ...row, consumedAtMs: row.consumed_at })
  }

  async findByUserCode(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    await consumeOrRefuse(this, id)
  }

  async consumeOnce(id: string, seed: string): Promise<Consumption | undefined> {
    const consumedAtMs = this.#now()
    const { numUpdatedRows } = await this.#kysely
      .updateTable('oauth_state')
      .set({ consumed_at: consumedAtMs, successor_seed: seed })
      .where('model', '=', this.#model)
      .where('id', '=', storedId(this.#model, id))
      .where('consumed_at', 'is', null)
      .where('expires_at', '>', consumedAtMs)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 1n) return { seed, consumedAtMs, first: true }

    const row = await this.#live().where('id', '=', storedId(this.#model, id)).executeTakeFirst()
    if (!row || row.consumed_at === null) return undefined
    return { seed: row.successor_seed ?? '', consumedAtMs: row.consumed_at, first: false }
  }

  async destroy(id: string): Promise<void> {
    await this.#kysely
      .deleteFrom('oauth_state')
      .where('model', '=', this.#model)
      .where('id', '=', storedId(this.#model, id))
      .execute()
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#kysely
      .deleteFrom('oauth_state')
      .where('grant_id', '=', grantId)
      .where('model', '=', this.#model)
      .execute()
  }

  #live() {
    return this.#kysely
      .selectFrom('oauth_state')
      .select(['id', 'payload', 'consumed_at', 'successor_seed'])
      .where('model', '=', this.#model)
      .where('expires_at', '>', this.#now())
  }
}
