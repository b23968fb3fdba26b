import cluster from 'node:cluster'

import type { DemoPerson } from './welcome.ts'

/** What a worker tells the primary, once: that it serves, or why it could not start. */
export type WorkerNews =
  | { readonly kind: 'ready'; readonly demoPeople: readonly DemoPerson[] }
  | { readonly kind: 'failed'; readonly reason: string }

/** What the primary tells a worker: to do what one process of a host does for all, or to hand over and end. */
export type WorkerOrder = 'sweep' | 'hand over'

export type WorkerSide = ReturnType<typeof workerSide>

/**
 * A process of several behind one port, as it sees the primary.
 *
 * @throws when this process was not started by a primary
 */
export function workerSide() {
  const { worker } = cluster
  if (!worker) throw new Error('this process is no worker')
  const replaced = Promise.withResolvers<void>()
  const orphaned = Promise.withResolvers<void>()
  let [serving, sweeps] = [false, false]
  worker.on('message', (order: WorkerOrder | object) => {
    if (order === 'sweep') sweeps = true
    if (order !== 'hand over') return
    sweeps = false
    replaced.resolve()
  })
  worker.on('disconnect', () => {
    // Node otherwise ends this process at once, which is right only before it serves.
    worker.exitedAfterDisconnect ||= serving
    sweeps = false
    orphaned.resolve()
  })
  // Meant for the primary, if a group of processes is signalled.
  process.on('SIGHUP', () => {})
  // Reports what cannot be sent any more; the limits of this process then count alone.
  process.on('error', () => {})
  const send = (news: WorkerNews) => void worker.send(news)
  return {
    /** Whether this process does what one process does for all. */
    sweeps: () => sweeps,
    /** Resolves when another process replaces this one. */
    replaced: replaced.promise,
    /** Resolves when the primary is gone, and with it the port. */
    orphaned: orphaned.promise,
    ready(demoPeople: readonly DemoPerson[]): void {
      serving = true
      send({ kind: 'ready', demoPeople })
    },
    /** Says why it could not start; the primary decides what to do. */
    failed: (reason: string) => send({ kind: 'failed', reason }),
    /** Disconnects from the primary, so that the process ends when its work has. */
    leave(): void {
      if (worker.isConnected()) worker.disconnect()
    },
  }
}
