import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'

export type Passwords = ReturnType<typeof makePasswords>

/** Thrown if the queue is full. The password was neither hashed nor checked. */
export class TooManyHashes extends Error {
  override readonly name = 'TooManyHashes'
}

export interface PasswordLimits {
  /** The maximum number of parallel hashes; defaults to the number of CPU cores minus one, but at least 1. */
  readonly parallelHashesMax?: number | undefined
  readonly waitingHashesMax: number
}

/** The hash of a random password, as expensive to check as a new hash. */
const defaultStandIn =
  '$argon2id$v=19$m=19456,t=2,p=1$qlKTKsnQDtvH7uitXqo4sQ$SD9veOAiEvLFuTeRqYOzgC/eFx0v+GJ2JRuwhhcbdsU'

/**
 * Creates the functions that hash and verify passwords in low-priority threads. New hashes use Argon2id with 19 MiB and
 * two passes, the minimum that OWASP recommends. By default, one core stays free for requests if the host has more
 * cores than processes. Both functions throw TooManyHashes if the queue is full.
 *
 * @param processes the number of processes on this host that share `parallelHashesMax`; the share of each is at least 1
 * @param firebaseSignerKey the signer key of a Firebase project, in base64; without it, no Firebase hash matches
 */
export function makePasswords(
  { parallelHashesMax = Math.max(1, availableParallelism() - 1), waitingHashesMax }: PasswordLimits,
  processes = 1,
  firebaseSignerKey?: string,
) {
  const share = Math.max(1, Math.floor(parallelHashesMax / processes))
  const inTurn = makeQueue(share, waitingHashesMax)
  return {
    waiting: inTurn.waiting,
    hash: async (password: string) => String(await inTurn(() => inHashThread({ password }))),
    /**
     * Verifies a password against a hash. Without a valid hash (unknown address, or no password), checks the stand-in
     * and returns false, so the time does not reveal whether the account exists.
     *
     * @param standIn the hash of an account, so the check has a typical cost
     * @throws {TooManyHashes} if the queue is full
     */
    verify: (passwordHash: string | undefined, password: string, standIn = defaultStandIn) =>
      inTurn(async () => {
        for (const hash of [passwordHash, standIn, defaultStandIn]) {
          const task = { passwordHash: hash, password, firebaseSignerKey }
          const outcome = hash && (await inHashThread(task))
          if (outcome === true || outcome === false) return outcome && hash === passwordHash
        }
        return false
      }),
  }
}

/** Creates a queue that runs up to `running` tasks at once. It throws TooManyHashes if `waitingMax` tasks wait. */
function makeQueue(running: number, waitingMax: number) {
  const waiting: (() => void)[] = []
  let free = running
  const run = async <T>(task: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1
    else if (waiting.length < waitingMax) await new Promise<void>((go) => waiting.push(go))
    else throw new TooManyHashes('the queue of password checks is full')
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

/** A password to hash, or to check against a hash. */
export interface HashTask {
  readonly password: string
  readonly passwordHash?: string | undefined
  readonly firebaseSignerKey?: string | undefined
}

/** The new hash, or whether the password matches; `unreadable` for a hash that cannot be checked. */
type HashTaskResult = string | boolean

type RunInThread = (task: HashTask) => Promise<HashTaskResult>

const idle: RunInThread[] = []

/** Runs a task in a thread, which starts on demand and is reused. The caller limits the number of tasks. */
const inHashThread: RunInThread = async (task) => await (idle.pop() ?? startThread())(task)

function startThread(): RunInThread {
  const worker = new Worker(new URL('./hash-thread.ts', import.meta.url))
  let running: PromiseWithResolvers<HashTaskResult> | undefined
  const run: RunInThread = (task) => {
    running = Promise.withResolvers()
    // Only a busy thread keeps the process alive.
    worker.ref()
    worker.postMessage(task)
    return running.promise
  }
  worker.on('message', (result: HashTaskResult | Error) => {
    worker.unref()
    idle.push(run)
    if (result instanceof Error) running?.reject(result)
    else running?.resolve(result)
  })
  const end = (error: Error) => {
    running?.reject(error)
    const place = idle.indexOf(run)
    if (place >= 0) idle.splice(place, 1)
  }
  worker.on('error', end)
  worker.on('exit', () => end(new Error('a password hash thread exited')))
  return run
}
