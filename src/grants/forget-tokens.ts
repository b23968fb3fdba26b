import type { StateStore } from '../store/state.ts'

/** Removes what the state store still has of grants whose connections were ended. */
export type ForgetGrants = (grantIds: readonly string[]) => Promise<void>

// The rest expires by itself: without its connection a token is worth nothing.
const GRANTS_MAX = 500
const GRANTS_AT_ONCE = 20

export function makeForgetGrants(state: StateStore): ForgetGrants {
  const grants = state.adapterFor('Grant')
  const tokens = ['AccessToken', 'RefreshToken', 'AuthorizationCode'].map((model) =>
    state.adapterFor(model),
  )
  return async (grantIds) => {
    for (let first = 0; first < Math.min(grantIds.length, GRANTS_MAX); first += GRANTS_AT_ONCE) {
      await Promise.all(
        grantIds
          .slice(first, first + GRANTS_AT_ONCE)
          .flatMap((grantId) => [
            grants.destroy(grantId),
            ...tokens.map((adapter) => adapter.revokeByGrantId(grantId)),
          ]),
      )
    }
  }
}
