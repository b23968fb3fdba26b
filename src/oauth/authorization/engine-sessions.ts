import { type Adapter, Provider } from 'oidc-provider'

import type { StateAdapter } from '../../platform/store/oauth-state.ts'

export interface SessionDependencies {
  /** Writes down that a session is over (directory/people/person-store.ts). */
  readonly signOutSession: (
    sessionId: string,
    times: { readonly nowMs: number; readonly keptUntilMs: number },
  ) => Promise<void>
  readonly lifetimes: { readonly sessionSeconds: number }
  readonly now: () => number
}

/**
 * The engine's sessions of browsers. One that a person signs out of is written down in the database before
 * its record goes, since a Redis that comes back older brings the record back.
 */
export function sessionAdapter(
  records: Pick<StateAdapter, 'destroy'>,
  { signOutSession, lifetimes, now }: SessionDependencies,
): Pick<Adapter, 'destroy'> {
  return {
    async destroy(id) {
      // A session gets another id at each sign-in, too, and the record of the one before is only replaced.
      if (Provider.ctx?.oidc?.route === 'end_session_confirm') {
        const nowMs = now()
        const keptUntilMs = nowMs + lifetimes.sessionSeconds * 1000
        await signOutSession(id, { nowMs, keptUntilMs })
      }
      await records.destroy(id)
    },
  }
}
