import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'

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

/** A hash of a random password, of the same cost as all others. */
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

/** A password to hash, or to compare with a hash. */
export interface HashTask {
  readonly password: string
  readonly passwordHash?: string
}

/** The hash, or whether the password is the one of the hash, or `unreadable` when that is no hash. */
export type HashTaskResult = { readonly value: string | boolean } | { readonly failure: string }

interface Thread {
  run(task: HashTask): Promise<string | boolean>
}

const idle: Thread[] = []

/**
 * Does the work in a thread of its own, which has less weight than the one that answers requests. There
 * are as many threads as there was ever work at once, which is for the caller to bound; the first one
 * starts with the first work.
 */
async function inHashThread(task: HashTask): Promise<string | boolean> {
  const thread = idle.pop() ?? startThread()
  return await thread.run(task)
}

function startThread(): Thread {
  const worker = new Worker(new URL('./hash-thread.ts', import.meta.url))
  let running: PromiseWithResolvers<string | boolean> | undefined
  const thread: Thread = {
    run(task) {
      running = Promise.withResolvers()
      // A thread at work keeps the process alive, and one that waits for work does not.
      worker.ref()
      worker.postMessage(task)
      return running.promise
    },
  }
  worker.on('message', (result: HashTaskResult) => {
    worker.unref()
    idle.push(thread)
    if ('failure' in result) running?.reject(new Error(result.failure))
    else running?.resolve(result.value)
  })
  const end = (error: Error) => {
    running?.reject(error)
    const place = idle.indexOf(thread)
    if (place >= 0) idle.splice(place, 1)
  }
  worker.on('error', end)
  worker.on('exit', () => end(new Error('a thread that hashes passwords has ended')))
  return thread
}

/** An Argon2id hash in the one form that is read here: version 1.3, the cost, the salt and the hash. */
const form =
  /^\$argon2id\$v=19\$m=([1-9]\d{0,9}),t=([1-9]\d{0,9}),p=([1-9]\d{0,3})\$([\w+/]{11,86})\$([\w+/]{22,86})$/

/** As much memory as a check may take, in KiB; it takes it once for each that runs at the same time. */
const MEMORY_KIB_MAX = 262_144
/** Memory times passes, which is what a check costs; other programs' defaults take a quarter of it. */
const WORK_KIB_MAX = 1_048_576
const LANES_MAX = 16

/**
 * What is wrong with a password hash that was made elsewhere, as the end of a sentence; nothing when
 * passwords can be checked against it at a price that a sign-in may have.
 */
export function problemOfPasswordHash(text: string): string | undefined {
  const [, memory = '', passes = '', lanes = '', ...encoded] = form.exec(text) ?? []
  if (memory === '' || !encoded.every(isBase64)) {
    return 'must be an Argon2id hash, as $argon2id$v=19$m=19456,t=2,p=1$salt$hash'
  }
  const [memoryKib, laneCount] = [Number(memory), Number(lanes)]
  const isCheap =
    memoryKib >= 8 * laneCount &&
    memoryKib <= MEMORY_KIB_MAX &&
    memoryKib * Number(passes) <= WORK_KIB_MAX &&
    laneCount <= LANES_MAX
  if (isCheap) return undefined
  return `must be an Argon2id hash of p=${LANES_MAX}, m=${MEMORY_KIB_MAX} and m times t=${WORK_KIB_MAX} at most, or each sign-in would cost too much`
}

/** Whether the bits after the last byte are none, without which the hash cannot be read. */
function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text
}
