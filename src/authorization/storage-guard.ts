import { Provider } from 'oidc-provider'

import { isRefusal, storageUnavailable } from '../errors.ts'

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
      if (isRefusal(error)) throw error
      if (state) state[storageFailed] = error
      throw storageUnavailable(error)
    }
  }
}
