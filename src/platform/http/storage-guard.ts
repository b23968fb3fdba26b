import { AsyncLocalStorage } from 'node:async_hooks'

import type { Middleware } from 'koa'

import { nulInRequest, storageUnavailable } from './errors.ts'

/** The storage failure of the running request; undefined outside of requests. */
const request = new AsyncLocalStorage<{ failure?: unknown }>()

/** Tracks the storage failure of each request. */
export function rememberStorageFailure(): Middleware {
  return (_ctx, next) => request.run({}, next)
}

/**
 * Turns every failed store call into 503 `temporarily_unavailable` (design 24). After the first failure the request
 * makes no further store calls, so that its answer takes one time limit, not several. Every store is opened with
 * this guard (platform/store/open-stores.ts).
 *
 * @param isFailure whether an error means that the store is unavailable. Other errors, such as one that rolls back a
 *   transaction, pass unchanged
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
    if (running && isNulError(error)) throw nulInRequest()
    if (!running || !isFailure(error)) throw error
    running.failure = error
    throw storageUnavailable(error)
  }
}

/**
 * Whether PostgreSQL rejected a text with a NUL. Parsers reject it earlier (request-target.ts, page-form.ts, the
 * schemas); if they missed one, it is still a mistake of the caller.
 */
function isNulError(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown }
  return code === '22021' || code === '22P05'
}
