import { AsyncLocalStorage } from 'node:async_hooks'

import type { Middleware } from 'koa'

import { nulInRequest, storageUnavailable } from './errors.ts'

/** The storage failure of the current request; undefined outside of requests. */
const request = new AsyncLocalStorage<{ failure?: unknown }>()

/** Creates middleware that lets `orUnavailable` remember the storage failure of a request. */
export function rememberStorageFailure(): Middleware {
  return (_ctx, next) => request.run({}, next)
}

/**
 * Runs a store call. In a request, converts a storage failure to 503 `temporarily_unavailable` (design 24). After the
 * first failure, the request makes no further store calls, so it waits for one time limit instead of several.
 *
 * @param isFailure whether an error means that the store is unavailable. Other errors are rethrown
 * @throws storageUnavailable, or nulInRequest if PostgreSQL rejected a NUL
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

/** Whether PostgreSQL rejected text with a NUL. That is the caller's mistake, even if our own validation missed it. */
function isNulError(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown }
  return code === '22021' || code === '22P05'
}
