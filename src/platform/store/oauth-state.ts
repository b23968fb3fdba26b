import type { Adapter, AdapterPayload } from 'oidc-provider'

import { sha256 } from './digest.ts'

/** What is known of the one time that a record was consumed. */
export interface Consumption {
  /** What version 0.1.0 derived the next tokens from; empty in a record of today. */
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
 * - Access tokens, codes, refresh tokens and pushed requests are bearer values. The store knows only the digest of
 *   their ids, so a copy of it holds no token that could be used. They are written once: a late
 *   duplicate write cannot clear `consumed`. Of any other model the last write wins.
 * - A consumed record stays, with `consumed` in epoch seconds in its payload, until it expires,
 *   because a second use of it must be recognised.
 */
export interface StateAdapter
  extends Omit<Adapter, 'consume' | 'revokeByGrantId' | 'findByUserCode'> {
  find(id: string): Promise<AdapterPayload | undefined>
  /** Sessions only; nothing for any other model. */
  findByUid(uid: string): Promise<AdapterPayload | undefined>
  /**
   * One atomic compare-and-set: the time of the first caller is kept, and every caller is given it.
   * Nothing is returned for a record that is absent or expired.
   */
  consumeOnce(id: string): Promise<Consumption | undefined>
  /** Remembers an id for a time. @returns false when it is there already; true for exactly one caller */
  addOnce(id: string, ttlSeconds: number): Promise<boolean>
}

export interface StateStore extends AsyncDisposable {
  adapterFor(model: string): StateAdapter
  ping(): Promise<void>
}

const bearerModels: ReadonlySet<string> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'RefreshToken',
  // Whoever knows the address of a pushed request may go on with it, once.
  'PushedAuthorizationRequest',
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
