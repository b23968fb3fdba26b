import { availableParallelism } from 'node:os'

import { inHashThread } from './hash-threads.ts'

export type Passwords = ReturnType<typeof makePasswords>

/** The waiting line for password checks is full; nothing was checked. */
export class TooManyHashes extends Error {
  override readonly name = 'TooManyHashes'
}

export interface PasswordLimits {
  /** One less than the machine has cores, unless it is given. */
  readonly parallelHashesMax?: number | undefined
  readonly waitingHashesMax: number
  /** How many processes of this host share them; each may run one at least. */
  readonly processes?: number
}

/** A hash of a password that nobody knows, of the same cost as all others. */
const nobodysHash =
  '$argon2id$v=19$m=19456,t=2,p=1$qlKTKsnQDtvH7uitXqo4sQ$SD9veOAiEvLFuTeRqYOzgC/eFx0v+GJ2JRuwhhcbdsU'

/**
 * Password hashing with Argon2id, 19 MiB, two passes (OWASP's first choice), in threads that yield to
 * requests. One core is left to them, so that only a few hashes run at once, a bounded number waits,
 * and the rest is told to come back.
 */
export function makePasswords({
  parallelHashesMax = Math.max(1, availableParallelism() - 1),
  waitingHashesMax,
  processes = 1,
}: PasswordLimits) {
  const share = Math.max(1, Math.floor(parallelHashesMax / processes))
  const inTurn = takeTurns(share, waitingHashesMax)
  return {
    /** How many wait for their turn. */
    waiting: inTurn.waiting,
    hash: async (password: string) => String(await inTurn(() => inHashThread({ password }))),
    /**
     * Whether the password is the one of the hash. Without a hash that can be read (nobody has that address,
     * or no password) the stand-in is checked, so that the time does not tell whether an account exists;
     * what comes of that is of no account.
     *
     * @param standIn a hash of somebody else, of a cost that accounts here have
     * @throws {TooManyHashes} when the waiting line is full
     */
    verify: (passwordHash: string | undefined, password: string, standIn = nobodysHash) =>
      inTurn(async () => {
        for (const hash of [passwordHash, standIn, nobodysHash]) {
          const outcome = hash && (await inHashThread({ passwordHash: hash, password }))
          if (outcome === true || outcome === false) return outcome && hash === passwordHash
        }
        return false
      }),
  }
}

/** Runs at most `running` tasks at once and lets at most `waitingMax` wait, in their order. */
function takeTurns(running: number, waitingMax: number) {
  const waiting: (() => void)[] = []
  let free = running
  const run = async <T>(task: () => Promise<T>): Promise<T> => {
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
  return Object.assign(run, { waiting: () => waiting.length })
}
