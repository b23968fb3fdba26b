import { availableParallelism } from 'node:os'

import { hash, verify } from '@node-rs/argon2'

export type Passwords = ReturnType<typeof makePasswords>

/** The waiting line for password checks is full; nothing was checked. */
export class TooManyHashes extends Error {
  override readonly name = 'TooManyHashes'
}

export interface PasswordLimits {
  readonly parallelHashesMax: number
  readonly waitingHashesMax: number
  /** How many processes of this host share them; each may run one at least. */
  readonly processes?: number
}

// The library's own names are const enums, which do not exist at run time here; 2 is Argon2id.
const cost = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** A hash of a password that nobody knows, of the cost above. */
const nobodysHash =
  '$argon2id$v=19$m=19456,t=2,p=1$qlKTKsnQDtvH7uitXqo4sQ$SD9veOAiEvLFuTeRqYOzgC/eFx0v+GJ2JRuwhhcbdsU'

/**
 * Password hashing with Argon2id, 19 MiB, two passes (OWASP's first choice). It runs on the thread
 * pool, which file system and DNS share, so that only a few hashes run at once, a bounded number
 * waits, and the rest is told to come back.
 */
export function makePasswords({
  parallelHashesMax,
  waitingHashesMax,
  processes = 1,
}: PasswordLimits) {
  const ofAll = Math.min(parallelHashesMax, availableParallelism())
  const inTurn = takeTurns(Math.max(1, Math.floor(ofAll / processes)), waitingHashesMax)
  return {
    hash: (password: string) => inTurn(() => hash(password, cost)),
    /**
     * Whether the password is the one of the hash. Without a hash (nobody has that address) a hash of
     * the same cost is checked, so that the time does not tell whether an account exists.
     *
     * @throws {TooManyHashes} when the waiting line is full
     */
    verify: (passwordHash: string | undefined, password: string) =>
      inTurn(async () => {
        const matches = await verify(passwordHash ?? nobodysHash, password)
        return matches && passwordHash !== undefined
      }),
  }
}

/** Runs at most `running` tasks at once and lets at most `waitingMax` wait, in their order. */
function takeTurns(running: number, waitingMax: number) {
  const waiting: (() => void)[] = []
  let free = running
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1
    else if (waiting.length < waitingMax) await new Promise<void>((go) => waiting.push(go))
    else throw new TooManyHashes('too many password checks are waiting')
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}
