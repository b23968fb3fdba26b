import cluster from 'node:cluster'

import type { DemoPerson } from './welcome.ts'
import type { WorkerNews, WorkerOrder } from './worker-messages.ts'

/** A process of several behind one port, as it sees the primary. */
export interface WorkerSide {
  /** Whether this process was asked to do what one of them does for all. */
  readonly sweeps: () => boolean
  /** Resolves when another process has come to take this one's place. */
  readonly replaced: Promise<unknown>
  /** Resolves when there is no primary any more, and with it no port to listen on. */
  readonly orphaned: Promise<unknown>
  ready(demoPeople: readonly DemoPerson[]): void
  /** Says why it could not start; the primary decides what becomes of that. */
  failed(reason: string): void
  /** Lets go of the primary, so that the process ends when its work has. */
  leave(): void
}

/** @throws when this process was not started by a primary */
export function workerSide(): WorkerSide {
  const { worker } = cluster
  if (!worker) throw new Error('this process is no worker')
  const replaced = Promise.withResolvers<void>()
  const orphaned = Promise.withResolvers<void>()
  let [serving, sweeps] = [false, false]
  const orders = {
    sweep: () => {
      sweeps = true
    },
    'hand over': () => {
      sweeps = false
      replaced.resolve()
    },
  } satisfies Record<WorkerOrder, () => void>
  worker.on('message', (message: unknown) => {
    if (message === 'sweep' || message === 'hand over') orders[message]()
  })
  worker.on('disconnect', () => {
    // Node ends this process at once otherwise, which is right only while it serves nobody yet.
    worker.exitedAfterDisconnect ||= serving
    sweeps = false
    orphaned.resolve()
  })
  // Meant for the primary, where a group of processes is signalled.
  process.on('SIGHUP', () => {})
  // What cannot be sent any more is reported here; limits count for themselves then.
  process.on('error', () => {})
  const send = (news: WorkerNews) => void worker.send(news)
  return {
    sweeps: () => sweeps,
    replaced: replaced.promise,
    orphaned: orphaned.promise,
    ready: (demoPeople) => {
      serving = true
      send({ kind: 'ready', demoPeople: [...demoPeople] })
    },
    failed: (reason) => send({ kind: 'failed', reason }),
    leave: () => {
      if (worker.isConnected()) worker.disconnect()
    },
  }
}
