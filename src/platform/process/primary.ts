import cluster, { type Worker } from 'node:cluster'

import type { Logger } from 'pino'
import { RateLimiterClusterMaster } from 'rate-limiter-flexible'

import type { DemoPerson } from './welcome.ts'
import type { WorkerNews, WorkerOrder } from './worker.ts'

/** How long a worker may take after SIGTERM to finish its requests and close its stores. */
const STOP_MS = 13_000
/** How long a replaced worker may take to exit. Longer than STOP_MS, because it first keeps idle connections open. */
const HAND_OVER_MS = 20_000
/** If a worker accepted requests for at least this long, its replacement starts without delay. */
const STEADY_MS = 5_000
const RESTART_FIRST_MS = 250
const RESTART_LAST_MS = 30_000

export interface PrimaryOptions {
  /** The number of workers; a reload temporarily adds one. */
  readonly count: number
  /** Whether the primary keeps the counts of request limits for its workers. */
  readonly counting: boolean
  readonly logger: Logger
  /** Called once, when the first worker accepts requests. */
  readonly onServing: (demoPeople: readonly DemoPerson[]) => void
}

interface Member {
  readonly worker: Worker
  readonly pid: number
  state: 'starting' | 'serving' | 'leaving'
  /** When the worker began to accept requests, by `performance.now()`; infinite before that. */
  servingSinceMs: number
  /** Why the worker could not start. */
  reason?: string
  /** Resolves to true once the worker accepts requests, or to false if it exits first. */
  readonly settled: PromiseWithResolvers<boolean>
  readonly gone: PromiseWithResolvers<void>
}

/**
 * Keeps a number of workers running behind one port. The primary opens no store and handles no requests, except for
 * metrics. It accepts connections and passes them to the workers, so the socket stays open while workers are replaced.
 */
class Workers {
  readonly #options: PrimaryOptions
  readonly #members = new Set<Member>()
  readonly #restarts = new Set<NodeJS.Timeout>()
  readonly #reasons = new Set<string>()
  readonly #ended = Promise.withResolvers<readonly string[] | undefined>()
  /** Resolves when all workers have exited, with the reasons if no worker could start. */
  readonly ended = this.#ended.promise
  #servedOnce = false
  #stopping = false
  #earlyDeaths = 0
  #sweeper: Member | undefined
  #reloading: Promise<void> | undefined
  #reloadAgain = false

  constructor(options: PrimaryOptions) {
    this.#options = options
    cluster.schedulingPolicy = cluster.SCHED_RR
    if (options.counting) new RateLimiterClusterMaster()
    for (let turn = 0; turn < options.count; turn += 1) this.#start()
  }

