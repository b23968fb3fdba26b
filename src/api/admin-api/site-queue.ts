import { setImmediate } from 'node:timers/promises'

import { tooManyRequests } from '../../platform/http/errors.ts'

/** The maximum number of unfinished tasks in a queue. Four times the default limit on aliases in a document. */
const WAITING_MAX = 120

/** The unfinished tasks, by site and kind. Each promise is fulfilled as soon as its task has settled. */
const queues = new Map<string, Promise<unknown>[]>()

/** The results of named tasks that have not begun. */
const waiting = new Map<string, Promise<unknown>>()

/**
 * Runs a task after all earlier tasks in its queue. One document can start many tasks that read a million rows each.
 * Yields to the event loop between two tasks, so other requests make progress.
 *
 * @param queueName the site and the kind of task
 * @param name identifies equal tasks. Calls with the same name share the result of a task that has not begun.
 * @throws tooManyRequests if the queue is full
 */
export async function runInTurn<Result>(
  queueName: string,
  work: () => Promise<Result>,
  name?: string,
): Promise<Result> {
  const key = `${queueName} ${name}`
  if (waiting.has(key)) return (await waiting.get(key)) as Result
  const queue = queues.get(queueName) ?? []
  if (queue.length >= WAITING_MAX) throw tooManyRequests()
  const last = queue.at(-1)
  const begin = async () => {
    waiting.delete(key)
    return await work()
  }
  const mine = last ? last.then(() => setImmediate()).then(begin) : begin()
  if (last && name !== undefined) waiting.set(key, mine)
  queue.push(mine.catch(() => {}))
  queues.set(queueName, queue)
  try {
    return await mine
  } finally {
    queue.shift()
    if (queue.length === 0) queues.delete(queueName)
  }
}
