/** The room of who there is: people and how they sign in, sites with their roles and looks, and the scopes. */

import type { Platform } from '../platform/platform.ts'
import { makeAttemptLimits } from './people/attempt-limits.ts'
import { makeSignIn } from './people/authenticate.ts'
import { makeKnownBrowsers } from './people/known-browsers.ts'
import { makePasswords, type PasswordLimits } from './people/password.ts'
import { makePersonStore } from './people/person-store.ts'

export type Directory = ReturnType<typeof makeDirectory>

export interface DirectorySettings {
  readonly signIn: PasswordLimits & { readonly knownBrowserSeconds: number }
  /** How many processes of this host share its password checks. */
  readonly processes: number
  /** Derived from the root secret: in which browsers people signed in before. */
  readonly browserKeys: readonly Buffer[]
}

export function makeDirectory(platform: Platform, settings: DirectorySettings) {
  const { database, requestLimits, now, watch } = platform
  const { signIn, processes, browserKeys } = settings
  const { parallelHashesMax, waitingHashesMax, knownBrowserSeconds } = signIn
  const store = makePersonStore(database)
  const passwords = makePasswords({ parallelHashesMax, waitingHashesMax, processes })
  const browsers = makeKnownBrowsers({ browserKeys, now, knownBrowserSeconds })
  const limits = makeAttemptLimits(requestLimits)
  return {
    signIn: watch.signIn(makeSignIn({ store, passwords, limits, browsers })),
    people: {
      findPerson: store.findPerson,
      signOutSession: store.signOutSession,
      signOutEverywhere: store.signOutEverywhere,
      hashPassword: passwords.hash,
      waitingHashes: passwords.waiting,
      /** How long a browser keeps that a person signed in there. */
      knownBrowserSeconds,
    },
  }
}