  /**
   * Replaces the workers one by one. Each old worker shuts down once its replacement accepts requests. If a
   * replacement cannot start, the reload is aborted. A call during a reload starts another reload afterwards.
   */
  reload(): void {
    this.#reloadAgain = this.#reloading !== undefined
    this.#reloading ??= this.#replaceAll().finally(() => {
      this.#reloading = undefined
      if (this.#reloadAgain) this.reload()
    })
  }

  /** Signals all workers to stop, and kills workers that exceed the time limit. */
  stop(): void {
    if (this.#stopping) return
    this.#beginStop()
    if (this.#members.size === 0) this.#ended.resolve(undefined)
    for (const { worker } of this.#members) worker.process.kill('SIGTERM')
    const killAll = () => {
      for (const member of this.#members) this.#kill(member)
    }
    setTimeout(killAll, STOP_MS).unref()
  }

  #beginStop(): void {
    this.#stopping = true
    for (const timer of this.#restarts) clearTimeout(timer)
    this.#restarts.clear()
  }

  #kill({ pid, worker }: Member): void {
    this.#options.logger.error({ worker: pid }, 'a worker did not stop in time and was killed')
    worker.process.kill('SIGKILL')
  }

  #start(): Member {
    // Workers compute their share from this number, so pass the actual number even for `auto`.
    const worker = cluster.fork({ WORKERS: String(this.#options.count) })
    const member: Member = {
      worker,
      pid: worker.process.pid ?? 0,
      state: 'starting',
      servingSinceMs: Number.POSITIVE_INFINITY,
      settled: Promise.withResolvers(),
      gone: Promise.withResolvers(),
    }
    this.#members.add(member)
    // Request limits and metrics use the same channel, so ignore their messages.
    worker.on('message', (news: WorkerNews | { readonly kind?: undefined }) => {
      if (news.kind === 'failed') member.reason = news.reason
      if (news.kind === 'ready') this.#noteServing(member, news.demoPeople)
    })
    // Ignore failed sends to a worker that has just died, because its `exit` event follows.
    worker.on('error', () => {})
    worker.once('exit', (code, signal) => this.#remove(member, signal ?? code))
    return member
  }

  #noteServing(member: Member, demoPeople: readonly DemoPerson[]): void {
    member.state = 'serving'
    member.servingSinceMs = performance.now()
    member.settled.resolve(true)
    this.#options.logger.info({ worker: member.pid }, 'a worker accepts requests')
    if (!this.#servedOnce) this.#options.onServing(demoPeople)
    this.#servedOnce = true
    this.#appointSweeper()
  }

  #remove(member: Member, endedWith: string | number | null): void {
    const { pid, state, servingSinceMs } = member
    this.#members.delete(member)
    member.settled.resolve(false)
    member.gone.resolve()
    if (this.#stopping) {
      if (this.#members.size === 0) this.#ended.resolve(undefined)
      return
    }
    this.#appointSweeper()
    if (state === 'leaving') {
      // Another worker may have died in the meantime without being replaced, so start a missing worker.
      this.#fillUp()
      return
    }
    const cause = member.reason ?? `A worker exited (code or signal: ${endedWith}).`
    this.#reasons.add(cause)
    if (!this.#servedOnce && this.#members.size === 0) {
      this.#beginStop()
      this.#ended.resolve([...this.#reasons])
      return
    }
    const what = state === 'starting' ? 'a worker could not start' : 'a worker died'
    this.#options.logger.error({ worker: pid, cause }, what)
    const wasSteady = performance.now() - servingSinceMs >= STEADY_MS
    this.#earlyDeaths = wasSteady ? 0 : this.#earlyDeaths + 1
    this.#fillUp()
  }

  /** Starts a worker if one is missing: at once, or with growing delays if workers die early. */
  #fillUp(): void {
    const staying = [...this.#members].filter(({ state }) => state !== 'leaving')
    if (staying.length + this.#restarts.size >= this.#options.count) return
    const waitMs = this.#earlyDeaths && RESTART_FIRST_MS * 2 ** (this.#earlyDeaths - 1)
    const restart = () => {
      this.#restarts.delete(timer)
      this.#start()
    }
    const timer = setTimeout(restart, Math.min(waitMs, RESTART_LAST_MS))
    this.#restarts.add(timer)
  }

  #appointSweeper(): void {
    const present = this.#sweeper && this.#members.has(this.#sweeper) ? this.#sweeper : undefined
    if (present?.state === 'serving') return
    // Choose the worker that has run longest. A set keeps insertion order.
    this.#sweeper = [...this.#members].find(({ state }) => state === 'serving')
    if (!this.#sweeper) return
    this.#sweeper.worker.send('sweep' satisfies WorkerOrder)
    this.#options.logger.info(
      { worker: this.#sweeper.pid },
      'a worker now runs the tasks that only one process per host runs',
    )
  }

  async #replaceAll(): Promise<void> {
    const { logger } = this.#options
    for (const member of [...this.#members]) {
      if (this.#stopping) return
      if (!this.#members.has(member) || member.state !== 'serving') continue
      if (await this.#replace(member)) continue
      if (!this.#stopping)
        logger.error('the reload failed; the remaining workers keep running and were not replaced')
      return
    }
    logger.info('reloaded')
  }

  async #replace(member: Member): Promise<boolean> {
    const successor = this.#start()
    if (!(await successor.settled.promise)) return false
    // If the old worker died in the meantime, its replacement is already running.
    if (!this.#members.has(member)) return true
    member.state = 'leaving'
    member.worker.send('hand over' satisfies WorkerOrder)
    this.#appointSweeper()
    const limit = setTimeout(() => this.#kill(member), HAND_OVER_MS)
    await member.gone.promise
    clearTimeout(limit)
    return true
  }
}

/** Runs the workers until the operator stops them. If none can start, prints the reasons and sets exit code 1. */
export async function runWorkers(options: PrimaryOptions): Promise<void> {
  const workers = new Workers(options)
  process.on('SIGHUP', () => workers.reload())
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => workers.stop())
  const reasons = await workers.ended
  if (!reasons) return
  for (const reason of reasons) process.stderr.write(`${reason}\n`)
  process.exitCode = 1
}
