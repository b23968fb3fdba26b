import type { Attempt, AttemptLimits } from './attempt-limits.ts'
import { canonicalEmail } from './email-address.ts'
import { type Passwords, TooManyHashes } from './password.ts'
import type { PersonStore } from './person-store.ts'

/** What came of an attempt to sign in. Why it was refused is for the audit trail, and not for who tried. */
export type SignIn = { readonly kind: 'signed-in'; readonly personId: string } | NotSignedIn

export type NotSignedIn =
  | {
      readonly kind: 'refused'
      readonly why: 'no such account' | 'wrong password' | 'disabled account' | 'too long'
      /** Whose account it was meant to be, where there is one. */
      readonly personId?: string
    }
  | { readonly kind: 'limited'; readonly waitSeconds: number }
  | { readonly kind: 'busy' }

export interface SignInAttempt extends Attempt {
  readonly password: string
}

export interface SignInDependencies {
  readonly store: PersonStore
  readonly passwords: Pick<Passwords, 'verify'>
  readonly limits: AttemptLimits
}

export type SignInService = (attempt: SignInAttempt) => Promise<SignIn>

// Longer input is refused unread: hashing cost must not depend on what a stranger sends.
const LOGIN_LENGTH_MAX = 320
const PASSWORD_LENGTH_MAX = 1024

/**
 * Checks an e-mail address and a password. Unknown address, wrong password and disabled person
 * take the same path, the same time and the same answer.
 */
export function makeSignIn(dependencies: SignInDependencies): SignInService {
  const { limits } = dependencies
  return async ({ login: typed, password, address }) => {
    const login = canonicalEmail(typed)
    if (login.length > LOGIN_LENGTH_MAX || password.length > PASSWORD_LENGTH_MAX) {
      return { kind: 'refused', why: 'too long' }
    }
    const attempt = { login, address }
    const waitSeconds = await limits.begin(attempt)
    if (waitSeconds !== undefined) return { kind: 'limited', waitSeconds }

    const outcome = await check(login, password, dependencies)
    if (outcome.kind === 'signed-in') await limits.succeeded(attempt)
    if (outcome.kind === 'busy') await limits.unchecked(attempt)
    return outcome
  }
}

async function check(
  login: string,
  password: string,
  { store, passwords }: SignInDependencies,
): Promise<SignIn> {
  const credentials = await store.findCredentials(login)
  try {
    const matches = await passwords.verify(credentials?.passwordHash, password)
    if (!credentials) return { kind: 'refused', why: 'no such account' }
    const { personId, disabled } = credentials
    if (!matches) return { kind: 'refused', why: 'wrong password', personId }
    if (disabled) return { kind: 'refused', why: 'disabled account', personId }
    return { kind: 'signed-in', personId }
  } catch (error) {
    if (error instanceof TooManyHashes) return { kind: 'busy' }
    throw error
  }
}
