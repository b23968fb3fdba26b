import type { Database } from '../store/database.ts'
import type { LimitStore } from '../store/rate-limits.ts'
import { type AttemptPolicy, makeAttemptLimits } from './attempt-limits.ts'
import { makeSignIn, type SignInService } from './authenticate.ts'
import { makePasswords, type PasswordLimits, type Passwords } from './password.ts'
import { makePersonStore, type PersonStore } from './person-store.ts'

/** Who the people are, and how they show that they are it. */
export interface People
  extends Pick<PersonStore, 'findPerson' | 'signOutSession' | 'signOutEverywhere'> {
  readonly signIn: SignInService
  readonly hashPassword: Passwords['hash']
  readonly waitingHashes: Passwords['waiting']
}

export interface PeoplePorts {
  readonly database: Database
  readonly limitStore: LimitStore
  readonly policy: AttemptPolicy & PasswordLimits
}

export function makePeople({ database, limitStore, policy }: PeoplePorts): People {
  const store = makePersonStore(database)
  const passwords = makePasswords(policy)
  return {
    findPerson: store.findPerson,
    signOutSession: store.signOutSession,
    signOutEverywhere: store.signOutEverywhere,
    signIn: makeSignIn({ store, passwords, limits: makeAttemptLimits(policy, limitStore) }),
    hashPassword: passwords.hash,
    waitingHashes: passwords.waiting,
  }
}
