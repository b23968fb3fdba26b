import {
  fromStored,
  isBearer,
  type StateAdapter,
  type StateStore,
  storedId,
  toStored,
} from './oauth-state.ts'
import type { RedisClient } from './redis.ts'

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
  ping(): Promise<unknown>
  gatehouseConsume(key: string, line: string): Promise<[first: number, line: string] | null>
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
  // The client has the two commands since the line above, which its type cannot say.
  const commands = client as unknown as Commands
  const now = options.now ?? Date.now
  return {
    adapterFor: (model) => redisAdapter(commands, model, now),
    ping: async () => void (await commands.ping()),
    async [Symbol.asyncDispose]() {
      client.disconnect()
    },
  }
}

function redisAdapter(commands: Commands, model: string, now: () => number): StateAdapter {
  const keyOf = (id: string) => `${PREFIX}${model}:${storedId(model, id)}`
  return {
    async upsert(id, payload, ttlSeconds) {
      const { ttlMs, uid, ...record } = toStored(model, payload, ttlSeconds)
      const key = keyOf(id)
      const writes: Promise<unknown>[] = [
        isBearer(model)
          ? commands.set(key, record.payload, 'PX', ttlMs, 'NX')
          : commands.set(key, record.payload, 'PX', ttlMs),
      ]
      if (uid !== undefined) writes.push(commands.set(uidKey(uid), id, 'PX', ttlMs))
      await Promise.all(writes)
    },
    async find(id) {
      const value = await commands.get(keyOf(id))
      return value === null ? undefined : fromStored(model, { id, ...parse(value) })
    },
    async findByUid(uid) {
      if (model !== 'Session') return undefined
      const id = await commands.get(uidKey(uid))
      return id === null ? undefined : await this.find(id)
    },
    async consumeOnce(id) {
      const reply = await commands.gatehouseConsume(keyOf(id), JSON.stringify([now()]))
      if (reply === null) return undefined
      const [first, line] = reply
      return { ...parseConsumption(line), first: first === 1 }
    },
    async addOnce(id, ttlSeconds) {
      const ttlMs = Math.ceil(ttlSeconds * 1000)
      return (await commands.set(keyOf(id), '{}', 'PX', ttlMs, 'NX')) !== null
    },
    async destroy(id) {
      if (model !== 'Session') {
        await commands.unlink(keyOf(id))
        return
      }
      const value = await commands.getdel(keyOf(id))
      const uid: unknown = value === null ? undefined : JSON.parse(parse(value).payload).uid
      if (typeof uid === 'string') await commands.gatehouseForget(uidKey(uid), id)
    },
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
  const [consumedAtMs, seed = '']: [number, string?] = JSON.parse(line)
  return { consumedAtMs, seed }
}
