import cluster from 'node:cluster'

import type { DemoPerson } from './welcome.ts'

/** A report from a worker to the primary: that it accepts requests, or why it could not start. */
export type WorkerNews =
  | { readonly kind: 'ready'; readonly demoPeople: readonly DemoPerson[] }
  | { readonly kind: 'failed'; readonly reason: string }

/** A message from the primary: run the tasks of the host, or hand over and exit. */
export type WorkerOrder = 'sweep' | 'hand over'

export interface WorkerShare {
  /** The number of processes that share the host's limits on parallel password checks and database connections. */
  readonly processes: number
  /** Whether this process runs the tasks that only one process per host runs. */
  readonly sweeps: () => boolean
}

export type WorkerSide = ReturnType<typeof workerSide>

/** Connects a worker to its primary. @throws if this process is not a worker */
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
    // Once the worker accepts requests, prevent Node from exiting immediately on disconnect.
    worker.exitedAfterDisconnect ||= serving
    sweeps = false
    orphaned.resolve()
  })
  // Ignore the signal, because it is meant for the primary when it is sent to the process group.
  process.on('SIGHUP', () => {})
  // Ignore failed sends after the channel has closed. Limits then count only the requests of this process.
  process.on('error', () => {})
  const send = (news: WorkerNews) => void worker.send(news)
  return {
    sweeps: () => sweeps,
    /** Resolves when another process has replaced this process. */
    replaced: replaced.promise,
    /** Resolves when this process is disconnected from the primary, normally because the primary has exited. */
    orphaned: orphaned.promise,
    ready(demoPeople: readonly DemoPerson[]): void {
      serving = true
      send({ kind: 'ready', demoPeople })
    },
    failed: (reason: string) => send({ kind: 'failed', reason }),
    /** Disconnects from the primary, so this process can exit when its work is done. */
    leave(): void {
      if (worker.isConnected()) worker.disconnect()
    },
  }
}
