import type { Limits } from '../../platform/limits/limits.ts'
import type { Database } from '../../platform/store/database.ts'
import { makeAttemptLimits } from './attempt-limits.ts'
import { makeSignIn, type SignInService } from './authenticate.ts'
import { type KnownBrowsersPorts, makeKnownBrowsers } from './known-browsers.ts'
import { makePasswords, type PasswordLimits, type Passwords } from './password.ts'
import { makePersonStore, type PersonStore } from './person-store.ts'

/** Who the people are, and how they show that they are it. */
export interface People
  extends Pick<PersonStore, 'findPerson' | 'signOutSession' | 'signOutEverywhere'> {
  readonly signIn: SignInService
  readonly hashPassword: Passwords['hash']
  readonly waitingHashes: Passwords['waiting']
  /** How long a browser keeps that somebody signed in there. */
  readonly knownBrowserSeconds: number
}

export interface PeoplePorts extends Pick<KnownBrowsersPorts, 'browserKeys' | 'now'> {
  readonly database: Database
  readonly requestLimits: Limits
  readonly policy: PasswordLimits & Pick<KnownBrowsersPorts, 'knownBrowserSeconds'>
}

export function makePeople({ database, requestLimits, policy, ...ports }: PeoplePorts): People {
  const store = makePersonStore(database)
  const passwords = makePasswords(policy)
  const { knownBrowserSeconds } = policy
  const browsers = makeKnownBrowsers({ ...ports, knownBrowserSeconds })
  const limits = makeAttemptLimits(requestLimits)
  return {
    findPerson: store.findPerson,
    signOutSession: store.signOutSession,
    signOutEverywhere: store.signOutEverywhere,
    signIn: makeSignIn({ store, passwords, limits, browsers }),
    hashPassword: passwords.hash,
    waitingHashes: passwords.waiting,
    knownBrowserSeconds,
  }
}
