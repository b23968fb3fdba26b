import { setImmediate } from 'node:timers/promises'

import { tooManyRequests } from '../../platform/http/errors.ts'

/** As much work of a site may wait: a document has thirty aliases. */
const WAITING_MAX = 120

interface Queue {
  /** What comes last, whatever becomes of it. */
  last: Promise<unknown>
  waiting: number
}

/** Of each site and kind of which something is under way. */
const queues = new Map<string, Queue>()

/**
 * Does what reads all of a list, or of a site, after everything of the kind that the site has under way,
 * with a turn of the event loop between: there may be a million rows, and thirty such questions in a
 * document, and whoever asks something else comes between two.
 *
 * @param whose the site, and the kind of work
 * @throws tooManyRequests when too much waits already
 */
export async function inTurnOf<Result>(
  whose: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const queue = queues.get(whose) ?? { last: Promise.resolve(), waiting: 0 }
  if (queue.waiting >= WAITING_MAX) throw tooManyRequests()
  const isFirst = queue.waiting === 0
  const mine = isFirst ? work() : after(queue.last, work)
  queue.waiting += 1
  queue.last = mine.catch(() => {})
  queues.set(whose, queue)
  try {
    return await mine
  } finally {
    queue.waiting -= 1
    if (queue.waiting === 0) queues.delete(whose)
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
