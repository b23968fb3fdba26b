import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'

export type Passwords = ReturnType<typeof makePasswords>

/** The queue of password checks is full; nothing was checked. */
export class TooManyHashes extends Error {
  override readonly name = 'TooManyHashes'
}

export interface PasswordLimits {
  /** By default one less than the machine has cores. */
  readonly parallelHashesMax?: number | undefined
  readonly waitingHashesMax: number
}

/** The hash of a random password, of the cost of new hashes. */
const defaultStandIn =
  '$argon2id$v=19$m=19456,t=2,p=1$qlKTKsnQDtvH7uitXqo4sQ$SD9veOAiEvLFuTeRqYOzgC/eFx0v+GJ2JRuwhhcbdsU'

/**
 * Hashes passwords with Argon2id, 19 MiB, two passes (OWASP's first choice), in threads of low priority. By
 * default one core stays free for requests. A bounded number of hashes waits; more are refused.
 *
 * @param processes how many processes of this host share the parallel hashes; each runs at least one
 */
export function makePasswords(
  { parallelHashesMax = Math.max(1, availableParallelism() - 1), waitingHashesMax }: PasswordLimits,
  processes = 1,
) {
  const share = Math.max(1, Math.floor(parallelHashesMax / processes))
  const inTurn = makeQueue(share, waitingHashesMax)
  return {
    /** How many hashes wait in the queue. */
    waiting: inTurn.waiting,
    hash: async (password: string) => String(await inTurn(() => inHashThread({ password }))),
    /**
     * Verifies a password against a hash. Without a readable hash (unknown address, or no password) it hashes
     * the stand-in and returns false, so that the time does not tell whether an account exists.
     *
     * @param standIn the hash of another account, of a usual cost here
     * @throws {TooManyHashes} when the queue is full
     */
    verify: (passwordHash: string | undefined, password: string, standIn = defaultStandIn) =>
      inTurn(async () => {
        for (const hash of [passwordHash, standIn, defaultStandIn]) {
          const outcome = hash && (await inHashThread({ passwordHash: hash, password }))
          if (outcome === true || outcome === false) return outcome && hash === passwordHash
        }
        return false
      }),
  }
}

/** Runs at most `running` tasks at once and queues at most `waitingMax` others. */
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

/** A password to hash, or to compare with a hash. */
export interface HashTask {
  readonly password: string
  readonly passwordHash?: string
}

/** The new hash, or whether the password matches, or `unreadable` for an invalid hash. */
export type HashTaskResult = { readonly value: string | boolean } | { readonly failure: string }

type RunInThread = (task: HashTask) => Promise<string | boolean>

const idle: RunInThread[] = []

/**
 * Runs a task in a thread of lower priority than the one that answers requests. Threads start on demand and
 * stay; the caller bounds how many run at once.
 */
async function inHashThread(task: HashTask): Promise<string | boolean> {
  const run = idle.pop() ?? startThread()
  return await run(task)
}

function startThread(): RunInThread {
  const worker = new Worker(new URL('./hash-thread.ts', import.meta.url))
  let running: PromiseWithResolvers<string | boolean> | undefined
  const run: RunInThread = (task) => {
    running = Promise.withResolvers()
    // Only a busy thread keeps the process alive.
    worker.ref()
    worker.postMessage(task)
    return running.promise
  }
  worker.on('message', (result: HashTaskResult) => {
    worker.unref()
    idle.push(run)
    if ('failure' in result) running?.reject(new Error(result.failure))
    else running?.resolve(result.value)
  })
  const end = (error: Error) => {
    running?.reject(error)
    const place = idle.indexOf(run)
    if (place >= 0) idle.splice(place, 1)
  }
  worker.on('error', end)
  worker.on('exit', () => end(new Error('a hash thread ended')))
  return run
}

/** The accepted form of an Argon2id hash: version 1.3, the cost, the salt and the hash. */
const form =
  /^\$argon2id\$v=19\$m=([1-9]\d{0,9}),t=([1-9]\d{0,9}),p=([1-9]\d{0,3})\$([\w+/]{11,86})\$([\w+/]{22,86})$/

/** The memory limit of one check, in KiB; each parallel check allocates its own. */
const MEMORY_KIB_MAX = 262_144
/** The limit of memory times passes, the cost of a check; common defaults use a quarter of it. */
const WORK_KIB_MAX = 1_048_576
const LANES_MAX = 16

/**
 * Describes why an imported password hash cannot be accepted, as the rest of a sentence. Returns nothing for a
 * valid hash whose check is cheap enough for a sign-in.
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
  return `must be an Argon2id hash with p=${LANES_MAX}, m=${MEMORY_KIB_MAX} and m times t=${WORK_KIB_MAX} at most; a larger one makes each sign-in too expensive`
}

/** Whether this is canonical base64 without padding; Argon2 rejects other forms. */
function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64').replace(/=+$/, '') === text
}
