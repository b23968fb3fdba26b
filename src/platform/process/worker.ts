import cluster from 'node:cluster'

import type { DemoPerson } from './welcome.ts'

/** A worker's only message to the primary: it serves, or why it could not start. */
export type WorkerNews =
  | { readonly kind: 'ready'; readonly demoPeople: readonly DemoPerson[] }
  | { readonly kind: 'failed'; readonly reason: string }

/** A message of the primary: run the tasks of the host, or hand over and exit. */
export type WorkerOrder = 'sweep' | 'hand over'

/** The part of one process of several behind one port. */
export interface WorkerShare {
  /** How many share the host's password checks and database connections. */
  readonly processes: number
  /** Whether this process runs the tasks that only one process of the host runs. */
  readonly sweeps: () => boolean
}

export type WorkerSide = ReturnType<typeof workerSide>

/**
 * Connects a worker to its primary.
 *
 * @throws if this process is not a worker
 */
export function workerSide() {
  const { worker } = cluster
  if (!worker) throw new Error('this process is not a worker')
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
    // Prevents Node's immediate exit on disconnect, which is right only before the worker serves.
    worker.exitedAfterDisconnect ||= serving
    sweeps = false
    orphaned.resolve()
  })
  // Ignored: a signal to the process group is for the primary.
  process.on('SIGHUP', () => {})
  // The channel is closed. From then on the limits of this process count alone.
  process.on('error', () => {})
  const send = (news: WorkerNews) => void worker.send(news)
  return {
    /** Whether this process runs the tasks that only one process of the host runs. */
    sweeps: () => sweeps,
    /** Resolves when another process replaces this one. */
    replaced: replaced.promise,
    /** Resolves when the primary has exited, and the port is closed. */
    orphaned: orphaned.promise,
    ready(demoPeople: readonly DemoPerson[]): void {
      serving = true
      send({ kind: 'ready', demoPeople })
    },
    /** Reports why the worker could not start; the primary decides what to do. */
    failed: (reason: string) => send({ kind: 'failed', reason }),
    /** Disconnects from the primary, so that the process exits when its work is done. */
    leave(): void {
      if (worker.isConnected()) worker.disconnect()
    },
  }
}
