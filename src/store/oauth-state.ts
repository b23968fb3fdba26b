import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'

import { sha256 } from './digest.ts'

/** What is known of the one time that a record was consumed. */
export interface Consumption {
  /** The seed of the first caller, whoever asks: a retry can derive the first one's answer. */
  readonly seed: string
  readonly consumedAtMs: number
  /** True for exactly one caller, in whatever process. */
  readonly first: boolean
}

/**
 * The records of one model of the engine: sessions, grants, codes, tokens, and the like.
 *
 * - Every record has an expiry: `upsert` without a time to live throws, and nothing finds an
 *   expired record.
 * - Access tokens, codes and refresh tokens are bearer values. The store knows only the digest of
 *   their ids, so a copy of it holds no token that could be used. They are written once: a late
 *   duplicate write cannot clear `consumed`. Of any other model the last write wins.
 * - A consumed record stays, with `consumed` in epoch seconds in its payload, until it expires,
 *   because a second use of it must be recognised.
 */
export interface StateAdapter extends Adapter {
  find(id: string): Promise<AdapterPayload | undefined>
  /** Sessions only; nothing for any other model. */
  findByUid(uid: string): Promise<AdapterPayload | undefined>
  /** There is no device flow, so no record has a user code. */
  findByUserCode(userCode: string): Promise<undefined>
  /** The engine's call: consumes for the first caller and throws `invalid_grant` for any other. */
  consume(id: string): Promise<void>
  /**
   * One atomic compare-and-set: the seed and the time of the first caller are kept, and every
   * caller is given them. Nothing is returned for a record that is absent or expired.
   */
  consumeOnce(id: string, seed: string): Promise<Consumption | undefined>
  /** Removes this model's bearer values of a grant, and what pointed to them. */
  revokeByGrantId(grantId: string): Promise<void>
}

export interface StateStore extends AsyncDisposable {
  adapterFor(model: string): StateAdapter
  /** Removes a batch of expired records and says how many; 0 where the store does it by itself. */
  sweep(): Promise<number>
  ping(): Promise<void>
}

const bearerModels: ReadonlySet<string> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'RefreshToken',
])

/** Whether knowing the id of a record is enough to use it. */
export function isBearer(model: string): boolean {
  return bearerModels.has(model)
}

/** The id under which a record is stored: of a bearer value, its digest. */
export function storedId(model: string, id: string): string {
  return isBearer(model) ? sha256(id) : id
}

/** A record as it is stored, in words that every kind of store understands. */
export interface StoredRecord {
  readonly payload: string
  readonly grantId: string | undefined
  readonly uid: string | undefined
  readonly ttlMs: number
}

/** Turns the engine's payload into what may be stored of it. */
export function toStored(
  model: string,
  payload: AdapterPayload,
  ttlSeconds: number | undefined,
): StoredRecord {
  if (!(Number.isFinite(ttlSeconds) && Number(ttlSeconds) > 0)) {
    throw new Error(`A record of the model ${model} needs a time to live, but has ${ttlSeconds}.`)
  }
  const bearer = isBearer(model)
  const { jti, ...rest } = payload
  const uid: unknown = Reflect.get(payload, 'uid')
  return {
    payload: JSON.stringify(bearer ? rest : payload),
    grantId: bearer ? payload.grantId : undefined,
    uid: model === 'Session' && typeof uid === 'string' ? uid : undefined,
    ttlMs: Math.ceil(Number(ttlSeconds) * 1000),
  }
}

export interface Found {
  readonly id: string
  readonly payload: string
  readonly consumedAtMs: number | null
}

/** Turns a stored record into the engine's payload again. */
export function fromStored(model: string, { id, payload, consumedAtMs }: Found): AdapterPayload {
  const stored: AdapterPayload = JSON.parse(payload)
  return {
    ...stored,
    ...(isBearer(model) ? { jti: id } : {}),
    ...(consumedAtMs === null ? {} : { consumed: Math.floor(consumedAtMs / 1000) }),
  }
}

/** Consumes for the engine, which knows winners and an error, and no seed. */
export async function consumeOrRefuse(adapter: StateAdapter, id: string): Promise<void> {
  const consumption = await adapter.consumeOnce(id, '')
  if (!consumption?.first) throw new errors.InvalidGrant('already used, expired or revoked')
}
