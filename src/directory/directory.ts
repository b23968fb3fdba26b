/** Composes sign-in and people. Other rooms import the functions for sites and scopes directly. */

import type { Platform } from '../platform/platform.ts'
import { makeAttemptLimits } from './people/attempt-limits.ts'
import { makeSignIn } from './people/authenticate.ts'
import { makeKnownBrowsers } from './people/known-browsers.ts'
import { makePasswords, type PasswordLimits } from './people/password.ts'
import { makePersonStore } from './people/person-store.ts'

export type Directory = ReturnType<typeof makeDirectory>

export function makeDirectory(
  { database, requestLimits, now, watch }: Platform,
  policy: PasswordLimits & { readonly knownBrowserSeconds: number },
  { processes, browserKeys }: { processes: number; browserKeys: readonly Buffer[] },
) {
  const store = makePersonStore(database)
  const passwords = makePasswords(policy, processes)
  const limits = makeAttemptLimits(requestLimits)
  const browsers = makeKnownBrowsers({ browserKeys, now, seconds: policy.knownBrowserSeconds })
  return {
    signIn: watch.signIn(makeSignIn({ store, passwords, limits, browsers })),
    people: {
      findPerson: store.findPerson,
      signOutSession: store.signOutSession,
      signOutEverywhere: store.signOutEverywhere,
      hashPassword: passwords.hash,
      waitingHashes: passwords.waiting,
      knownBrowserSeconds: policy.knownBrowserSeconds,
    },
  }
}
