/** Composes the sign-in service and the store of people. Other rooms import functions for sites and scopes directly. */

import type { Platform } from '../platform/platform.ts'
import { makeAttemptLimits } from './people/attempt-limits.ts'
import { makeSignIn } from './people/authenticate.ts'
import { makeKnownBrowsers } from './people/known-browsers.ts'
import { makeOneTimeLinks } from './people/one-time-links.ts'
import { makePasswords, type PasswordLimits } from './people/password.ts'
import { makePersonStore } from './people/person-store.ts'

export type Directory = ReturnType<typeof makeDirectory>

interface DirectoryKeys {
  /** The number of processes on this host that hash passwords. */
  readonly processes: number
  readonly browserKeys: readonly Buffer[]
  readonly linkKeys: readonly Buffer[]
}

export function makeDirectory(
  { database, requestLimits, now, watch }: Platform,
  policy: PasswordLimits & { readonly knownBrowserSeconds: number },
  { processes, browserKeys, linkKeys }: DirectoryKeys,
) {
  const store = makePersonStore(database)
  const passwords = makePasswords(policy, processes)
  const limits = makeAttemptLimits(requestLimits)
  const links = makeOneTimeLinks(linkKeys)
  const browsers = makeKnownBrowsers({ browserKeys, now, seconds: policy.knownBrowserSeconds })
  return {
    signIn: watch.signIn(makeSignIn({ store, passwords, limits, browsers })),
    links,
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
