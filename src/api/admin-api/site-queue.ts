import { setImmediate } from 'node:timers/promises'

import { tooManyRequests } from '../../platform/http/errors.ts'

/** Maximum number of unfinished tasks in a queue. By default, a document may have 30 aliases. */
const WAITING_MAX = 120

interface Queue {
  /** Fulfilled as soon as the last task in the queue has settled. */
  last: Promise<unknown>
  waiting: number
}

/** The queues with unfinished tasks, by site and kind. */
const queues = new Map<string, Queue>()

/**
 * Runs a task after all earlier tasks in its queue, because one document can start many tasks that read a million rows
 * each. Yields to the event loop between two tasks, so other requests make progress.
 *
 * @param queueName the site and the kind of task
 * @throws tooManyRequests if the queue is full
 */
export async function runInTurn<Result>(
  queueName: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const queue = queues.get(queueName) ?? { last: Promise.resolve(), waiting: 0 }
  if (queue.waiting >= WAITING_MAX) throw tooManyRequests()
  const isFirst = queue.waiting === 0
  const mine = isFirst ? work() : after(queue.last, work)
  queue.waiting += 1
  queue.last = mine.catch(() => {})
  queues.set(queueName, queue)
  try {
    return await mine
  } finally {
    queue.waiting -= 1
    if (queue.waiting === 0) queues.delete(queueName)
  }
}

async function after<Result>(
  before: Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  await before
  await setImmediate()
  return await work()
}
