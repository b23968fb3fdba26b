import type { AdapterPayload } from 'oidc-provider'

import type { RedisClient } from './redis.ts'
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

/**
 * Every command and every script has exactly one key, so that the same code serves Redis Cluster;
 * commands that belong together are issued together, and automatic pipelining makes one round trip
 * of them. A value is the payload as JSON; that of a consumed record is preceded by one line, the
 * consumption as a JSON array. Every key has a time to live.
 */
const PREFIX = 'gatehouse:'

const scripts = {
  /** Puts the consumption before the payload, unless there is one; gives the line that is there. */
  gatehouseConsume: `
local value = redis.call('GET', KEYS[1])
if not value then return false end
if string.sub(value, 1, 1) == '[' then
  return {0, string.sub(value, 1, string.find(value, '\\n', 1, true) - 1)}
end
redis.call('SET', KEYS[1], ARGV[1] .. '\\n' .. value, 'KEEPTTL')
return {1, ARGV[1]}`,

  /**
   * Adds a member that lives ARGV[2] milliseconds, forgets those that expired, and lets the index
   * live as long as its longest member. The time is the server's own, like that of the keys.
   */
  gatehouseIndex: `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], 'GT', now + ARGV[2], ARGV[1])
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
return redis.call('PEXPIREAT', KEYS[1], last[2])`,

  /** Deletes a pointer only while it still points to the same record. */
  gatehouseForget: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`,
}

/** What this store asks of a client: a few commands, which a server and a cluster both have. */
interface Commands {
  get(key: string): Promise<string | null>
  getdel(key: string): Promise<string | null>
  set(key: string, value: string, px: 'PX', ttlMs: number): Promise<unknown>
  set(key: string, value: string, px: 'PX', ttlMs: number, nx: 'NX'): Promise<unknown>
  unlink(key: string): Promise<number>
  zrange(key: string, first: number, last: number): Promise<string[]>
  zrem(key: string, ...members: string[]): Promise<number>
  ping(): Promise<unknown>
  gatehouseConsume(key: string, line: string): Promise<[first: number, line: string] | null>
  gatehouseIndex(key: string, member: string, ttlMs: number): Promise<unknown>
  gatehouseForget(key: string, value: string): Promise<unknown>
}

export interface RedisStateOptions {
  readonly now?: () => number
}

/** OAuth state in Redis, Valkey or a Redis Cluster. It takes the client over, and closes it. */
export function redisState(client: RedisClient, options: RedisStateOptions = {}): StateStore {
  for (const [name, lua] of Object.entries(scripts)) {
    client.defineCommand(name, { numberOfKeys: 1, lua })
  }
  // The client has the three commands since the line above, which its type cannot say.
  const commands = client as unknown as Commands
  const now = options.now ?? Date.now
  return {
    adapterFor: (model) => new RedisStateAdapter(commands, model, now),
    sweep: async () => 0,
    ping: async () => void (await commands.ping()),
    async [Symbol.asyncDispose]() {
      client.disconnect()
    },
  }
}

class RedisStateAdapter implements StateAdapter {
  readonly #commands: Commands
  readonly #model: string
  readonly #now: () => number

  constructor(commands: Commands, model: string, now: () => number) {
    this.#commands = commands
    this.#model = model
    this.#now = now
  }

  async upsert(id: string, payload: AdapterPayload, ttlSeconds?: number): Promise<void> {
    const { ttlMs, grantId, uid, ...record } = toStored(this.#model, payload, ttlSeconds)
    const key = this.#key(storedId(this.#model, id))
    const writes: Promise<unknown>[] = [
      isBearer(this.#model)
        ? this.#commands.set(key, record.payload, 'PX', ttlMs, 'NX')
        : this.#commands.set(key, record.payload, 'PX', ttlMs),
    ]
    if (grantId !== undefined) {
      writes.push(this.#commands.gatehouseIndex(this.#grantKey(grantId), key, ttlMs))
    }
    if (uid !== undefined) writes.push(this.#commands.set(uidKey(uid), id, 'PX', ttlMs))
    await Promise.all(writes)
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const value = await this.#commands.get(this.#key(storedId(this.#model, id)))
    return value === null ? undefined : fromStored(this.#model, { id, ...parse(value) })
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    if (this.#model !== 'Session') return undefined
    const id = await this.#commands.get(uidKey(uid))
    return id === null ? undefined : await this.find(id)
  }

  async findByUserCode(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    await consumeOrRefuse(this, id)
  }

  async consumeOnce(id: string, seed: string): Promise<Consumption | undefined> {
    const reply = await this.#commands.gatehouseConsume(
      this.#key(storedId(this.#model, id)),
      JSON.stringify([this.#now(), seed]),
    )
    if (reply === null) return undefined
    const [first, line] = reply
    return { ...parseConsumption(line), first: first === 1 }
  }

  async destroy(id: string): Promise<void> {
    const key = this.#key(storedId(this.#model, id))
    if (this.#model !== 'Session') {
      await this.#commands.unlink(key)
      return
    }
    const value = await this.#commands.getdel(key)
    const uid: unknown = value === null ? undefined : JSON.parse(parse(value).payload).uid
    if (typeof uid === 'string') await this.#commands.gatehouseForget(uidKey(uid), id)
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    const index = this.#grantKey(grantId)
    const keys = await this.#commands.zrange(index, 0, -1)
    if (keys.length === 0) return
    await Promise.all(keys.map((key) => this.#commands.unlink(key)))
    // Only now, and only these: a failure before leaves an index with which to try again, and a
    // token that was added meanwhile keeps its entry. An index without entries is gone.
    await this.#commands.zrem(index, ...keys)
  }

  #key(id: string): string {
    return `${PREFIX}${this.#model}:${id}`
  }

  #grantKey(grantId: string): string {
    return `${PREFIX}grant:${this.#model}:${grantId}`
  }
}

function uidKey(uid: string): string {
  return `${PREFIX}session-uid:${uid}`
}

function parse(value: string): { payload: string; consumedAtMs: number | null } {
  if (!value.startsWith('[')) return { payload: value, consumedAtMs: null }
  const end = value.indexOf('\n')
  const { consumedAtMs } = parseConsumption(value.slice(0, end))
  return { payload: value.slice(end + 1), consumedAtMs }
}

function parseConsumption(line: string): { consumedAtMs: number; seed: string } {
  const [consumedAtMs, seed]: [number, string] = JSON.parse(line)
  return { consumedAtMs, seed }
}
