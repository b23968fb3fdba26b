import { Worker } from 'node:worker_threads'

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
export async function inHashThread(task: HashTask): Promise<string | boolean> {
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
