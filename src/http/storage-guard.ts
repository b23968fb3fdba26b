import { AsyncLocalStorage } from 'node:async_hooks'

import type { Middleware } from 'koa'

import { isRefusal, storageUnavailable } from './errors.ts'

/** What the running request has learned of its stores; there is none outside of a request. */
const request = new AsyncLocalStorage<{ failure?: unknown }>()

/**
 * Thrown within a transaction to undo it, with something to tell the caller: that a wish cannot be
 * granted says nothing about the store.
 */
export class TransactionRefused extends Error {}

/** Everything that is asked of a store below this middleware is asked for one request. */
export function rememberStorageFailure(): Middleware {
  return (_ctx, next) => request.run({}, next)
}

/**
 * Turns every failure of a call to a store into 503 `temporarily_unavailable` (design 24). After the
 * first one the running request asks no store any more, so that its answer takes one time limit and
 * not several. The stores are opened with it (store/open-stores.ts).
 */
export async function orUnavailable<Result>(call: () => Promise<Result>): Promise<Result> {
  const running = request.getStore()
  if (running?.failure !== undefined) throw storageUnavailable(running.failure)
  try {
    return await call()
  } catch (error) {
    if (!running || isRefusal(error) || error instanceof TransactionRefused) throw error
    // A TypeError is a mistake in the code, which no second try of a client would mend.
    if (error instanceof TypeError) throw error
    running.failure = error
    throw storageUnavailable(error)
  }
}
