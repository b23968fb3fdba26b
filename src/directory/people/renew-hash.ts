import type { Logger } from 'pino'

import type { CredentialStore } from './credential-store.ts'
import { type Passwords, TooManyHashes } from './password.ts'
import { isOutdated } from './password-formats.ts'

interface Account {
  readonly personId: string
  readonly passwordHash?: string | undefined
}

/** Replaces the hash of an account after a sign-in, if it is outdated. */
export type RenewHash = (account: Account, password: string) => void

/**
 * Creates the function that replaces imported hashes by Argon2id hashes, in the background. A password that changes
 * meanwhile is kept. If the queue of hashes is full, the next sign-in tries again.
 */
export function makeRenewHash({
  store,
  passwords,
  logger,
}: {
  readonly store: Pick<CredentialStore, 'replaceHash'>
  readonly passwords: Pick<Passwords, 'hash'>
  readonly logger: Logger
}): RenewHash {
  const renew = async (personId: string, from: string, password: string) => {
    try {
      await store.replaceHash(personId, from, await passwords.hash(password))
    } catch (error) {
      if (error instanceof TooManyHashes) return
      logger.warn({ person: personId, err: error }, 'a password hash was not renewed')
    }
  }
  return ({ personId, passwordHash }, password) => {
    if (passwordHash === undefined || !isOutdated(passwordHash)) return
    void renew(personId, passwordHash, password)
  }
}
