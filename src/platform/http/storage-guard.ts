import { AsyncLocalStorage } from 'node:async_hooks'

import type { Middleware } from 'koa'

import { nulInRequest, storageUnavailable } from './errors.ts'

/** What the running request knows of its stores; undefined outside of a request. */
const request = new AsyncLocalStorage<{ failure?: unknown }>()

/** Runs everything behind it as one request. */
export function rememberStorageFailure(): Middleware {
  return (_ctx, next) => request.run({}, next)
}

/**
 * Turns every failed call to a store into 503 `temporarily_unavailable` (design 24). After the first failure the
 * request uses no store any more, so that its answer takes one time limit and not several. The stores are opened
 * with it (platform/store/open-stores.ts).
 *
 * @param isFailure whether an error means that the store is out of reach. Only the store can tell: an error that
 *   rolls a transaction back, or one of a wrong statement, passes as it is
 */
export async function orUnavailable<Result>(
  call: () => Promise<Result>,
  isFailure: (error: unknown) => boolean,
): Promise<Result> {
  const running = request.getStore()
  if (running?.failure !== undefined) throw storageUnavailable(running.failure)
  try {
    return await call()
  } catch (error) {
    if (running && holdsNul(error)) throw nulInRequest()
    if (!running || !isFailure(error)) throw error
    running.failure = error
    throw storageUnavailable(error)
  }
}

/**
 * Whether PostgreSQL rejected a text with a NUL. Everything that reads requests refuses one before
 * (request-target.ts, page-form.ts, the schemas); one that they missed is still the caller's mistake.
 */
function holdsNul(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown }
  return code === '22021' || code === '22P05'
}
