import { AsyncLocalStorage } from 'node:async_hooks'

import type { Middleware } from 'koa'

import { nulInRequest, storageUnavailable } from './errors.ts'

/** What the running request has learned of its stores; there is none outside of a request. */
const request = new AsyncLocalStorage<{ failure?: unknown }>()

/** Everything that is asked of a store below this middleware is asked for one request. */
export function rememberStorageFailure(): Middleware {
  return (_ctx, next) => request.run({}, next)
}

/**
 * Turns every failure of a call to a store into 503 `temporarily_unavailable` (design 24). After the
 * first one the running request asks no store any more, so that its answer takes one time limit and
 * not several. The stores are opened with it (platform/store/open-stores.ts).
 *
 * @param isFailure whether an error of the call says that the store is out of reach. Only the store can
 * know: what is thrown within a transaction to undo it, and a statement that is wrong, passes as it is
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
 * What PostgreSQL says of a text that it cannot keep. Everything that reads a request refuses such a one
 * before (plain-request.ts, form.ts, the schemas); what was overlooked is the caller's mistake all the same.
 */
function holdsNul(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown }
  return code === '22021' || code === '22P05'
}
