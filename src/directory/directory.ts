/** The room of who there is: people and how they sign in, sites with their roles and looks, and the scopes. */

import type { Platform } from '../platform/platform.ts'
import { makePeople, type PeoplePorts } from './people/people.ts'

export type Directory = ReturnType<typeof makeDirectory>

export interface DirectorySettings {
  readonly signIn: Omit<PeoplePorts['policy'], 'processes'>
  /** How many processes of this host share its password checks. */
  readonly processes: number
  /** Derived from the root secret: in which browsers people signed in before. */
  readonly browserKeys: readonly Buffer[]
}

export function makeDirectory(platform: Platform, settings: DirectorySettings) {
  const { database, requestLimits, now, watch } = platform
  const { signIn, processes, browserKeys } = settings
  const people = makePeople({
    database,
    requestLimits,
    browserKeys,
    now,
    policy: {
      parallelHashesMax: signIn.parallelHashesMax,
      waitingHashesMax: signIn.waitingHashesMax,
      knownBrowserSeconds: signIn.knownBrowserSeconds,
      processes,
    },
  })
  return { people, signIn: watch.signIn(people.signIn) }
}
