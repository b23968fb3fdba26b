import type { Redis } from 'ioredis'
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'

/**
 * Stores the records of the bare engine like the example Redis adapter of oidc-provider. A record is JSON, or a hash if
 * it can be consumed. A list holds the keys of a grant's records. The adapter is cheap: it ignores races and does not
 * hash ids.
 */
const consumed: ReadonlySet<string> = new Set(['AuthorizationCode', 'RefreshToken'])
const belongsToGrant: ReadonlySet<string> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'RefreshToken',
])

/** The lifetime of a record without an expiry. The configuration sets all lifetimes, so no such record is expected. */
const DAY_SECONDS = 86_400

export function bareAdapter(redis: Redis): AdapterFactory {
  return (model) => {
    const keyOf = (id: string) => `bare:${model}:${id}`
    const isConsumed = consumed.has(model)
    const find = async (id: string): Promise<AdapterPayload | undefined> =>
      isConsumed ? await findHash(redis, keyOf(id)) : await findText(redis, keyOf(id))
    return {
      find,
      findByUid: (uid) => findPointed(redis, uidKey(uid), find),
      findByUserCode: (userCode) => findPointed(redis, userCodeKey(userCode), find),
      async upsert(id, payload, ttlSeconds = DAY_SECONDS) {
        await writeRecord(redis, { model, key: keyOf(id), id, payload, ttlSeconds })
      },
      async consume(id) {
        await redis.hset(keyOf(id), 'consumed', Math.floor(Date.now() / 1000))
      },
      async destroy(id) {
        await redis.del(keyOf(id))
      },
      async revokeByGrantId(grantId) {
        const keys = await redis.lrange(grantKey(grantId), 0, -1)
        const batch = redis.multi()
        for (const key of keys) batch.del(key)
        await batch.del(grantKey(grantId)).exec()
      },
    } satisfies Adapter
  }
}

const grantKey = (grantId: string) => `bare:grant:${grantId}`
const uidKey = (uid: string) => `bare:uid:${uid}`
const userCodeKey = (userCode: string) => `bare:user-code:${userCode}`

async function findHash(redis: Redis, key: string): Promise<AdapterPayload | undefined> {
  const { payload, ...more } = await redis.hgetall(key)
  return payload === undefined ? undefined : { ...JSON.parse(payload), ...more }
}

async function findText(redis: Redis, key: string): Promise<AdapterPayload | undefined> {
  const text = await redis.get(key)
  return text === null ? undefined : JSON.parse(text)
}

async function findPointed(
  redis: Redis,
  pointer: string,
  find: (id: string) => Promise<AdapterPayload | undefined>,
): Promise<AdapterPayload | undefined> {
  const id = await redis.get(pointer)
  return id === null ? undefined : await find(id)
}

interface Write {
  readonly model: string
  readonly key: string
  readonly id: string
  readonly payload: AdapterPayload
  readonly ttlSeconds: number
}

/** Writes a record. The list of its grant lives as long as its longest-lived record. */
async function writeRecord(redis: Redis, { model, key, id, payload, ttlSeconds }: Write) {
  const text = JSON.stringify(payload)
  const batch = redis.multi()
  if (consumed.has(model)) batch.hset(key, { payload: text })
  else batch.set(key, text)
  batch.expire(key, ttlSeconds)
  if (belongsToGrant.has(model) && payload.grantId !== undefined) {
    const list = grantKey(payload.grantId)
    batch.rpush(list, key)
    if ((await redis.ttl(list)) < ttlSeconds) batch.expire(list, ttlSeconds)
  }
  if (payload.userCode !== undefined) batch.set(userCodeKey(payload.userCode), id, 'EX', ttlSeconds)
  if (payload.uid !== undefined) batch.set(uidKey(payload.uid), id, 'EX', ttlSeconds)
  await batch.exec()
}
