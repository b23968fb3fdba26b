import { Provider } from 'oidc-provider'

import { isRefusal, storageUnavailable } from './errors.ts'

const storageFailed = Symbol('storage failed')

/**
 * Turns every failure of a call to a store into 503 `temporarily_unavailable` (design 24). After the
 * first one the running request asks no store any more, so that its answer takes one time limit and
 * not several.
 */
export function storageGuard<Arguments extends unknown[], Result>(
  call: (...values: Arguments) => Promise<Result>,
): (...values: Arguments) => Promise<Result> {
  return async (...values) => {
    const state = Provider.ctx?.state as Record<symbol, unknown> | undefined
    if (state?.[storageFailed]) throw storageUnavailable(state[storageFailed])
    try {
      return await call(...values)
    } catch (error) {
      // A TypeError is a mistake in the code, which no second try of a client would mend.
      if (isRefusal(error) || error instanceof TypeError) throw error
      if (state) state[storageFailed] = error
      throw storageUnavailable(error)
    }
  }
}

/**
 * The same objects with every call of theirs guarded, however deep it stands.
 *
 * @param calls objects of asynchronous functions and of further such objects, and nothing else
 */
export function guardEvery<Calls extends object>(calls: Calls): Calls {
  const guarded = Object.entries(calls).map(([name, value]) => [
    name,
    typeof value === 'function' ? storageGuard(value) : guardEvery(value),
  ])
  // The names and the signatures are those of `calls`, which a type cannot follow through a loop.
  return Object.fromEntries(guarded) as Calls
}
