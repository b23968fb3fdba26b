import cluster, { type Worker } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'

import { render, type Snapshot, sumOf } from './registry.ts'

/** What the primary asks a worker. */
const QUESTION = 'metrics?'
/** How long a scrape waits for a worker that is busy; what it said last stands in for it. */
const ANSWER_WITHIN_MS = 1_000

interface Answer {
  readonly kind: 'metrics'
  readonly snapshot: Snapshot
}

/**
 * The metrics of a host, in its primary: those of the workers that serve, and what was counted by those
 * that are gone, so that no count ever falls because a worker was replaced.
 */
export function hostMetrics(): { readonly scrape: () => Promise<string> } {
  const latest = new Map<number, Snapshot>()
  const awaited = new Map<number, PromiseWithResolvers<void>>()
  let gone: Snapshot = []
  cluster.on('message', (worker, message: unknown) => {
    if (!isAnswer(message)) return
    latest.set(worker.id, message.snapshot)
    awaited.get(worker.id)?.resolve()
  })
  // One after another, so that none forgets what the other added.
  let folding = Promise.resolve()
  cluster.on('exit', ({ id }) => {
    const last = latest.get(id)
    if (!last) return
    folding = folding.then(async () => {
      const summed = await sumOf([gone, last])
      gone = summed.filter(({ type }) => String(type) !== 'gauge')
      latest.delete(id)
      awaited.get(id)?.resolve()
    })
  })
  const ask = async (worker: Worker) => {
    const answered = Promise.withResolvers<void>()
    awaited.set(worker.id, answered)
    // One that has just died says so by its exit.
    worker.send(QUESTION, () => {})
    await answered.promise
  }
  return {
    async scrape() {
      // A worker that has told nothing yet does not serve.
      const telling = Object.values(cluster.workers ?? {}).filter(
        (worker) => worker !== undefined && latest.has(worker.id) && worker.isConnected(),
      )
      const late = new AbortController()
      const patience = delay(ANSWER_WITHIN_MS, undefined, { signal: late.signal }).catch(() => {})
      await Promise.race([Promise.all(telling.map((worker) => worker && ask(worker))), patience])
      late.abort()
      await folding
      return await render([gone, ...latest.values()])
    },
  }
}

/**
 * Tells the primary what this worker has measured, whenever it asks.
 *
 * @returns tells it once more, before this worker ends
 */
export function tellPrimary(snapshot: () => Promise<Snapshot>): () => Promise<void> {
  const tell = async () => {
    const answer: Answer = { kind: 'metrics', snapshot: await snapshot() }
    await new Promise<void>((sent) => {
      if (process.send === undefined || !process.connected) return sent()
      process.send(answer, undefined, {}, () => sent())
    })
  }
  process.on('message', (message: unknown) => {
    if (message === QUESTION) void tell()
  })
  void tell()
  return tell
}

function isAnswer(message: unknown): message is Answer {
  return (
    typeof message === 'object' && message !== null && Reflect.get(message, 'kind') === 'metrics'
  )
}
